/* What the files of linear algebra share. */
#ifndef CT_LINALG_IMPL_H
#define CT_LINALG_IMPL_H

#include "tensor/ct_linalg.h"
#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

/* einsum_parse.c */

/* An index of a sum: a letter, A-Z before a-z, or an axis of "...", which come after. */
enum { CT__LETTERS = 52, CT__INDICES = CT__LETTERS + CT_MAX_RANK };

/* Which index each axis has. */
struct ct__term {
    int rank;
    signed char index[CT_MAX_RANK];
};

/* Subscripts, checked: terms of operands and of the result, and how far each index goes. */
struct ct__sum {
    struct ct__term result;
    int64_t extent[CT__INDICES];
};

/* Reads subscripts for n > 0 operands; `terms` has room for n. `who` may be NULL: no error then. */
ct_status ct__parse_sum(const char *who, const char *subscripts, int n,
                        const ct_tensor *const operands[], struct ct__term *terms,
                        struct ct__sum *sum);

#endif
