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

/* Rows of a plane that have items of the image, each of them `step` items from the next there. */
static void lay_rows(const struct ct__tap_kernels *taps, size_t size, size_t rows, size_t items,
                     char *to, size_t to_row, const char *from, size_t from_row, int64_t step) {
    if (step == 1) {
        taps->copy(rows, items, to, to_row, from, from_row);
        return;
    }
    for (size_t i = 0; i < rows; i++, to += to_row, from += from_row)
        for (size_t j = 0; j < items; j++) {
            const char *item = from + j * (size_t)step * size;
            if (size == sizeof(float))
                memcpy(to + j * sizeof(float), item, sizeof(float));
            else
                memcpy(to + j * sizeof(double), item, sizeof(double));
        }
}

static void lay_plane(const struct ct__conv_planes *p, const struct ct__tap_kernels *taps,
                      const int64_t plane[CT__CONV_SPACE], size_t size, const char *channel,
                      char *to) {
    const struct ct__conv_axis *a = p->axis;
    int64_t first[CT__CONV_SPACE], end[CT__CONV_SPACE], at[CT__CONV_SPACE];
    memset(to, 0, (size_t)p->plane * size);
    for (int s = 0; s < CT__CONV_SPACE; s++) {
        ct__plane_span(&a[s], plane[s], &first[s], &end[s]);
        at[s] = first[s] * a[s].stride + ct__plane_rest(&a[s], plane[s]) - a[s].before;
        if (first[s] == end[s])
            return;
    }
    size_t row = (size_t)a[2].length * size, from_row = (size_t)(a[1].stride * a[2].extent) * size;
    for (int64_t i = first[0]; i < end[0]; i++) {
        int64_t y = at[0] + (i - first[0]) * a[0].stride;
        int64_t item = (y * a[1].extent + at[1]) * a[2].extent + at[2];
        int64_t place = (i * a[1].length + first[1]) * a[2].length + first[2];
        lay_rows(taps, size, (size_t)(end[1] - first[1]), (size_t)(end[2] - first[2]),
                 to + (size_t)place * size, row, channel + (size_t)item * size, from_row,
                 a[2].stride);
    }
}

void ct__lay_planes(const struct ct__conv_planes *p, const struct ct__tap_kernels *taps,
                    size_t size, const char *channel, char *to) {
    int64_t plane[CT__CONV_SPACE];
    for (plane[0] = 0; plane[0] < p->axis[0].planes; plane[0]++)
        for (plane[1] = 0; plane[1] < p->axis[1].planes; plane[1]++)
            for (plane[2] = 0; plane[2] < p->axis[2].planes; plane[2]++) {
                lay_plane(p, taps, plane, size, channel, to);
                to += (size_t)p->plane * size;
            }
}
