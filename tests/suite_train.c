/* The main job: a network learns the digits. */
#include "ct_test.h"

#include "cli/digits.h"
#include "cli/network.h"
#include "cotangent.h"

#include <stdlib.h>

static bool keep_accuracy(void *context, const struct ct_epoch *epoch) {
    *(double *)context = epoch->test_accuracy;
    return true;
}

/* As `cotangent train --seed SEED` does it. */
static double train(const struct digits *digits, uint64_t seed) {
    ct_mlp *mlp = network_new(seed);
    struct ct_adam_options adam = ct_adam_options_init();
    adam.lr = 0.01;
    ct_optim *optim = ct_adam_new(&adam);
    struct ct_fit_options options = ct_fit_options_init();
    double accuracy = 0;
    options.seed = seed;
    options.on_epoch = keep_accuracy;
    options.context = &accuracy;
    ct_status status = ct_fit(mlp, optim, &(struct ct_rows){digits->train_x, digits->train_labels},
                              &(struct ct_rows){digits->test_x, digits->test_labels}, &options);
    ck_assert_msg(status == CT_OK, "%s", ct_error()->message);
    ct_optim_free(optim);
    ct_mlp_free(mlp);
    return accuracy;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

START_TEST(median_accuracy_of_five_seeds) {
    struct digits digits;
    double accuracy[5];
    ck_assert(digits_load(&digits));
    for (int i = 0; i < 5; i++)
        accuracy[i] = train(&digits, (uint64_t)i + 1);
    digits_free(&digits);
    qsort(accuracy, 5, sizeof *accuracy, by_size);
    ck_assert_msg(accuracy[2] >= 0.97, "the median is %.4f, the range %.4f to %.4f", accuracy[2],
                  accuracy[0], accuracy[4]);
}
END_TEST

/* Every row is in one of the two sets, the held-out fifth is not sorted by class, pixels lie in 0 .. 1. */
START_TEST(digits_are_whole) {
    struct digits digits;
    ck_assert(digits_load(&digits));
    ck_assert_int_eq(ct_extent(digits.train_x, 0), 1438);
    ck_assert_int_eq(ct_extent(digits.test_x, 0), 359);
    ck_assert_int_eq(ct_extent(digits.test_x, 1), 64);
    int seen[2][10] = {{0}};
    const ct_tensor *labels[] = {digits.train_labels, digits.test_labels};
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < ct_extent(labels[k], 0); i++)
            seen[k][((const int64_t *)ct_data(labels[k]))[i]]++;
    static const int all[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    for (int digit = 0; digit < 10; digit++) {
        ck_assert_int_eq(seen[0][digit] + seen[1][digit], all[digit]);
        ck_assert_int_ge(seen[1][digit], 20);
    }
    ct_tensor *low = ct_min(digits.train_x, CT_ALL, false),
              *high = ct_max(digits.train_x, CT_ALL, false);
    ck_assert_double_eq(ct_item(low), 0);
    ck_assert_double_eq(ct_item(high), 1);
    ct_free(low);
    ct_free(high);
    digits_free(&digits);
}
END_TEST

START_TEST(network_passes_its_gradient_check) {
    struct digits digits;
    struct ct_check_report report;
    ck_assert(digits_load(&digits));
    ct_mlp *mlp = network_new((uint64_t)_i);
    ck_assert_int_eq(network_check(mlp, &digits, &report), CT_OK);
    ck_assert_msg(report.verdict == CT_CHECK_PASS, "%s", report.message);
    ck_assert_uint_gt(report.checked, 200);
    ck_assert_double_lt(report_worst(&report), 1e-5);
    ct_mlp_free(mlp);
    digits_free(&digits);
}
END_TEST

Suite *suite_train(void) {
    Suite *suite = suite_create("train");
    TCase *tests = tcase_create("digits");
    tcase_add_test(tests, digits_are_whole);
    tcase_add_loop_test(tests, network_passes_its_gradient_check, 1, 4);
    tcase_add_test(tests, median_accuracy_of_five_seeds);
    suite_add_tcase(suite, tests);
    return suite;
}
