/* Convolutions of f32 and f64 without columns: vectors run along the places of windows, which lie at steps of 1 in planes
   of the padded image, so that tiles of the product read them where they lie. */

#include "tensor/conv_direct.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/pack.h"
#include "tensor/parallel.h"

#include <string.h>

/* --- images and groups --- */

bool ct__open_conv(struct ct__conv_call *call, const struct ct__conv *c, const ct_scalar *scalar) {
    *call =
        (struct ct__conv_call){.c = c, .taps = ct__kernels_of(scalar)->taps, .size = scalar->size};
    atomic_init(&call->no_memory, false);
    return c->kernels > 1 && ct__find_planes(c, &call->planes);
}

static void run_images(void *context, size_t begin, size_t end) {
    struct ct__conv_call *call = context;
    size_t groups = (size_t)call->c->groups;
    char *scratch = ct__alloc(call->scratch);
    if (!scratch)
        atomic_store_explicit(&call->no_memory, true, memory_order_relaxed);
    for (size_t i = begin; scratch && i < end; i++)
        call->run(call, (int64_t)(i / groups), (int64_t)(i % groups), scratch);
    ct__free(scratch);
}

ct_tensor *ct__run_conv(struct ct__conv_call *call, ct_tensor *result) {
    const struct ct__conv *c = call->c;
    double each = (double)c->in / (double)c->groups * (double)c->kernels * (double)c->out /
                  (double)c->groups * (double)c->all_places / 32;
    size_t grain = each < 4000 ? (size_t)(4000 / each) + 1 : 1;
    bool ready = result && call->place && (call->packed || call->shift);
    if (ready)
        ct__parallel_work((size_t)(c->batch * c->groups), grain,
                          each * (double)(c->batch * c->groups), run_images, call);
    ct__free(call->packed);
    ct__free(call->place);
    ct__free(call->shift);
    if (ready && !atomic_load_explicit(&call->no_memory, memory_order_relaxed))
        return result;
    if (result)
        ct__fail(CT_ENOMEM, "ct_conv", "there is no memory for the planes of images");
    ct_free(result);
    return NULL;
}

/* --- the convolution --- */

/* Where the window at a line of places lies; the last axis of places is along the line. */
static size_t line_start(const struct ct__conv_planes *p, int64_t line) {
    const struct ct__conv_axis *a = p->axis;
    return (size_t)((line / a[1].places * a[1].length + line % a[1].places) * a[2].length);
}

enum { SCRATCH_BYTES = 192 << 10 };

/* Lines of places at a time, whose results stay in L2. */
static int64_t lines_at_a_time(const struct ct__conv_call *call) {
    const struct ct__conv_axis *a = call->planes.axis;
    int64_t lines = a[0].places * a[1].places, out = call->c->out / call->c->groups;
    int64_t bytes = out * a[2].length * (int64_t)call->size, most = SCRATCH_BYTES / bytes;
    if (a[0].places > 1) /* a run of lines stays in one plane of the first axis */
        lines = a[1].places;
    return most < 1 ? 1 : most < lines ? most : lines;
}

static size_t panel_bytes(const struct ct__conv_call *call) {
    return CT__TAP_VECS * call->taps->lanes * call->size;
}

/* Bytes between the rows of results, of lines [first, first + lines). */
static size_t row_bytes(const struct ct__conv_call *call, int64_t lines) {
    size_t items = line_start(&call->planes, lines) + panel_bytes(call) / call->size;
    return ct__round_up(items * call->size, 64) + 64;
}

static size_t planes_bytes(const struct ct__conv_call *call) {
    size_t items =
        (size_t)(call->c->in / call->c->groups * call->planes.planes * call->planes.plane);
    return ct__round_up(items * call->size + panel_bytes(call), 64);
}

/* A block of taps, for all places of some lines: rows of sums, `row` bytes apart. */
static void multiply_block(const struct ct__conv_call *call, const char *packed, const char *planes,
                           size_t items, size_t k, size_t kb, char *sums, size_t row) {
    const struct ct__tap_kernels *taps = call->taps;
    size_t out = (size_t)(call->c->out / call->c->groups), width = taps->lanes * call->size;
    size_t taps_of_row = (size_t)(call->c->in / call->c->groups * call->c->kernels);
    size_t tiles = ct__cuts(out, taps->rows), across = ct__cuts(items, taps->lanes);
    size_t panels = ct__cuts(across, CT__TAP_VECS);
    struct ct__tap_tile t = {.n = kb, .place = call->place + k, .c_row = (ptrdiff_t)row};
    t.first = k == 0;
    for (size_t v = 1; v < CT__TAP_VECS; v++)
        t.at[v] = (ptrdiff_t)(v * width);
    for (size_t p = 0; p < panels; p++) {
        struct ct__cut vecs = ct__cut_at(across, panels, p);
        t.b = planes + vecs.begin * width;
        for (size_t i = 0; i < tiles; i++) {
            struct ct__cut rows = ct__cut_at(out, tiles, i);
            t.a_step = (ptrdiff_t)(rows.count * call->size);
            t.a = packed + (rows.begin * taps_of_row + k * rows.count) * call->size;
            t.c = sums + rows.begin * row + vecs.begin * width;
            taps->tile(rows.count, vecs.count, &t);
        }
    }
}

/* Where channels of an image are laid out. */
struct laying {
    const struct ct__conv_call *call;
    const char *image;
    char *planes;
};

static void lay_run(void *context, size_t place, size_t item, size_t rows, size_t items) {
    const struct laying *l = context;
    const struct ct__conv_call *call = l->call;
    const struct ct__conv_axis *a = call->planes.axis;
    size_t size = call->size, row = (size_t)a[2].length * size;
    size_t step = (size_t)a[2].stride * size, line = (size_t)(a[1].stride * a[2].extent) * size;
    size_t channel = (size_t)(call->planes.planes * call->planes.plane) * size;
    size_t in = (size_t)(call->c->in / call->c->groups), pixels = (size_t)call->c->pixels * size;
    for (size_t c = 0; c < in; c++) {
        const char *from = l->image + c * pixels + item * size;
        char *to = l->planes + c * channel + place * size;
        if (step == size)
            call->taps->copy(rows, items, to, row, from, line);
        else
            for (size_t i = 0; i < rows; i++)
                ct__pack(size, 1, items, from + i * line, 0, (ptrdiff_t)step, to + i * row);
    }
}

static void convolve(const struct ct__conv_call *call, int64_t batch, int64_t group,
                     char *scratch) {
    const struct ct__conv *c = call->c;
    const struct ct__conv_axis *a = call->planes.axis;
    int64_t in = c->in / c->groups, out = c->out / c->groups, step = lines_at_a_time(call);
    size_t size = call->size, taps = (size_t)(in * c->kernels), line = (size_t)a[2].places * size;
    const char *image = call->in + (size_t)((batch * c->in + group * in) * c->pixels) * size;
    char *result = call->out + (size_t)((batch * c->out + group * out) * c->all_places) * size;
    const char *packed = call->packed + (size_t)(group * out) * taps * size;
    char *planes = scratch, *sums = scratch + planes_bytes(call);
    memset(planes, 0, planes_bytes(call));
    ct__each_run(&call->planes, lay_run, &(struct laying){call, image, planes});
    size_t row = row_bytes(call, step);
    for (int64_t first = 0, n; first < a[0].places * a[1].places; first += n) {
        int64_t left = a[0].places > 1 ? a[1].places - first % a[1].places : a[1].places - first;
        n = step < left ? step : left;
        size_t start = line_start(&call->planes, first);
        size_t items = line_start(&call->planes, first + n - 1) - start + (size_t)a[2].places;
        for (size_t k = 0; k < taps; k += CT__TAP_BLOCK) {
            size_t kb = taps - k < CT__TAP_BLOCK ? taps - k : CT__TAP_BLOCK;
            multiply_block(call, packed, planes + start * size, items, k, kb, sums, row);
        }
        for (int64_t o = 0; o < out; o++)
            call->taps->copy((size_t)n, (size_t)a[2].places,
                             result + (size_t)(o * c->all_places + first * a[2].places) * size,
                             line, sums + (size_t)o * row, (size_t)a[2].length * size);
    }
}

/* Rows of kernels, which lie dense, as tiles read them: for each tile its items of one tap side by side. */
static void pack_kernels(struct ct__conv_call *call, const char *w) {
    const struct ct__conv *c = call->c;
    size_t out = (size_t)(c->out / c->groups), taps = (size_t)(c->in / c->groups * c->kernels);
    size_t size = call->size, tiles = ct__cuts(out, call->taps->rows);
    for (size_t g = 0; g < (size_t)c->groups; g++)
        for (size_t i = 0; i < tiles; i++) {
            struct ct__cut rows = ct__cut_at(out, tiles, i);
            size_t at = (g * out + rows.begin) * taps * size;
            ct__pack(size, taps, rows.count, w + at, (ptrdiff_t)size, (ptrdiff_t)(taps * size),
                     call->packed + at);
        }
}

bool ct__conv_direct(const struct ct__conv *c, const ct_tensor *x, const ct_tensor *w,
                     ct_tensor **result) {
    struct ct__conv_call call;
    int64_t shape[CT_MAX_RANK] = {c->batch, c->out};
    if (!ct__open_conv(&call, c, x->scalar))
        return false;
    const struct ct__conv_axis *a = call.planes.axis;
    if (a[1].length * a[2].length > 2 * a[1].places * a[2].places + 256)
        return false; /* most of what a panel meets would be no place */
    int64_t taps = c->in / c->groups * c->kernels;
    memcpy(shape + 2, c->places, sizeof c->places);
    call.packed = ct__alloc(w->count * call.size);
    call.place = ct__alloc((size_t)taps * sizeof *call.place);
    call.in = ct__first(x);
    call.run = convolve;
    call.scratch = planes_bytes(&call) +
                   (size_t)(c->out / c->groups) * row_bytes(&call, lines_at_a_time(&call));
    ct_tensor *y = ct__empty("ct_conv", x->scalar, x->rank, shape);
    if (y && call.packed && call.place) {
        call.out = ct__first(y);
        pack_kernels(&call, ct__first(w));
        for (int64_t k = 0; k < taps; k++)
            call.place[k] =
                (ptrdiff_t)call.size * (k / c->kernels * call.planes.planes * call.planes.plane +
                                        ct__tap_place(&call.planes, k % c->kernels));
    }
    *result = ct__run_conv(&call, y);
    return true;
}
