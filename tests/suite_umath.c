/* NumPy's accuracy points (B108; numpy/_core/tests/data/umath-validation-set-*.csv): for each function, arguments that some
   library was wrong at, with the results rounded from more digits. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case_tools.h"
#include "ct_test.h"
#include "golden_json.h"
#include "op_oracle.h"

Suite *suite_umath(void);

/* The bars are those of tests/ops_values.c: 1 for what this project computes itself and sqrt, 2 for the rest. */
static const struct function {
    const char *name; /* in the file's name */
    enum ct_op op;
    long double bar;
} functions[] = {
    {"arccos", CT_OP_acos, 2},   {"arccosh", CT_OP_acosh, 2}, {"arcsin", CT_OP_asin, 2},
    {"arcsinh", CT_OP_asinh, 2}, {"arctan", CT_OP_atan, 2},   {"arctanh", CT_OP_atanh, 2},
    {"cbrt", CT_OP_cbrt, 2},     {"cos", CT_OP_cos, 1},       {"cosh", CT_OP_cosh, 2},
    {"exp", CT_OP_exp, 1},       {"exp2", CT_OP_exp2, 2},     {"expm1", CT_OP_expm1, 1},
    {"log", CT_OP_log, 1},       {"log10", CT_OP_log10, 2},   {"log1p", CT_OP_log1p, 1},
    {"log2", CT_OP_log2, 2},     {"sin", CT_OP_sin, 1},       {"sinh", CT_OP_sinh, 2},
    {"tan", CT_OP_tan, 2},       {"tanh", CT_OP_tanh, 1},
};

struct points {
    size_t count, room;
    double *x, *y;
};

static void add_point(struct points *points, double x, double y) {
    if (points->count == points->room) {
        points->room = points->room ? 2 * points->room : 1024;
        points->x = realloc(points->x, points->room * sizeof *points->x);
        points->y = realloc(points->y, points->room * sizeof *points->y);
        ck_assert_msg(points->x && points->y, "out of memory");
    }
    points->x[points->count] = x;
    points->y[points->count++] = y;
}

/* A number by its bits, in hexadecimal. */
static double number_of(const ct_scalar *scalar, const char *text) {
    uint64_t bits = strtoull(text, NULL, 16);
    if (scalar == CT_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return (double)value;
}

/* The points of a type: lines "np.float32,0x3f83203f,0x3e61d9d6,2" among comments and a header. */
static void read_points(FILE *file, const ct_scalar *scalar, struct points *points) {
    const char *type = scalar == CT_F32 ? "np.float32" : "np.float64";
    char line[256];
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        char *rest = NULL, *name = strtok_r(line, ",", &rest);
        char *x = strtok_r(NULL, ",", &rest), *y = strtok_r(NULL, ",", &rest);
        if (name && x && y && strcmp(name, type) == 0)
            add_point(points, number_of(scalar, x), number_of(scalar, y));
    }
}

static void check_points(const struct function *f, const ct_scalar *scalar,
                         const struct points *points) {
    int64_t n = (int64_t)points->count;
    double *got = calloc(points->count + 1, sizeof *got);
    ck_assert_ptr_nonnull(got);
    ct_tensor *x = ct_from_doubles(scalar, 1, &n, points->count, points->x);
    const ct_tensor *in[] = {x};
    ct_tensor *y = op_oracle(f->op)->apply(in);
    ck_assert_int_eq(ct_to_doubles(y, points->count, got), CT_OK);
    for (size_t i = 0; i < points->count; i++) {
        long double error = ulp_error(scalar, got[i], (long double)points->y[i]);
        ck_assert_msg(
            error <= f->bar,
            "%s %s(%a) is %a and NumPy's file says %a: off by %.3Lg units in the last place",
            scalar->name, ct_op_name(f->op), points->x[i], got[i], points->y[i], error);
    }
    ct_free(x);
    ct_free(y);
    free(got);
}

static bool open_points(const struct function *f, FILE **file) {
    char path[1024];
    snprintf(path, sizeof path, "%s/umath/umath-validation-set-%s.csv", golden_cases(), f->name);
    *file = fopen(path, "r");
    return *file != NULL;
}

START_TEST(points_agree) {
    static const ct_scalar *const scalars[] = {CT_F32, CT_F64};
    const struct function *f = &functions[_i];
    FILE *file;
    if (!open_points(f, &file))
        return;
    size_t all = 0;
    for (size_t s = 0; s < COUNT(scalars); s++) {
        struct points points = {0};
        read_points(file, scalars[s], &points);
        check_points(f, scalars[s], &points);
        all += points.count;
        free(points.x);
        free(points.y);
    }
    fclose(file);
    ck_assert_msg(all > 100, "%s: its file holds %zu points", f->name, all);
}
END_TEST

/* Says what ran. */
START_TEST(points_are_there) {
    size_t files = 0;
    char folder[1024];
    FILE *file;
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (!open_points(&functions[i], &file))
            continue;
        files++;
        fclose(file);
    }
    snprintf(folder, sizeof folder, "%s/umath", golden_cases());
    if (files == 0)
        ct_test_skip(folder);
    else
        printf("    umath: the points of %zu functions\n", files);
}
END_TEST

Suite *suite_umath(void) {
    Suite *suite = suite_create("umath");
    TCase *tc = tcase_create("NumPy's points");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, points_are_there);
    tcase_add_loop_test(tc, points_agree, 0, COUNT(functions));
    return suite;
}
