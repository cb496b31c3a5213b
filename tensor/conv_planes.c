/* Padded images as planes, so that windows lie at steps of 1. */

#include "tensor/conv_impl.h"

#include <string.h>

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

/* A row of a plane, of which the items [first, end) lie `step` apart in the image. */
static void lay_row(size_t size, int64_t length, int64_t first, int64_t end, const char *from,
                    int64_t step, char *to) {
    size_t n = (size_t)(end - first);
    memset(to, 0, (size_t)first * size);
    memset(to + (size_t)end * size, 0, (size_t)(length - end) * size);
    to += (size_t)first * size;
    if (step == 1)
        memcpy(to, from, n * size);
    else if (size == sizeof(float))
        for (size_t i = 0; i < n; i++, from += step * (int64_t)size)
            memcpy(to + i * sizeof(float), from, sizeof(float));
    else
        for (size_t i = 0; i < n; i++, from += step * (int64_t)size)
            memcpy(to + i * sizeof(double), from, sizeof(double));
}

static void lay_plane(const struct ct__conv_planes *p, const int64_t plane[CT__CONV_SPACE],
                      size_t size, const char *channel, char *to) {
    const struct ct__conv_axis *a = p->axis;
    int64_t first[CT__CONV_SPACE], end[CT__CONV_SPACE], at[CT__CONV_SPACE];
    for (int s = 0; s < CT__CONV_SPACE; s++) {
        ct__plane_span(&a[s], plane[s], &first[s], &end[s]);
        at[s] = first[s] * a[s].stride + ct__plane_rest(&a[s], plane[s]) - a[s].before;
    }
    size_t row = (size_t)a[2].length * size;
    for (int64_t i = 0; i < a[0].length; i++)
        for (int64_t j = 0; j < a[1].length; j++, to += row) {
            if (i < first[0] || i >= end[0] || j < first[1] || j >= end[1] || first[2] >= end[2]) {
                memset(to, 0, row);
                continue;
            }
            int64_t y = at[0] + (i - first[0]) * a[0].stride;
            int64_t x = at[1] + (j - first[1]) * a[1].stride;
            int64_t item = (y * a[1].extent + x) * a[2].extent + at[2];
            lay_row(size, a[2].length, first[2], end[2], channel + (size_t)item * size, a[2].stride,
                    to);
        }
}

void ct__lay_planes(const struct ct__conv_planes *p, size_t size, const char *channel, char *to) {
    int64_t plane[CT__CONV_SPACE];
    for (plane[0] = 0; plane[0] < p->axis[0].planes; plane[0]++)
        for (plane[1] = 0; plane[1] < p->axis[1].planes; plane[1]++)
            for (plane[2] = 0; plane[2] < p->axis[2].planes; plane[2]++) {
                lay_plane(p, plane, size, channel, to);
                to += (size_t)p->plane * size;
            }
}
