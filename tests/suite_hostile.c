/* Arguments that a program should never pass, and once did: each fails with a message, or is harmless. */
#include <check.h>
#include <string.h>

#include "case_tools.h"
#include "cotangent.h"

Suite *suite_hostile(void);

/* --- descriptors of scalar types */

struct flaw {
    const char *what;
    void (*plant)(ct_scalar *scalar);
};

#define FLAW(name, body)                                                                           \
    static void name(ct_scalar *s) {                                                               \
        body;                                                                                      \
    }
FLAW(no_size, s->size = 0)
FLAW(no_align, s->align = 0)
FLAW(odd_align, s->align = 3)
FLAW(wide_align, s->size = s->align = 128)
FLAW(crooked_size, s->size = 12)
FLAW(no_to_double, s->to_double = NULL)
FLAW(no_from_double, s->from_double = NULL)
FLAW(no_format, s->format = NULL)
FLAW(no_equal, s->equal = NULL)
FLAW(no_name, s->name = NULL)
FLAW(own_base, s->base = s)
FLAW(base_of_its_level, s->base = CT_F64)

static const struct flaw flaws[] = {
    {"size 0", no_size},
    {"alignment 0", no_align},
    {"alignment 3", odd_align},
    {"alignment 128", wide_align},
    {"size 12 of 8", crooked_size},
    {"no to_double", no_to_double},
    {"no from_double", no_from_double},
    {"no format", no_format},
    {"no equal", no_equal},
    {"no name", no_name},
    {"its own base", own_base},
    {"a base of its level", base_of_its_level},
};

START_TEST(broken_scalar_types_are_refused) {
    ct_scalar broken = ct_scalar_f64;
    const int64_t shape[] = {2, 3};
    const double items[6] = {0};
    flaws[_i].plant(&broken);
    ct_tensor *sound = ct_ones(CT_F64, 2, shape);
    ck_assert_msg(!ct_zeros(&broken, 2, shape), "%s", flaws[_i].what);
    expect_error(CT_EDTYPE, "is broken");
    ck_assert_ptr_null(ct_from_items(&broken, 2, shape, 6, items));
    ck_assert_ptr_null(
        ct_tensor_over(&broken, 2, shape, (int64_t[]){3, 1}, 0, items, 6, NULL, NULL));
    ck_assert_ptr_null(ct_astype(sound, &broken));
    ck_assert_ptr_null(ct_eye(&broken, 2, 2, 0));
    ck_assert_ptr_null(ct_arange(&broken, 0, 3, 1));
    ct_free(sound);
}
END_TEST

/* --- results that nobody wants */

START_TEST(topk_without_a_place_for_results) {
    for (int64_t k = 0; k <= 4; k++) {
        ct_tensor *t = ct_arange(CT_F64, 0, 4, 1);
        ck_assert_int_eq(ct_topk(t, k, 0, true, NULL, NULL), CT_OK);
        ct_free(t);
    }
}
END_TEST

START_TEST(fixed_text_without_a_place) {
    int64_t item = 7;
    ck_assert(!ct_fixed_from_text("1", NULL));
    ck_assert(!ct_fixed_from_text(NULL, &item));
    ck_assert_int_eq(item, 7);
}
END_TEST

/* --- counts that lie */

START_TEST(components_beyond_the_array) {
    ct_tensor *part = T1(1, 2);
    const ct_tensor *parts[] = {part, part};
    const size_t counts[] = {0, SIZE_MAX, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < COUNT(counts); i++) {
        ck_assert_ptr_null(ct_from_components(CT_DUAL64, counts[i], parts));
        expect_error(CT_EDTYPE, "parts");
    }
    ct_free(part);
}
END_TEST

/* --- truth values */

START_TEST(truth_is_one) {
    const unsigned char bytes[] = {0, 1, 2, 255};
    unsigned char out[4];
    ct_tensor *t = ct_from_items(CT_BOOL, 1, (int64_t[]){4}, 4, bytes);
    ck_assert_int_eq(ct_to_items(t, 4, out), CT_OK);
    ck_assert_int_eq(memcmp(out, (unsigned char[]){0, 1, 1, 1}, 4), 0);
    ct_free(t);
}
END_TEST

Suite *suite_hostile(void) {
    Suite *suite = suite_create("hostile");
    TCase *tc = tcase_create("arguments");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, broken_scalar_types_are_refused, 0, COUNT(flaws));
    tcase_add_test(tc, topk_without_a_place_for_results);
    tcase_add_test(tc, fixed_text_without_a_place);
    tcase_add_test(tc, components_beyond_the_array);
    tcase_add_test(tc, truth_is_one);
    return suite;
}
