/* deconvolved: the transpose of convolved in its images. */

#include "autodiff/conv_rules.h"

/* attr: windows, with the extents of the images. */
static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct__conv_images(in[0], in[1], &attr->windows);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    const struct ct__windows *w = &p->attr->windows;
    return argument == 0 ? ct__convolved(p->g, p->x[1], w)
                         : ct__correlated(p->g, p->x[0], w, p->x[1]);
}

#define ONES                                                                                       \
    { 1, 1, 1 }
static const struct ct__sample samples[] = {
    {2,
     {4, 4},
     {{2, 3, 4, 3}, {3, 2, 3, 2}},
     0,
     {.windows = {ONES, ONES, {1, 1}, {1, 0}, 1, {4, 3}}}},
    {2, {3, 3}, {{1, 2, 3}, {2, 2, 2}}, 0, {.windows = {{2}, {3}, {0}, {1}, 2, {7}}}},
    {2, {3, 3}, {{2, 2, 3}, {2, 2, 1}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {3}}}},
    {2, {3, 3}, {{0, 2, 2}, {2, 2, 2}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {3}}}},
};
static const struct ct__error_sample errors[] = {
    {{2, {3, 3}, {{1, 2, 3}, {2, 1, 2}}, 0, {.windows = {ONES, ONES, {0}, {0}, 1, {5}}}},
     CT_ESHAPE,
     "images and kernels [1, 2, 3] and [2, 1, 2] do not fit"},
};
#undef ONES

const struct ct__op_record ct__op_deconvolved = {
    .verb = "conv_transpose",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"G convolved Z", "G correlated X"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
