/* convolved: the sums of windows times kernels. */

#include "autodiff/conv_rules.h"

/* attr: windows. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__conv(in[0], in[1], &attr->windows);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    const struct ct__windows *w = &p->attr->windows;
    return argument == 0 ? ct__deconvolved(p->g, p->x[1], w, p->x[0])
                         : ct__correlated(p->x[0], p->g, w, p->x[1]);
}

#define ONES                                                                                       \
    { 1, 1, 1 }
static const struct ct__sample samples[] = {
    {2, {4, 4}, {{2, 2, 4, 3}, {3, 2, 3, 2}}, 0, {.windows = {ONES, ONES, {1, 1}, {1, 0}, 1, {0}}}},
    {2, {3, 3}, {{1, 4, 7}, {2, 2, 2}}, 0, {.windows = {{2}, {3}, {0}, {1}, 2, {0}}}},
    {2, {3, 3}, {{2, 2, 3}, {2, 2, 1}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {0}}}},
    {2, {3, 3}, {{0, 2, 3}, {2, 2, 2}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {0}}}},
};
static const struct ct__error_sample errors[] = {
    {{2, {3, 3}, {{1, 2, 3}, {2, 1, 2}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {0}}}},
     CT_ESHAPE,
     "images and kernels [1, 2, 3] and [2, 1, 2] do not fit"},
};
#undef ONES

const struct ct__op_record ct__op_convolved = {
    .verb = "conv",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"G deconvolved Z", "X correlated G"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
