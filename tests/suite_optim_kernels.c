#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"
#include "optim/optim_impl.h"
#include "tensor/isa.h"

Suite *suite_optim_kernels(void);

// Adam's kernels of different widths divide in different ways and have to agree on every bit.

enum { ITEMS = 4099, ARRAYS = 5 }; // parameter, gradient, three states

static uint64_t some_double(struct draw *draw, int kind) {
    uint64_t bits = draw_bits(draw);
    uint64_t fraction = bits & 0xfffffffffffff, sign = bits & ((uint64_t)1 << 63);
    if (kind == 0) // about 1
        return sign | (uint64_t)(1013 + draw_bits(draw) % 20) << 52 | fraction;
    if (kind == 1) // fractions of many ones or many zeros, where quotients come close to ties
        return sign | (uint64_t)(1023 - draw_bits(draw) % 3) << 52 |
               (draw_bits(draw) % 2 ? 0xfffffffffffff - fraction % 64 : fraction % 64);
    if (kind == 2)
        return draw_bits(draw) % 4 ? bits : sign; // anything, NaN and infinities too; zeros
    return sign | (uint64_t)(draw_bits(draw) % 2047) << 52 | fraction;
}

static uint32_t some_float(struct draw *draw, int kind) {
    uint32_t bits = (uint32_t)draw_bits(draw);
    uint32_t fraction = bits & 0x7fffff, sign = bits & 0x80000000;
    if (kind == 0)
        return sign | (uint32_t)(117 + draw_bits(draw) % 20) << 23 | fraction;
    if (kind == 1)
        return sign | (uint32_t)(127 - draw_bits(draw) % 3) << 23 |
               (draw_bits(draw) % 2 ? 0x7fffff - fraction % 64 : fraction % 64);
    if (kind == 2)
        return draw_bits(draw) % 4 ? bits : sign;
    return sign | (uint32_t)(draw_bits(draw) % 255) << 23 | fraction;
}

// Second moments are not negative.
static void fill(struct draw *draw, bool single, int kind, void *to, bool positive) {
    for (size_t i = 0; i < ITEMS; i++) {
        uint64_t x = some_double(draw, kind);
        uint32_t y = some_float(draw, kind);
        if (positive) {
            x &= ~((uint64_t)1 << 63);
            y &= 0x7fffffff;
        }
        if (single)
            memcpy((char *)to + 4 * i, &y, 4);
        else
            memcpy((char *)to + 8 * i, &x, 8);
    }
}

static union ct__step some_step(struct draw *draw, int round) {
    static const double eps[] = {1e-8, 0, 1e-30, 1, 1e-3, 1e30};
    static const double beta[] = {0.999, 0.9, 0, 0.5};
    union ct__step step;
    step.adam = (struct ct__adam_step){.rate = ldexp(draw_between(draw, 0.5, 1), -(round % 40)),
                                       .beta1 = beta[1 + round % 3],
                                       .beta2 = beta[round % 4],
                                       .root = draw_between(draw, 0.03, 1),
                                       .eps = eps[round % 6],
                                       .decay = round % 5 == 0 ? 0.01 : 0,
                                       .decay_factor = round % 7 == 0 ? 0.99 : 1,
                                       .amsgrad = round % 3 == 0};
    step.adam.one_minus_beta1 = 1 - step.adam.beta1;
    step.adam.one_minus_beta2 = 1 - step.adam.beta2;
    return step;
}

static void step_copy(ct__step_fn *fn, const union ct__step *step, const char *from, char *to,
                      size_t size) {
    memcpy(to, from, ARRAYS * ITEMS * size);
    struct ct__span span = {
        .param = to,
        .grad = to + ITEMS * size,
        .state = {to + 2 * ITEMS * size, to + 3 * ITEMS * size, to + 4 * ITEMS * size},
        .count = ITEMS};
    fn(step, &span, 1, ITEMS);
}

static double item(const char *at, bool single, size_t i) {
    float y;
    double x;
    memcpy(&y, at + 4 * (single ? i : 0), 4);
    memcpy(&x, at + 8 * (single ? 0 : i), 8);
    return single ? (double)y : x;
}

// All NaNs are one value.
static void expect_same(const char *a, const char *b, bool single, int round) {
    size_t size = single ? 4 : 8;
    for (size_t i = 0; i < ARRAYS * ITEMS; i++)
        if (memcmp(a + i * size, b + i * size, size) != 0)
            ck_assert_msg(isnan(item(a, single, i)) && isnan(item(b, single, i)),
                          "round %d, item %zu: %a and %a", round, i, item(a, single, i),
                          item(b, single, i));
}

static bool can_run(enum ct__isa isa) {
    return isa <= ct__isa_current();
}

START_TEST(widths_agree_bit_for_bit) {
    static const struct ct__step_set *const sets[] = {&ct__steps_scalar, &ct__steps_avx2,
                                                      &ct__steps_avx512};
    bool single = _i % 2 == 0;
    size_t bytes = ARRAYS * ITEMS * (single ? 4 : 8), third = bytes / ARRAYS;
    char *from = malloc(bytes), *right = malloc(bytes), *to = malloc(bytes);
    struct draw draw = {(uint64_t)_i + 1};
    for (int round = 0; round < 60; round++) {
        for (int k = 0; k < ARRAYS; k++)
            fill(&draw, single, _i / 2, from + (size_t)k * third, k >= 3);
        union ct__step step = some_step(&draw, round);
        step_copy(single ? ct__steps_scalar.f32[CT__ADAM] : ct__steps_scalar.f64[CT__ADAM], &step,
                  from, right, third / ITEMS);
        for (enum ct__isa isa = CT__ISA_AVX2; isa <= CT__ISA_AVX512 && can_run(isa); isa++) {
            step_copy(single ? sets[isa]->f32[CT__ADAM] : sets[isa]->f64[CT__ADAM], &step, from, to,
                      third / ITEMS);
            expect_same(to, right, single, round);
        }
    }
    free(from);
    free(right);
    free(to);
}
END_TEST

Suite *suite_optim_kernels(void) {
    Suite *suite = suite_create("optim_kernels");
    TCase *tc = tcase_create("kernels");
    tcase_add_loop_test(tc, widths_agree_bit_for_bit, 0, 8);
    suite_add_tcase(suite, tc);
    return suite;
}
