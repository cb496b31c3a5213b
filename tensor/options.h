/**
 * @file
 * @brief Reading a caller's options, whose struct may be older or newer than the library's (internal).
 */
#ifndef CT_OPTIONS_H
#define CT_OPTIONS_H

#include <stddef.h>

#include "tensor/ct_error.h"

/**
 * @brief Copies options over the defaults, as far as both sides know them.
 *
 * @param function  Name of the public function, for the error.
 * @param init      Name of the function that makes such options, for the error.
 * @param into      The defaults, of @p known bytes; the first member is a size_t.
 * @param options   As the caller has them, the first member their size; NULL keeps the defaults.
 * @retval CT_EINVAL  a size that cannot be: @p into is as it was.
 */
ct_status ct__take_options(const char *function, const char *init, void *into, size_t known,
                           const void *options);

#endif
