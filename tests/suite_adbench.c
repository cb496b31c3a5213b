/* ADBench's objectives, as the examples state them, against the numbers of its own tests. */

#include "ct_test.h"
#include "golden_json.h"

#include <stdlib.h>
#include <string.h>

#define main gaussian_mixture_main
int gaussian_mixture_main(void);
#include "examples/gaussian_mixture.c"
#undef main
#define main bundle_adjustment_main
int bundle_adjustment_main(void);
#include "examples/bundle_adjustment.c"
#undef main

static json_t *expected_of(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/adbench/expected.json", golden_cases());
    json_t *all = json_load_file(path, 0, NULL);
    json_t *one = json_incref(json_object_get(all, name));
    json_decref(all);
    return one;
}

static ct_tensor *read_tensor(FILE *file, int rank, const int64_t *shape) {
    ct_tensor *t = ct_zeros(CT_F64, rank, shape);
    double *items = ct_data_for_write(t);
    for (size_t i = 0; i < ct_count(t); i++)
        ck_assert_int_eq(fscanf(file, "%lf", &items[i]), 1);
    return t;
}

/* d, k, n; alphas, means, factors, points; gamma and m of the prior */
static void read_mixture(const char *name, struct mixture *g, ct_tensor *in[INPUTS]) {
    char path[256];
    long d, k, n;
    snprintf(path, sizeof path, "%s/adbench/gmm/%s", golden_cases(), name);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &d, &k, &n), 3);
    *g = (struct mixture){.points = n, .dimension = d, .components = k, .lower = triangle(d)};
    in[ALPHAS] = read_tensor(file, 1, (int64_t[]){k});
    in[MEANS] = read_tensor(file, 2, (int64_t[]){k, d});
    in[FACTORS] = read_tensor(file, 2, (int64_t[]){k, d + d * (d - 1) / 2});
    g->x = read_tensor(file, 2, (int64_t[]){n, d});
    ck_assert_int_eq(fscanf(file, "%lf %lf", &g->gamma, &g->m), 2);
    fclose(file);
}

static void close_mixture(struct mixture *g, ct_tensor *in[INPUTS]) {
    ct_free(g->x), ct_free(g->lower);
    for (int i = 0; i < INPUTS; i++)
        ct_free(in[i]);
}

static double item_of(const ct_tensor *t, size_t k) {
    ct_tensor *dense = ct_compact(t);
    double item = ((const double *)ct_data(dense))[k];
    ct_free(dense);
    return item;
}

START_TEST(the_mixture_of_gaussians_is_adbenchs) {
    json_t *expected = expected_of("gmm/test.txt");
    if (!expected) {
        ct_test_skip("the folder of cases has no adbench");
        return;
    }
    struct mixture g;
    ct_tensor *in[INPUTS], *value, *gradient[INPUTS];
    read_mixture("test.txt", &g, in);
    const ct_tensor *const *inputs = (const ct_tensor *const *)in;
    ck_assert_int_eq(ct_vjp(log_likelihood, &g, INPUTS, inputs, NULL, &value, gradient), CT_OK);
    ck_assert_double_eq_tol(item_of(value, 0),
                            json_number_value(json_object_get(expected, "objective")), 1e-12);
    json_t *numbers = json_object_get(expected, "gradient");
    size_t at = 0;
    for (int i = 0; i < INPUTS; i++)
        for (size_t k = 0; k < ct_count(gradient[i]); k++)
            ck_assert_double_eq_tol(item_of(gradient[i], k),
                                    json_number_value(json_array_get(numbers, at++)), 1e-8);
    ck_assert_uint_eq(at, json_array_size(numbers));
    for (int i = 0; i < INPUTS; i++)
        ct_free(gradient[i]);
    ct_free(value);
    close_mixture(&g, in);
    json_decref(expected);
}
END_TEST

/* The gradient in reverse mode is the Jacobian in forward mode, on larger data. */
START_TEST(mixtures_agree_in_both_modes) {
    static const char *const names[] = {"1k_gmm_d2_K5.txt", "1k_gmm_d2_K10.txt",
                                        "1k_gmm_d10_K5.txt"};
    struct mixture g;
    ct_tensor *in[INPUTS], *gradient[INPUTS];
    json_t *here = expected_of("gmm/test.txt");
    if (!here)
        return;
    json_decref(here);
    read_mixture(names[_i], &g, in);
    const ct_tensor *const *inputs = (const ct_tensor *const *)in;
    ck_assert_int_eq(ct_vjp(log_likelihood, &g, INPUTS, inputs, NULL, NULL, gradient), CT_OK);
    for (size_t which = 0; which < INPUTS; which++) {
        ct_tensor *forward =
            ct_jacobian(log_likelihood, &g, INPUTS, inputs, which, CT_MODE_FORWARD);
        ck_assert_msg(forward != NULL, "%s", ct_error()->message);
        for (size_t k = 0; k < ct_count(forward); k++) {
            double a = item_of(forward, k), b = item_of(gradient[which], k);
            ck_assert_msg(fabs(a - b) <= 1e-10 * (1 + fabs(b)),
                          "input %zu, item %zu: %.17g and %.17g", which, k, a, b);
        }
        ct_free(forward), ct_free(gradient[which]);
    }
    close_mixture(&g, in);
}
END_TEST

/* --- bundle adjustment --- */

/* Sizes, then one camera, point, weight and measurement, which stand for all. */
static ct_tensor *read_scene(struct scene *s) {
    char path[256];
    long cameras, points, sightings;
    double one[CAMERA + POINT + 1 + 2];
    snprintf(path, sizeof path, "%s/adbench/ba/test.txt", golden_cases());
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &cameras, &points, &sightings), 3);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        ck_assert_int_eq(fscanf(file, "%lf", &one[i]), 1);
    fclose(file);
    *s = scene_of(cameras, points, sightings);
    for (int64_t i = 0; i < 2 * sightings; i++)
        ct_set_flat(s->measured, i, one[CAMERA + POINT + 1 + i % 2]);
    int64_t unknowns = cameras * CAMERA + points * POINT + sightings;
    ct_tensor *x = ct_zeros(CT_F64, 1, &unknowns);
    double *items = ct_data_for_write(x);
    for (int64_t i = 0; i < unknowns; i++)
        items[i] = i < cameras * CAMERA       ? one[i % CAMERA]
                   : i < unknowns - sightings ? one[CAMERA + (i - cameras * CAMERA) % POINT]
                                              : one[CAMERA + POINT];
    return x;
}

/* The column of the k-th of the 15 entries that ADBench stores for a sighting. */
static size_t column_of(const struct scene *s, size_t sighting, size_t k) {
    size_t cameras = (size_t)s->cameras, points = (size_t)s->points;
    if (k < CAMERA)
        return sighting % cameras * CAMERA + k;
    if (k < CAMERA + POINT)
        return cameras * CAMERA + sighting % points * POINT + k - CAMERA;
    return cameras * CAMERA + points * POINT + sighting;
}

START_TEST(bundle_adjustment_is_adbenchs_and_sparse) {
    json_t *expected = expected_of("ba/test.txt");
    if (!expected) {
        ct_test_skip("the folder of cases has no adbench");
        return;
    }
    struct scene s;
    ct_tensor *x = read_scene(&s), *value, *slope[1];
    const ct_tensor *in[] = {x};
    ck_assert_int_eq(ct_vjp(residuals, &s, 1, in, NULL, &value, slope), CT_OK);
    size_t sightings = (size_t)s.sightings;
    json_t *pair = json_object_get(expected, "reproj_err_pair");
    for (size_t i = 0; i < 2 * sightings; i++)
        ck_assert_double_eq_tol(item_of(value, i), json_number_value(json_array_get(pair, i % 2)),
                                1e-8);
    ck_assert_double_eq_tol(item_of(value, 2 * sightings),
                            json_number_value(json_object_get(expected, "w_err")), 1e-8);
    ct_pattern *p = ct_jacobian_pattern(residuals, &s, 1, in, 0);
    ct_tensor *entries = ct_jacobian_sparse(residuals, &s, 1, in, 0, p),
              *dense = ct_pattern_dense(p, entries);
    ck_assert_msg(dense != NULL, "%s", ct_error()->message);
    ck_assert_uint_eq(ct_pattern_rows(p),
                      (size_t)json_integer_value(json_object_get(expected, "J_nrows")));
    ck_assert_uint_eq(ct_pattern_columns(p),
                      (size_t)json_integer_value(json_object_get(expected, "J_ncols")));
    /* ADBench stores two zeros for the principal point of each sighting. */
    ck_assert_uint_eq(ct_pattern_count(p) + 2 * sightings,
                      (size_t)json_integer_value(json_object_get(expected, "J_nnz")));
    ck_assert_uint_lt(ct_pattern_colours(p), 20);
    json_t *numbers = json_object_get(expected, "J_vals_prefix");
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        size_t row = i / 15, column = column_of(&s, row / 2, i % 15);
        if (row >= 2 * sightings)
            row = i - 15 * 2 * sightings, column = column_of(&s, row, 14), row += 2 * sightings;
        ck_assert_double_eq_tol(item_of(dense, row * ct_pattern_columns(p) + column),
                                json_number_value(json_array_get(numbers, i)), 1e-8);
    }
    ct_free(x), ct_free(value), ct_free(slope[0]), ct_free(entries), ct_free(dense);
    ct_pattern_free(p), free_scene(&s);
    json_decref(expected);
}
END_TEST

Suite *suite_adbench(void) {
    Suite *suite = suite_create("adbench");
    TCase *tc = tcase_create("adbench");
    tcase_add_test(tc, the_mixture_of_gaussians_is_adbenchs);
    tcase_add_test(tc, bundle_adjustment_is_adbenchs_and_sparse);
    tcase_add_loop_test(tc, mixtures_agree_in_both_modes, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}
