/* Convolutions, their transposes, and what pools scatter and lay back: what kernels make of f32 and f64 has the bits
   of the compositions that define them, which a type of another name runs. tests/suite_network.c has what they are. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "case_tools.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_index.h"
#include "tensor/ct_make.h"
#include "tensor/conv.h"
#include "tensor/row_pulls.h"

Suite *suite_conv(void);

static const ct_scalar *const types[] = {CT_F32, CT_F64};
static ct_scalar bare[2];

static void make_bare(void) {
    for (int i = 0; i < 2; i++) {
        bare[i] = *types[i];
        bare[i].name = i ? "bare f64" : "bare f32";
    }
}

/* The three parts of a convolution: x [batch, in, space...], w [out, in / groups, kernel...], u [batch, out, places...]. */
struct shapes {
    int space;
    int64_t x[5], w[5], u[5];
    struct ct__windows windows;
};

static int64_t draw_int(struct draw *d, int64_t low, int64_t high) {
    return low + (int64_t)(draw_bits(d) % (uint64_t)(high - low + 1));
}

/* False where the windows do not fit. */
static bool draw_shapes(struct draw *d, struct shapes *s) {
    *s = (struct shapes){.space = (int)draw_int(d, 1, 3)};
    struct ct__windows *w = &s->windows;
    bool deep = draw_int(d, 0, 15) == 0;
    w->groups = (int32_t)(draw_int(d, 0, 3) == 0 ? draw_int(d, 2, 3) : 1);
    s->x[0] = s->u[0] = draw_int(d, 1, 4);
    s->w[1] = draw_int(d, 1, deep ? 70 : 20), s->x[1] = s->w[1] * w->groups;
    s->w[0] = s->u[1] = draw_int(d, 1, deep ? 270 : 20) * w->groups;
    for (int i = 0; i < s->space; i++) {
        s->x[2 + i] = draw_int(d, 1, deep ? 5 : s->space == 1 ? 131 : s->space == 2 ? 31 : 9);
        s->w[2 + i] = draw_int(d, 1, 4);
        w->stride[i] = (int32_t)(draw_int(d, 0, 1) ? 1 : draw_int(d, 2, 4));
        w->dilation[i] = (int32_t)(draw_int(d, 0, 2) ? 1 : draw_int(d, 2, 3));
        w->before[i] = (int32_t)draw_int(d, 0, 3);
        w->after[i] = (int32_t)draw_int(d, 0, 3);
        int64_t room =
            s->x[2 + i] + w->before[i] + w->after[i] - (s->w[2 + i] - 1) * w->dilation[i];
        if (room < 1)
            return false;
        s->u[2 + i] = (room - 1) / w->stride[i] + 1;
    }
    return true;
}

/* Numbers, and now and then zeros of both signs, tiny ones, and, where asked for, infinities and NaN. */
static ct_tensor *draw_items(struct draw *d, int type, int rank, const int64_t *shape, int wild) {
    static const double odd[] = {0.0, -0.0, 0x1p-140, -0x1p-1060, HUGE_VAL, -HUGE_VAL, (double)NAN};
    ct_tensor *t = draw_tensor(d, CT_F64, rank, shape, -1, 1);
    double *item = ct_data_for_write(t);
    for (size_t i = 0; i < ct_count(t); i++)
        if (draw_int(d, 0, 31) == 0)
            item[i] = odd[draw_int(d, 0, draw_int(d, 0, 40) ? 3 : 3 + wild)];
    ct_tensor *as = ct_astype(t, types[type]);
    ct_free(t);
    ck_assert_ptr_nonnull(as);
    return as;
}

/* The same items, some of them in another order in memory. */
static ct_tensor *relaid(struct draw *d, ct_tensor *t) {
    if (draw_int(d, 0, 2))
        return t;
    ct_tensor *turned = ct_transpose(t), *moved = ct_compact(turned), *back = ct_transpose(moved);
    ct_free(t), ct_free(turned), ct_free(moved);
    return back;
}

static bool same_item(int type, const void *a, const void *b) {
    double x = type ? *(const double *)a : (double)*(const float *)a;
    double y = type ? *(const double *)b : (double)*(const float *)b;
    return (isnan(x) && isnan(y)) || memcmp(a, b, types[type]->size) == 0;
}

typedef ct_tensor *conv_fn(const ct_tensor *, const ct_tensor *, const struct ct__windows *);

static void compare(const char *what, int seed, int type, conv_fn *conv, const ct_tensor *a,
                    const ct_tensor *b, struct shapes *s, const int64_t *extent) {
    memcpy(s->windows.extent, extent + 2, sizeof s->windows.extent);
    ct_tensor *bare_a = ct_component(a, &bare[type], 0), *bare_b = ct_component(b, &bare[type], 0);
    ct_tensor *direct = conv(a, b, &s->windows), *parts = conv(bare_a, bare_b, &s->windows);
    ck_assert_msg(direct && parts, "%s %d: %s", what, seed, ct_error()->message);
    ck_assert(ct_same_shape(direct, parts));
    for (int i = 0; i < 2 + s->space; i++)
        ck_assert_int_eq(ct_shape(direct)[i], extent[i]);
    const char *x = ct_data(direct), *y = ct_data(parts);
    size_t size = types[type]->size;
    for (size_t i = 0; i < ct_count(direct); i++)
        ck_assert_msg(same_item(type, x + i * size, y + i * size), "%s %d, %s: item %zu differs",
                      what, seed, types[type]->name, i);
    ct_free(bare_a), ct_free(bare_b), ct_free(direct), ct_free(parts);
}

enum { BATCHES = 12, CASES = 30 };

START_TEST(kernels_have_the_bits_of_compositions) {
    make_bare();
    for (int i = 0; i < CASES; i++) {
        int seed = _i * CASES + i;
        struct draw d = {(uint64_t)seed + 1};
        struct shapes s;
        int type = seed & 1, wild = (seed >> 1) % 3 ? 0 : 3;
        if (!draw_shapes(&d, &s))
            continue;
        ct_tensor *x = relaid(&d, draw_items(&d, type, 2 + s.space, s.x, wild));
        ct_tensor *w = relaid(&d, draw_items(&d, type, 2 + s.space, s.w, seed % 5 ? 0 : wild));
        ct_tensor *u = relaid(&d, draw_items(&d, type, 2 + s.space, s.u, wild));
        compare("conv", seed, type, ct__conv, x, w, &s, s.u);
        compare("images", seed, type, ct__conv_images, u, w, &s, s.x);
        compare("kernels", seed, type, ct__conv_kernels, x, u, &s, s.w);
        ct_free(x), ct_free(w), ct_free(u);
    }
}
END_TEST

/* Windows that do not overlap are laid into their axis in one pass, in f32 and f64: other types add place by place. */
START_TEST(windows_apart_have_the_bits_of_sums) {
    struct draw d = {(uint64_t)_i + 1};
    make_bare();
    for (int i = 0; i < 200; i++) {
        int type = i & 1, axis = (int)draw_int(&d, 0, 2);
        int64_t size = draw_int(&d, 0, 5), step = size + draw_int(&d, 0, 2) - (i % 7 == 0);
        int64_t shape[4] = {draw_int(&d, 1, 5), draw_int(&d, 1, 5), draw_int(&d, 0, 40), size};
        step = step < 1 ? 1 : step;
        int64_t count = shape[axis], extent = (count - 1) * step + size + draw_int(&d, 0, 3);
        extent = extent < 0 ? 0 : extent;
        ct_tensor *drawn = relaid(&d, draw_items(&d, type, 4, shape, 3)), *x = drawn;
        if (i % 3 == 0) {
            ct_tensor *first = ct_slice(drawn, 3, 0, size > 0, 1);
            x = ct_broadcast_to(first, 4, size > 0 ? shape : ct_shape(first));
            ct_free(first), ct_free(drawn);
        } else if (i % 3 == 1) {
            x = ct_flip(drawn, 2);
            ct_free(drawn);
        }
        ct_tensor *other = ct_component(x, &bare[type], 0);
        ct_tensor *y = ct__fold_windows(x, axis, extent, step);
        ct_tensor *sum = ct__fold_windows(other, axis, extent, step);
        ck_assert_msg(y && sum, "%d: %s", i, ct_error()->message);
        ck_assert(ct_same_shape(y, sum));
        ct_tensor *dense = ct_compact(y), *expected = ct_compact(sum);
        const char *items = ct_data(dense), *wanted = ct_data(expected);
        size_t bytes = types[type]->size;
        for (size_t k = 0; k < ct_count(y); k++)
            ck_assert_msg(same_item(type, items + k * bytes, wanted + k * bytes),
                          "case %d: item %zu differs", i, k);
        ct_free(x), ct_free(other), ct_free(y), ct_free(sum), ct_free(dense), ct_free(expected);
    }
}
END_TEST

/* A new tensor of the shape is likely to lie where this one did. */
static void leave_nan(const ct_scalar *scalar, int rank, const int64_t *shape) {
    ct_free(ct_full(scalar, rank, shape, (double)NAN));
}

START_TEST(scattering_into_zeros_has_the_bits_of_scatter_add) {
    for (int i = 0; i < 400; i++) {
        struct draw d = {(uint64_t)i + 1};
        int type = i & 1, axis = draw_int(&d, 0, 2) ? 2 : (int)draw_int(&d, 0, 1);
        int64_t shape[3], met[3];
        for (int k = 0; k < 3; k++) {
            shape[k] = draw_int(&d, 1, 9);
            met[k] = k == axis            ? draw_int(&d, 0, 20)
                     : draw_int(&d, 0, 3) ? shape[k]
                                          : draw_int(&d, 0, shape[k]);
        }
        ct_tensor *source = relaid(&d, draw_items(&d, type, 3, met, 3));
        ct_tensor *index = ct_zeros(CT_I64, 3, met);
        int64_t *at = ct_data_for_write(index);
        for (size_t k = 0; k < ct_count(index); k++)
            at[k] = draw_int(&d, -shape[axis], shape[axis] - 1);
        ct_tensor *zeros = ct_zeros(types[type], 3, shape);
        ct_tensor *wanted = ct_scatter_add(zeros, axis, index, source);
        leave_nan(types[type], 3, shape);
        ct_tensor *sum = ct__scatter_into_zeros(3, shape, axis, index, source);
        ck_assert_msg(sum && wanted, "%d: %s", i, ct_error()->message);
        const char *x = ct_data(sum), *y = ct_data(wanted);
        size_t bytes = types[type]->size;
        for (size_t k = 0; k < ct_count(sum); k++)
            ck_assert_msg(same_item(type, x + k * bytes, y + k * bytes), "%d: item %zu", i, k);
        ct_free(source), ct_free(index), ct_free(zeros), ct_free(wanted), ct_free(sum);
    }
}
END_TEST

/* Images without pixels, of which windows see the padding alone: zeros, and NaN where kernels or images are infinite. */
START_TEST(padding_is_met_without_pixels) {
    const struct ct__windows w = {
        .groups = 1, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .before = {1}, .after = {1}};
    struct ct__windows of_kernels = w;
    of_kernels.extent[0] = 2;
    make_bare();
    for (int type = 0; type < 4; type++) {
        const ct_scalar *scalar = type < 2 ? types[type] : &bare[type - 2];
        for (int infinite = 0; infinite < 2; infinite++) {
            ct_tensor *x = ct_zeros(scalar, 3, (int64_t[]){1, 1, 0});
            ct_tensor *k = ct_full(scalar, 3, (int64_t[]){1, 1, 2}, infinite ? HUGE_VAL : 3);
            ct_tensor *u = ct_full(scalar, 3, (int64_t[]){1, 1, 1}, infinite ? HUGE_VAL : 3);
            ct_tensor *made[] = {ct__conv(x, k, &w), ct__conv_kernels(x, u, &of_kernels)};
            for (int i = 0; i < 2; i++) {
                ck_assert_msg(made[i] != NULL, "%s", ct_error()->message);
                ck_assert_uint_eq(ct_count(made[i]), (size_t)(i + 1));
                for (int64_t j = 0; j <= i; j++) {
                    double item = 1;
                    ck_assert_int_eq(ct_get(made[i], 3, (int64_t[]){0, 0, j}, &item), CT_OK);
                    ck_assert_msg(infinite ? isnan(item) : item == 0, "%d: %g", i, item);
                }
                ct_free(made[i]);
            }
            ct_tensor *none = ct__conv_images(u, k, &w);
            ck_assert(none && ct_count(none) == 0);
            ct_free(none), ct_free(x), ct_free(k), ct_free(u);
        }
    }
}
END_TEST

Suite *suite_conv(void) {
    Suite *s = suite_create("conv");
    TCase *tc = tcase_create("conv");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, kernels_have_the_bits_of_compositions, 0, BATCHES);
    tcase_add_loop_test(tc, windows_apart_have_the_bits_of_sums, 0, 4);
    tcase_add_test(tc, padding_is_met_without_pixels);
    tcase_add_test(tc, scattering_into_zeros_has_the_bits_of_scatter_add);
    suite_add_tcase(s, tc);
    return s;
}
