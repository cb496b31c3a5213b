/* The transpose of a convolution in its kernels, without columns: vectors run along in-channels, which lie side by side in
   planes of the padded image, and steps of tiles are places. */

#include "tensor/conv_direct.h"

#include "tensor/alloc.h"
#include "tensor/ct_reduce.h"
#include "tensor/pack.h"

#include <string.h>

/* In-channels of a group, in whole vectors. */
static size_t channels_of(const struct ct__conv_call *call) {
    return ct__round_up((size_t)(call->c->in / call->c->groups), call->taps->lanes);
}

/* Scratch: planes with channels side by side, images so, sums. Bytes. */
static size_t planes_bytes(const struct ct__conv_call *call) {
    size_t items = (size_t)(call->planes.planes * call->planes.plane);
    return ct__round_up(items * channels_of(call) * call->size, 64);
}
static size_t images_bytes(const struct ct__conv_call *call) {
    size_t out = (size_t)(call->c->out / call->c->groups);
    return ct__round_up((size_t)call->c->all_places * out * call->size, 64);
}
/* A row of sums: vectors of channels for each item of the kernel. */
static size_t row_bytes(const struct ct__conv_call *call) {
    return ct__round_up((size_t)call->c->kernels * channels_of(call) * call->size, 64);
}

/* Turns [channels, items], items `step` bytes and channels `channel` apart, to [items, width]. */
static void turn(size_t size, size_t channels, size_t items, const char *from, size_t step,
                 size_t channel, char *to, size_t width) {
    enum { PIECE = 64 }; /* items at a time, which stay in L1 */
    for (size_t i = 0; i < items; i += PIECE) {
        size_t n = items - i < PIECE ? items - i : PIECE;
        ct__turn(size, n, channels, from + i * step, (ptrdiff_t)step, (ptrdiff_t)channel,
                 to + i * width * size, width * size);
    }
}

/* Where channels of an image are laid out. */
struct laying {
    const struct ct__conv_call *call;
    const char *image;
    char *planes;
};

static void turn_run(void *context, size_t place, size_t item, size_t rows, size_t items) {
    const struct laying *l = context;
    const struct ct__conv_call *call = l->call;
    const struct ct__conv_axis *a = call->planes.axis;
    size_t size = call->size, width = channels_of(call), pixels = (size_t)call->c->pixels;
    size_t line = (size_t)(a[1].stride * a[2].extent), in = (size_t)(call->c->in / call->c->groups);
    for (size_t i = 0; i < rows; i++)
        turn(size, in, items, l->image + (item + i * line) * size, (size_t)a[2].stride * size,
             pixels * size, l->planes + (place + i * (size_t)a[2].length) * width * size, width);
}

static void multiply_block(const struct ct__conv_call *call, const char *planes, const char *images,
                           size_t k, size_t kb, char *sums) {
    const struct ct__tap_kernels *taps = call->taps;
    size_t size = call->size, out = (size_t)(call->c->out / call->c->groups);
    size_t row = row_bytes(call), width = taps->lanes * size,
           each = channels_of(call) / taps->lanes;
    size_t across = (size_t)call->c->kernels * each, panels = ct__cuts(across, CT__TAP_VECS);
    size_t tiles = ct__cuts(out, taps->rows);
    struct ct__tap_tile t = {.n = kb,
                             .b = planes,
                             .place = call->place + k,
                             .a_step = (ptrdiff_t)(out * size),
                             .c_row = (ptrdiff_t)row,
                             .first = k == 0};
    for (size_t p = 0; p < panels; p++) {
        struct ct__cut vecs = ct__cut_at(across, panels, p);
        for (size_t v = 0; v < vecs.count; v++) {
            size_t at = vecs.begin + v;
            t.at[v] = call->shift[at / each] + (ptrdiff_t)(at % each * width);
        }
        for (size_t i = 0; i < tiles; i++) {
            struct ct__cut rows = ct__cut_at(out, tiles, i);
            t.a = images + (k * out + rows.begin) * size;
            t.c = sums + rows.begin * row + vecs.begin * width;
            taps->tile(rows.count, vecs.count, &t);
        }
    }
}

static void correlate(const struct ct__conv_call *call, int64_t batch, int64_t group,
                      char *scratch) {
    const struct ct__conv *c = call->c;
    size_t size = call->size, in = (size_t)(c->in / c->groups), out = (size_t)(c->out / c->groups);
    size_t places = (size_t)c->all_places, pixels = (size_t)c->pixels, width = channels_of(call);
    size_t kernels = (size_t)c->kernels;
    const char *x = call->in + ((size_t)batch * (size_t)c->in + (size_t)group * in) * pixels * size;
    const char *u =
        call->aux + ((size_t)batch * (size_t)c->out + (size_t)group * out) * places * size;
    char *to =
        call->out + ((size_t)batch * (size_t)c->out + (size_t)group * out) * in * kernels * size;
    char *planes = scratch, *images = planes + planes_bytes(call),
         *sums = images + images_bytes(call);
    memset(planes, 0, planes_bytes(call));
    ct__each_run(&call->planes, turn_run, &(struct laying){call, x, planes});
    turn(size, out, places, u, size, places * size, images, out);
    for (size_t k = 0; k < places; k += CT__TAP_BLOCK)
        multiply_block(call, planes, images, k,
                       places - k < CT__TAP_BLOCK ? places - k : CT__TAP_BLOCK, sums);
    for (size_t o = 0; o < out; o++)
        ct__turn(size, in, kernels, sums + o * row_bytes(call), (ptrdiff_t)size,
                 (ptrdiff_t)(width * size), to + o * in * kernels * size, kernels * size);
}

static void find_places(struct ct__conv_call *call) {
    const struct ct__conv_axis *a = call->planes.axis;
    size_t step = channels_of(call) * call->size;
    ptrdiff_t *place = call->place;
    for (int64_t i = 0; i < a[0].places; i++)
        for (int64_t j = 0; j < a[1].places; j++)
            for (int64_t k = 0; k < a[2].places; k++)
                *place++ = (ptrdiff_t)((size_t)((i * a[1].length + j) * a[2].length + k) * step);
    for (int64_t j = 0; j < call->c->kernels; j++)
        call->shift[j] = (ptrdiff_t)((size_t)ct__tap_place(&call->planes, j) * step);
}

bool ct__conv_kernels_direct(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *u,
                             ct_tensor **result) {
    struct ct__conv_call call;
    int64_t in = c->in / c->groups, out = c->out / c->groups;
    int64_t each[3] = {c->batch, c->out, in * c->kernels}, shape[CT_MAX_RANK] = {c->out, in};
    if (!ct__open_conv(&call, c, x->scalar) || 2 * (size_t)in < call.taps->lanes)
        return false;
    memcpy(shape + 2, c->kernel, sizeof c->kernel);
    call.place = ct__alloc((size_t)c->all_places * sizeof *call.place);
    call.shift = ct__alloc((size_t)c->kernels * sizeof *call.shift);
    call.in = ct__first(x), call.aux = ct__first(u);
    call.run = correlate;
    call.scratch = planes_bytes(&call) + images_bytes(&call) + (size_t)out * row_bytes(&call);
    ct_tensor *sums = ct__empty("ct_conv", x->scalar, 3, each);
    if (sums)
        call.out = ct__first(sums);
    if (call.place && call.shift)
        find_places(&call);
    sums = ct__run_conv(&call, sums);
    ct_tensor *sum = sums ? ct__then(sums, ct_sum(sums, 0, false)) : NULL;
    *result = sum ? ct__then(sum, ct_reshape(sum, x->rank, shape)) : NULL;
    return true;
}
