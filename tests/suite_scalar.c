#include "tensor_tools.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_scalar(void);

// --- the scalar types

struct number {
    double value;
    const char *f32, *f64;
};

static const struct number numbers[] = {
    {0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1, "1", "1"},
    {-100, "-100", "-100"},
    {0.5, "0.5", "0.5"},
    {1000000, "1e+06", "1000000"},
    {INF, "inf", "inf"},
    {-INF, "-inf", "-inf"},
    {QNAN, "nan", "nan"},
    {0x1p-149, "1e-45", "1.401298464324817e-45"},
    {1.0 / 3, "0.33333334", "0.3333333333333333"},
};

static void check_numbers(void) {
    char text[40];
    for (int i = 0; i < COUNT(numbers); i++) {
        float narrow = (float)numbers[i].value;
        CT_F32->format(CT_F32, &narrow, text, sizeof text);
        ck_assert_str_eq(text, numbers[i].f32);
        CT_F64->format(CT_F64, &numbers[i].value, text, sizeof text);
        ck_assert_str_eq(text, numbers[i].f64);
    }
    double tiny = 0x1p-1074, awkward = 5e-324 * 3;
    CT_F64->format(CT_F64, &tiny, text, sizeof text);
    ck_assert_str_eq(text, "5e-324");
    CT_F64->format(CT_F64, &awkward, text, sizeof text);
    ck_assert_str_eq(text, "1.5e-323");
    ck_assert_int_eq(CT_F64->format(CT_F64, &numbers[10].value, text, 4), 18);
    ck_assert_str_eq(text, "0.3");
}

START_TEST(number_texts) {
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                          "ps_AF.UTF-8"};
    for (int i = 0; i < COUNT(locales); i++)
        if (setlocale(LC_ALL, locales[i]))
            check_numbers();
    setlocale(LC_ALL, "C");
}
END_TEST

// Random bits are read back, and no shorter text of theirs would be.
START_TEST(texts_read_back) {
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double x;
        float y;
        uint32_t high = (uint32_t)(state >> 32);
        memcpy(&x, &state, sizeof x);
        memcpy(&y, &high, sizeof y);
        char text[40];
        CT_F64->format(CT_F64, &x, text, sizeof text);
        double back = strtod(text, NULL);
        ck_assert_msg(CT_F64->equal(CT_F64, &x, &back), "%s", text);
        CT_F32->format(CT_F32, &y, text, sizeof text);
        float back_y = strtof(text, NULL);
        ck_assert_msg(CT_F32->equal(CT_F32, &y, &back_y), "%s", text);
    }
}
END_TEST

struct fit {
    const ct_scalar *scalar;
    double value;
    bool fits;
};

START_TEST(values_that_fit) {
    static const struct fit fits[] = {
        {CT_F32, 3.4028235677973364e38, true}, // rounds to FLT_MAX
        {CT_F32, 3.4028235677973366e38, false},
        {CT_F32, -INF, true},
        {CT_F32, 1e-300, true},
        {CT_I64, -0x1p63, true},
        {CT_I64, 0x1p63, false},
        {CT_I64, 0x1.fffffffffffffp62, true},
        {CT_I64, -INF, false},
        {CT_I64, 1e-300, false},
        {CT_I64, -0.0, true},
        {CT_BOOL, -0.0, true},
        {CT_BOOL, 1, true},
        {CT_BOOL, 0.5, false},
        {CT_BOOL, QNAN, false},
    };
    for (int i = 0; i < COUNT(fits); i++) {
        unsigned char item[8] = {42, 42, 42, 42, 42, 42, 42, 42};
        const ct_scalar *scalar = fits[i].scalar;
        ck_assert_msg(scalar->from_double(scalar, item, fits[i].value) == fits[i].fits, "%d", i);
        ck_assert(fits[i].fits || item[0] == 42);
    }
}
END_TEST

START_TEST(op_rows) {
    ck_assert_str_eq(ct_op_name(CT_OP_add), "add");
    ck_assert_int_eq(ct_op_kind_of(CT_OP_equal), CT_KIND_COMPARE);
    ck_assert_int_eq(ct_op_kind_of(CT_OP_matmul), CT_KIND_BILINEAR);
    ck_assert_int_eq(ct_op_arity(CT_OP_where), 3);
    ck_assert_int_eq(ct_op_arity(CT_OP_summed), 0);
    ck_assert_str_eq(ct_op_value_text(CT_OP_mul), "MUL(X, Z)");
    ck_assert_str_eq(ct_op_pull_text(CT_OP_exp, 0), "SMUL(G, Y)");
    ck_assert_str_eq(ct_op_pull_text(CT_OP_where, 0), "FLAT");
    ck_assert_str_eq(ct_op_pull_text(CT_OP_where, 2), "WHERE(X, K(0), G)");
    ck_assert_ptr_null(ct_op_pull_text(CT_OP_exp, 1));
    ck_assert_ptr_null(ct_op_value_text(CT_OP_softmax));
    ck_assert_str_eq(ct_op_name(CT_OP_COUNT), "unknown op");
    ck_assert_int_eq(ct_op_by_name("no such op"), CT_OP_COUNT);
    ck_assert_int_eq(ct_op_by_name(NULL), CT_OP_COUNT);
    for (int i = 0; i < CT_OP_COUNT; i++) {
        ck_assert_int_eq(ct_op_by_name(ct_op_name((enum ct_op)i)), i); // names are unique
        ck_assert(*ct_op_doc((enum ct_op)i) != '\0');
        bool structured = ct_op_arity((enum ct_op)i) == 0;
        ck_assert((ct_op_value_text((enum ct_op)i) == NULL) == structured);
    }
}
END_TEST

Suite *suite_scalar(void) {
    Suite *suite = suite_create("scalar");
    TCase *tc = tcase_create("scalar");
    tcase_add_test(tc, number_texts);
    tcase_add_test(tc, texts_read_back);
    tcase_add_test(tc, values_that_fit);
    tcase_add_test(tc, op_rows);
    suite_add_tcase(suite, tc);
    return suite;
}
