/* The transpose of a convolution in its images, without columns: tiles as those of conv_direct.c meet the cotangent, whose
   lines lie among zeros at the distance of a plane's. Where a window would reach beyond, it meets zeros, whose products
   with finite kernels add nothing. */

#include "tensor/conv_direct.h"

#include "tensor/alloc.h"
#include "tensor/pack.h"

#include <math.h>
#include <string.h>

/* Bytes before the first place, which windows reach back over, and of a channel. */
static size_t margin_bytes(const struct ct__conv_call *call) {
    const struct ct__conv_axis *a = call->planes.axis;
    int64_t back = (a[1].length - a[1].places) * a[2].length + a[2].length - a[2].places;
    return (size_t)back * call->size;
}

static size_t channel_bytes(const struct ct__conv_call *call) {
    return margin_bytes(call) + (size_t)call->planes.plane * call->size;
}

static size_t panel_items(const struct ct__conv_call *call) {
    return CT__TAP_VECS * call->taps->lanes;
}

static size_t laid_bytes(const struct ct__conv_call *call) {
    size_t channels = (size_t)(call->c->out / call->c->groups) * channel_bytes(call);
    return ct__round_up(channels + panel_items(call) * call->size, 64);
}

static size_t tile_bytes(const struct ct__conv_call *call) {
    return call->taps->rows * panel_items(call) * call->size;
}

/* Bytes between rows of sums, for a plane's items. */
static size_t row_bytes(const struct ct__conv_call *call) {
    return ct__round_up(((size_t)call->planes.plane + panel_items(call)) * call->size, 64);
}

/* The places of a channel among zeros. */
static void lay_channel(const struct ct__conv_call *call, const char *from, char *to) {
    const struct ct__conv_axis *a = call->planes.axis;
    size_t line = (size_t)a[2].places * call->size, row = (size_t)a[2].length * call->size;
    memset(to, 0, channel_bytes(call));
    call->taps->copy((size_t)a[1].places, (size_t)a[2].places, to + margin_bytes(call), row, from,
                     line);
}

/* Some rows of channels and a panel of a plane's items: sums over the items of kernels that lie in the plane. */
struct part {
    struct ct__cut rows, vecs;
    int64_t plane[2]; /* of the two last axes */
    const char *laid, *packed;
    char *sums;  /* of the panel; rows lie side by side, as long as the panel */
    char *inner; /* a tile of sums over a column */
};

/* Over the rows of one column of the kernel. */
static void sum_column(const struct ct__conv_call *call, const struct part *p, int64_t column) {
    const struct ct__conv_axis *a = call->planes.axis;
    size_t width = p->vecs.count * call->taps->lanes * call->size;
    size_t out = (size_t)(call->c->out / call->c->groups);
    struct ct__tap_tile t = {.n = out, .place = call->place, .c_row = (ptrdiff_t)width};
    t.a_step = (ptrdiff_t)(p->rows.count * call->size);
    t.c = p->inner;
    t.first = true;
    for (size_t v = 1; v < CT__TAP_VECS; v++)
        t.at[v] = (ptrdiff_t)(v * call->taps->lanes * call->size);
    for (int64_t row = p->plane[0]; row < a[1].kernel; row += a[1].planes) {
        int64_t back = ct__plane_shift(&a[1], row) * a[2].length + ct__plane_shift(&a[2], column);
        size_t from = p->vecs.begin * call->taps->lanes * call->size + margin_bytes(call);
        t.b = p->laid + from - (size_t)back * call->size;
        t.a = p->packed + (size_t)(column * a[1].kernel + row) * out * (size_t)t.a_step;
        call->taps->tile(p->rows.count, p->vecs.count, &t);
        t.first = false;
    }
}

static void sum_panel(const struct ct__conv_call *call, const struct part *p, char *sums,
                      size_t row) {
    const struct ct__conv_axis *a = call->planes.axis;
    size_t width = p->vecs.count * call->taps->lanes * call->size;
    bool first = true;
    for (int64_t column = p->plane[1]; column < a[2].kernel; column += a[2].planes) {
        sum_column(call, p, column);
        call->taps->add(p->rows.count, p->vecs.count, sums, row, p->inner, width, first);
        first = false;
    }
}

/* The items of a plane that lie in the image. */
static void take_plane(const struct ct__conv_call *call, const int64_t plane[2], const char *sums,
                       char *image) {
    const struct ct__conv_axis *a = call->planes.axis;
    int64_t first[2], end[2];
    size_t size = call->size;
    for (int s = 0; s < 2; s++)
        ct__plane_span(&a[1 + s], plane[s], &first[s], &end[s]);
    if (first[0] == end[0] || first[1] == end[1])
        return;
    int64_t y = first[0] * a[1].stride + ct__plane_rest(&a[1], plane[0]) - a[1].before;
    int64_t x = first[1] * a[2].stride + ct__plane_rest(&a[2], plane[1]) - a[2].before;
    const char *from = sums + (size_t)(first[0] * a[2].length + first[1]) * size;
    char *to = image + (size_t)(y * a[2].extent + x) * size;
    size_t rows = (size_t)(end[0] - first[0]), n = (size_t)(end[1] - first[1]);
    size_t row = (size_t)a[2].length * size, to_row = (size_t)(a[1].stride * a[2].extent) * size;
    if (a[2].stride == 1)
        call->taps->copy(rows, n, to, to_row, from, row);
    else
        for (size_t i = 0; i < rows; i++, to += to_row, from += row)
            for (size_t j = 0; j < n; j++)
                memcpy(to + j * (size_t)a[2].stride * size, from + j * size, size);
}

/* A plane of some rows of channels, where it meets the image. */
static void make_plane(const struct ct__conv_call *call, struct part *p, char *image) {
    const struct ct__conv_axis *a = call->planes.axis;
    int64_t first[2], end[2];
    for (int s = 0; s < 2; s++)
        ct__plane_span(&a[1 + s], p->plane[s], &first[s], &end[s]);
    if (first[0] >= end[0] || first[1] >= end[1])
        return;
    size_t lanes = call->taps->lanes, row = row_bytes(call);
    size_t begin = (size_t)(first[0] * a[2].length + first[1]) / lanes;
    size_t stop = ct__cuts((size_t)((end[0] - 1) * a[2].length + end[1]), lanes);
    size_t panels = ct__cuts(stop - begin, CT__TAP_VECS);
    for (size_t i = 0; i < panels; i++) {
        p->vecs = ct__cut_at(stop - begin, panels, i);
        p->vecs.begin += begin;
        sum_panel(call, p, p->sums + p->vecs.begin * lanes * call->size, row);
    }
    for (size_t i = 0; i < p->rows.count; i++)
        take_plane(call, p->plane, p->sums + i * row,
                   image + i * (size_t)call->c->pixels * call->size);
}

static void spread(const struct ct__conv_call *call, int64_t batch, int64_t group, char *scratch) {
    const struct ct__conv *c = call->c;
    size_t size = call->size, in = (size_t)(c->in / c->groups), out = (size_t)(c->out / c->groups);
    size_t taps = in * (size_t)c->kernels, tiles = ct__cuts(in, call->taps->rows);
    const char *from = call->in + ((size_t)batch * (size_t)c->out + (size_t)group * out) *
                                      (size_t)c->all_places * size;
    char *image =
        call->out + ((size_t)batch * (size_t)c->in + (size_t)group * in) * (size_t)c->pixels * size;
    for (size_t o = 0; o < out; o++)
        lay_channel(call, from + o * (size_t)c->all_places * size,
                    scratch + o * channel_bytes(call));
    size_t laid = laid_bytes(call);
    memset(scratch + out * channel_bytes(call), 0, laid - out * channel_bytes(call));
    struct part p = {.laid = scratch, .inner = scratch + laid};
    p.sums = p.inner + tile_bytes(call);
    for (size_t i = 0; i < tiles; i++) {
        p.rows = ct__cut_at(in, tiles, i);
        p.packed =
            call->packed + ((size_t)group * taps + p.rows.begin * (size_t)c->kernels) * out * size;
        for (p.plane[0] = 0; p.plane[0] < call->planes.axis[1].planes; p.plane[0]++)
            for (p.plane[1] = 0; p.plane[1] < call->planes.axis[2].planes; p.plane[1]++)
                make_plane(call, &p, image + p.rows.begin * (size_t)c->pixels * size);
    }
}

/* Kernels as tiles read them: for each tile of channels, column and row of the kernel, the out-channels in turn. */
static void pack_kernels(struct ct__conv_call *call, const char *w) {
    const struct ct__conv *c = call->c;
    const struct ct__conv_axis *a = call->planes.axis;
    size_t size = call->size, in = (size_t)(c->in / c->groups), out = (size_t)(c->out / c->groups);
    size_t kernels = (size_t)c->kernels, tiles = ct__cuts(in, call->taps->rows);
    char *to = call->packed;
    for (size_t g = 0; g < (size_t)c->groups; g++)
        for (size_t i = 0; i < tiles; i++) {
            struct ct__cut rows = ct__cut_at(in, tiles, i);
            const char *from = w + (g * out * in + rows.begin) * kernels * size;
            for (size_t j = 0; j < kernels; j++, to += out * rows.count * size) {
                size_t column = j / (size_t)a[1].kernel, row = j % (size_t)a[1].kernel;
                ct__pack(size, out, rows.count, from + (row * (size_t)a[2].kernel + column) * size,
                         (ptrdiff_t)(in * kernels * size), (ptrdiff_t)(kernels * size), to);
            }
        }
}

static bool all_finite(const ct_tensor *t) {
    const char *item = ct__first(t);
    bool finite = true;
    for (size_t i = 0; i < t->count; i++, item += t->scalar->size) {
        if (t->scalar == CT_F32)
            finite &= isfinite(*(const float *)(const void *)item) != 0;
        else
            finite &= isfinite(*(const double *)(const void *)item) != 0;
    }
    return finite;
}

/* Whether planes together are the image, so that nothing is left to be zeroed. */
static bool covers(const struct ct__conv_planes *p) {
    for (int s = 1; s < CT__CONV_SPACE; s++) {
        const struct ct__conv_axis *a = &p->axis[s];
        if (a->planes < a->stride || a->length * a->stride < a->before + a->extent)
            return false;
    }
    return true;
}

bool ct__conv_images_direct(const struct ct__conv *c, const ct_tensor *u, const ct_tensor *w,
                            ct_tensor **result) {
    struct ct__conv_call call;
    int64_t shape[2 + CT__CONV_SPACE] = {c->batch, c->in}, out = c->out / c->groups;
    if (c->space > 2 || out > CT__TAP_BLOCK || !ct__open_conv(&call, c, u->scalar) ||
        !all_finite(w))
        return false;
    memcpy(shape + 2, c->extent, sizeof c->extent);
    call.packed = ct__alloc(w->count * call.size);
    call.place = ct__alloc((size_t)out * sizeof *call.place);
    call.in = ct__first(u);
    call.run = spread;
    call.scratch = laid_bytes(&call) + tile_bytes(&call) + call.taps->rows * row_bytes(&call);
    ct_tensor *x = ct__empty("ct_conv", u->scalar, u->rank, shape);
    if (x && call.packed && call.place) {
        call.out = ct__first(x);
        if (!covers(&call.planes))
            memset(call.out, 0, x->count * call.size);
        pack_kernels(&call, ct__first(w));
        for (int64_t o = 0; o < out; o++)
            call.place[o] = (ptrdiff_t)((size_t)o * channel_bytes(&call));
    }
    *result = ct__run_conv(&call, x);
    return true;
}
