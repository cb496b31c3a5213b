/* Padded images as planes, so that windows lie at steps of 1. */

#include "tensor/conv_impl.h"

static int64_t divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

bool ct__find_planes(const struct ct__conv *c, struct ct__conv_planes *p) {
    const struct ct__windows *w = c->windows;
    double items = 1, used = 1;
    p->planes = p->plane = 1;
    for (int s = 0, from = c->space - CT__CONV_SPACE; s < CT__CONV_SPACE; s++, from++) {
        struct ct__conv_axis *a = &p->axis[s];
        if (from < 0) {
            *a = (struct ct__conv_axis){1, 1, 0, 1, 1, 1, 1, 1};
            continue;
        }
        *a = (struct ct__conv_axis){w->stride[from],
                                    w->dilation[from],
                                    w->before[from],
                                    c->extent[from],
                                    c->kernel[from],
                                    c->places[from],
                                    1,
                                    1};
        int64_t period = a->stride / divisor(a->stride, a->dilation);
        a->planes = period < a->kernel ? period : a->kernel;
        a->length = a->places + ct__plane_shift(a, a->kernel - 1);
        items *= (double)a->planes * (double)a->length;
        used *= (double)(a->places < a->extent ? a->extent : a->places);
        if (items > 4 * used + 4096)
            return false;
        p->planes *= a->planes;
        p->plane *= a->length;
    }
    return true;
}

int64_t ct__tap_place(const struct ct__conv_planes *p, int64_t j) {
    int64_t item[CT__CONV_SPACE], plane = 0, place = 0;
    ct__kernel_item(p, j, item);
    for (int s = 0; s < CT__CONV_SPACE; s++) {
        const struct ct__conv_axis *a = &p->axis[s];
        plane = plane * a->planes + item[s] % a->planes;
        place = place * a->length + ct__plane_shift(a, item[s]);
    }
    return plane * p->plane + place;
}

void ct__plane_span(const struct ct__conv_axis *a, int64_t plane, int64_t *first, int64_t *end) {
    int64_t ahead = a->before - ct__plane_rest(a, plane), last = ahead + a->extent - 1;
    *first = ahead > 0 ? (ahead + a->stride - 1) / a->stride : 0;
    *end = last < 0 ? 0 : last / a->stride + 1;
    *end = *end < a->length ? *end : a->length;
    *first = *first < *end ? *first : *end;
}

/* The items of plane number `number` that lie in the image. */
static void find_runs(const struct ct__conv_planes *p, const int64_t plane[CT__CONV_SPACE],
                      int64_t number, ct__run_fn *run, void *context) {
    const struct ct__conv_axis *a = p->axis;
    int64_t first[CT__CONV_SPACE], end[CT__CONV_SPACE], at[CT__CONV_SPACE];
    for (int s = 0; s < CT__CONV_SPACE; s++) {
        ct__plane_span(&a[s], plane[s], &first[s], &end[s]);
        at[s] = first[s] * a[s].stride + ct__plane_rest(&a[s], plane[s]) - a[s].before;
        if (first[s] == end[s])
            return;
    }
    for (int64_t i = first[0]; i < end[0]; i++) {
        int64_t y = at[0] + (i - first[0]) * a[0].stride;
        int64_t place = (i * a[1].length + first[1]) * a[2].length + first[2];
        run(context, (size_t)(number * p->plane + place),
            (size_t)((y * a[1].extent + at[1]) * a[2].extent + at[2]), (size_t)(end[1] - first[1]),
            (size_t)(end[2] - first[2]));
    }
}

void ct__each_run(const struct ct__conv_planes *p, ct__run_fn *run, void *context) {
    int64_t plane[CT__CONV_SPACE], number = 0;
    for (plane[0] = 0; plane[0] < p->axis[0].planes; plane[0]++)
        for (plane[1] = 0; plane[1] < p->axis[1].planes; plane[1]++)
            for (plane[2] = 0; plane[2] < p->axis[2].planes; plane[2]++)
                find_runs(p, plane, number++, run, context);
}
