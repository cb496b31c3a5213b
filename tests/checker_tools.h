/* What the suites of the gradient check have in common. */
#ifndef CT_CHECKER_TOOLS_H
#define CT_CHECKER_TOOLS_H

#include "ct_test.h"
#include "tensor_tools.h"

#include "autodiff/ct_check.h"
#include "autodiff/ct_var_ops.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_random.h"

#include <check.h>

static inline ct_var tanh_of(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)context, (void)tape, (void)n;
    return ct_var_tanh(in[0]);
}

static inline ct_tensor *uniform(int rank, const int64_t *shape, double low, double high) {
    ct_random random = ct_random_of(5, 6);
    ct_tensor *t = ct_uniform(&random, CT_F64, rank, shape, low, high);
    ck_assert_ptr_nonnull(t);
    return t;
}

static inline void nothing_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static inline TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, NULL, nothing_is_left);
    suite_add_tcase(suite, tc);
    return tc;
}

#endif
