/**
 * @file ct_format.h
 * Tensors as text, with options.
 */
#ifndef CT_FORMAT_H
#define CT_FORMAT_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** NumPy's print options. */
struct ct_format_options {
    size_t size;       /**< sizeof of this struct as the caller knows it */
    int precision;     /**< 8; digits after the point of f32 and f64, 0 to 40 */
    int64_t threshold; /**< 1000; a tensor of more items is summarised */
    int edge_items;    /**< 3; then so many are shown at either end of each axis; > 0 */
    int line_width;    /**< 75; longer lines are broken, where that helps; > 0 */
};
CT_API struct ct_format_options ct_format_options_init(void);

/**
 * ct_format() with options; NULL options are those of ct_format_options_init(). -1 with CT_EINVAL
 * for an option out of its range.
 */
CT_API int ct_format_with(const ct_tensor *t, const struct ct_format_options *options, char *text,
                          size_t size);

CT_END_DECLS
#endif
