/* What the files of linear algebra share. */
#ifndef CT_LINALG_IMPL_H
#define CT_LINALG_IMPL_H

#include "tensor/ct_linalg.h"
#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

/* Passes a result of another public function on; its error goes on in the name of `who`. */
static inline ct_tensor *ct__as(const char *who, ct_tensor *result) {
    if (!result)
        ct__fail(ct_error()->code, who, "%s", ct_error()->message);
    return result;
}

/* A step of a chain of results: the next one, made from the last, which is freed. */
static inline ct_tensor *ct__then(ct_tensor *last, ct_tensor *next) {
    ct_free(last);
    return next;
}

/* Takes the names of a descriptor of one's own away. */
static inline ct_tensor *ct__unnamed(ct_tensor *t) {
    if (t) {
        ct__names_drop(t->names);
        t->names = NULL;
    }
    return t;
}

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
