/* LU factorisations that the tensor layer lends to the tape: one serves a solve, its transposed one in
   the backward pass, an inverse and a determinant. */
#ifndef CT_FACTOR_INTERNAL_H
#define CT_FACTOR_INTERNAL_H

#include "tensor/ct_factor.h"

/* What ct_lu() makes of a. Leading axes of stride 0 in a are so here, too. */
struct ct__lu {
    ct_tensor *lu, *order;
};

/* CT_EDTYPE, CT_ESHAPE, CT_ENOMEM in the name of `who`; then nothing is set. */
ct_status ct__lu_of(const char *who, const ct_tensor *a, struct ct__lu *lu);
void ct__lu_free(struct ct__lu *lu);

/* Each makes what the public function of that name does. */
ct_tensor *ct__lu_solve(const char *who, const struct ct__lu *lu, const ct_tensor *b,
                        bool transposed);
ct_tensor *ct__lu_inverse(const char *who, const struct ct__lu *lu);
ct_tensor *ct__lu_det(const char *who, const struct ct__lu *lu);
/* The same of a, whose factors lu are: of duals, with the tangents of singular ones too. */
ct_tensor *ct__det_of(const char *who, const struct ct__lu *lu, const ct_tensor *a);
ct_tensor *ct__lu_sign(const char *who, const struct ct__lu *lu);
ct_tensor *ct__lu_log_abs(const char *who, const struct ct__lu *lu);

/* The first item whose value is 0, in row-major order; how many items there are where none is. */
size_t ct__first_zero(const ct_tensor *t);

#endif
