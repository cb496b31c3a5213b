/* ADBench's objectives, as the examples state them, against the numbers of its own tests. */

#include "ct_test.h"
#include "golden_json.h"

#include <stdlib.h>
#include <string.h>

#define main gaussian_mixture_main
int gaussian_mixture_main(void);
#include "examples/gaussian_mixture.c"
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

Suite *suite_adbench(void) {
    Suite *suite = suite_create("adbench");
    TCase *tc = tcase_create("adbench");
    tcase_add_test(tc, the_mixture_of_gaussians_is_adbenchs);
    tcase_add_loop_test(tc, mixtures_agree_in_both_modes, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}
