#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "case_tools.h"
#include "ct_test.h"
#include "scarce_memory.h"
#include "nn/ct_nn.h"
#include "tensor/ct_alloc.h"

Suite *suite_fit(void);

// ---- a small task: three clouds of points in the plane

struct task {
    ct_tensor *x, *labels;
    ct_mlp *mlp;
    ct_optim *optim;
    struct ct_rows rows;
    struct ct_fit_options options;
};

static struct task task_of(const ct_scalar *scalar, int64_t n, int64_t hidden) {
    struct draw draw = {42};
    struct task t = {.options = ct_fit_options_init()};
    int64_t shape[] = {n, 2}, widths[] = {2, hidden, 3};
    t.x = ct_zeros(scalar, 2, shape);
    t.labels = ct_zeros(CT_I64, 1, shape);
    ck_assert(t.x && t.labels);
    for (int64_t i = 0; i < n; i++) {
        static const double centre[3][2] = {{-1, -1}, {1, -1}, {0, 1}};
        int64_t label = i % 3;
        ct_set(t.labels, 1, &i, (double)label);
        for (int64_t k = 0; k < 2; k++)
            ct_set(t.x, 2, (int64_t[]){i, k}, centre[label][k] + draw_between(&draw, -0.6, 0.6));
    }
    t.mlp = ct_mlp_new(scalar, 2, widths, CT_RELU, 1);
    struct ct_adam_options adam = ct_adam_options_init();
    adam.lr = 0.02;
    t.optim = ct_adam_new(&adam);
    ck_assert(t.mlp && t.optim);
    t.rows = (struct ct_rows){t.x, t.labels};
    t.options.epochs = 10;
    t.options.batch = 16;
    t.options.seed = 7;
    return t;
}

static void free_task(struct task *t) {
    ct_free(t->x);
    ct_free(t->labels);
    ct_mlp_free(t->mlp);
    ct_optim_free(t->optim);
}

static void fit_ok(struct task *t, const struct ct_rows *test) {
    ck_assert_msg(!ct_fit(t->mlp, t->optim, &t->rows, test, &t->options), "%s",
                  ct_error()->message);
}

static const ct_tensor *weight(const struct task *t, size_t i) {
    return ct_params_value(ct_mlp_params(t->mlp), i);
}

enum { MOST = 64 };

struct history {
    int count, stop_after;
    struct ct_epoch epochs[MOST];
    size_t calls[MOST];
};

static bool note(void *context, const struct ct_epoch *epoch) {
    struct history *h = context;
    ck_assert(h->count < MOST);
    h->calls[h->count] = ct_allocator_calls();
    h->epochs[h->count++] = *epoch;
    return h->count != h->stop_after;
}

// ---- learning

START_TEST(training_learns) {
    struct history h = {0};
    struct task t = task_of(_i ? CT_F64 : CT_F32, 150, 8);
    t.options.on_epoch = note;
    t.options.context = &h;
    fit_ok(&t, &t.rows);
    ck_assert_int_eq(h.count, 10);
    for (int i = 0; i < h.count; i++)
        ck_assert(h.epochs[i].epoch == i + 1 && h.epochs[i].epochs == 10);
    ck_assert_double_lt(h.epochs[9].loss, 0.2 * h.epochs[0].loss);
    ck_assert_double_ge(h.epochs[9].train_accuracy, 0.97);
    ck_assert(h.epochs[9].train_accuracy == h.epochs[9].test_accuracy);
    ck_assert_uint_eq(ct_optim_steps(t.optim), 10 * 10); // the last of 10 batches has 6 rows
    free_task(&t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// One epoch of one batch: the same rows in the epoch's order, by hand.
START_TEST(a_batch_is_a_step) {
    enum { N = 9 };
    struct history h = {0};
    struct task t = task_of(CT_F64, N, 4), hand = task_of(CT_F64, N, 4);
    t.options.epochs = 1;
    t.options.batch = 1000;
    t.options.on_epoch = note;
    t.options.context = &h;
    fit_ok(&t, NULL);
    ct_params *params = ct_mlp_params(hand.mlp);
    ct_tape *tape = ct_tape_new();
    ct_params_record(params, tape);
    ct_var logits = ct_mlp_apply(hand.mlp, ct_constant(tape, hand.x, NULL));
    ct_var loss =
        ct_var_cross_entropy(logits, ct_constant(tape, hand.labels, NULL), CT_REDUCE_MEAN);
    // The rows come in another order, which the last bits of the sums may show.
    ck_assert_double_eq_tol(ct_value_item(loss), h.epochs[0].loss, 1e-14);
    ck_assert(!ct_params_grad(params, loss) && !ct_params_step(params, hand.optim));
    for (size_t i = 0; i < 4; i++)
        ck_assert(ct_all_close(weight(&t, i), weight(&hand, i), 1e-9, 1e-9));
    ck_assert(isnan(h.epochs[0].test_accuracy));
    ct_tape_free(tape);
    free_task(&t);
    free_task(&hand);
}
END_TEST

START_TEST(the_loss_is_the_mean_over_rows) {
    // With a learning rate of 0 the loss of an epoch is that of one batch of all rows.
    double loss[2];
    for (int k = 0; k < 2; k++) {
        struct history h = {0};
        struct task t = task_of(CT_F64, 50, 4);
        ct_optim_set_lr(t.optim, 0);
        t.options.epochs = 1;
        t.options.batch = k ? 50 : 16;
        t.options.on_epoch = note;
        t.options.context = &h;
        fit_ok(&t, NULL);
        loss[k] = h.epochs[0].loss;
        free_task(&t);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-13);
}
END_TEST

START_TEST(the_callback_can_stop) {
    struct history h = {.stop_after = 3};
    struct task t = task_of(CT_F32, 30, 4);
    t.options.on_epoch = note;
    t.options.context = &h;
    fit_ok(&t, NULL);
    ck_assert_int_eq(h.count, 3);
    ck_assert_uint_eq(ct_optim_steps(t.optim), 6);
    free_task(&t);
}
END_TEST

START_TEST(a_test_set_may_be_empty) {
    struct history h = {0};
    struct task t = task_of(CT_F32, 30, 4);
    ct_tensor *x = ct_slice(t.x, 0, 0, 0, 1), *labels = ct_slice(t.labels, 0, 0, 0, 1);
    struct ct_rows none = {x, labels};
    t.options.on_epoch = note;
    t.options.context = &h;
    fit_ok(&t, &none);
    ck_assert(isnan(h.epochs[9].test_accuracy) && h.epochs[9].train_accuracy > 0);
    ct_free(x);
    ct_free(labels);
    free_task(&t);
}
END_TEST

// ---- the same bits

static void same_weights(const struct task *a, const struct task *b, bool same) {
    for (size_t i = 0; i < 4; i++)
        ck_assert(same_bits(weight(a, i), weight(b, i)) == same);
}

START_TEST(layouts_and_callbacks_do_not_matter) {
    struct history h = {0};
    struct task a = task_of(CT_F32, 60, 8), b = task_of(CT_F32, 60, 8);
    ct_tensor *laid = lay_out(b.x, LAYOUT_TRANSPOSED);
    ct_tensor *turned = ct_flip(b.labels, 0), *dense = ct_compact(turned),
              *labels = ct_flip(dense, 0);
    b.rows = (struct ct_rows){laid, labels};
    b.options.on_epoch = note;
    b.options.context = &h;
    fit_ok(&a, NULL);
    fit_ok(&b, &b.rows);
    same_weights(&a, &b, true);
    ct_free(laid);
    ct_free(turned);
    ct_free(dense);
    ct_free(labels);
    free_task(&a);
    free_task(&b);
}
END_TEST

START_TEST(the_seed_decides_the_order_of_rows) {
    struct task a = task_of(CT_F32, 60, 8), b = task_of(CT_F32, 60, 8);
    b.options.seed = a.options.seed + 1;
    fit_ok(&a, NULL);
    fit_ok(&b, NULL);
    same_weights(&a, &b, false);
    free_task(&a);
    free_task(&b);
}
END_TEST

// Two calls of one epoch each both take the first order.
START_TEST(each_epoch_has_its_order) {
    struct task a = task_of(CT_F32, 60, 8), b = task_of(CT_F32, 60, 8);
    a.options.epochs = 2;
    fit_ok(&a, NULL);
    b.options.epochs = 1;
    fit_ok(&b, NULL);
    fit_ok(&b, NULL);
    same_weights(&a, &b, false);
    free_task(&a);
    free_task(&b);
}
END_TEST

static uint64_t digest(const ct_tensor *t, uint64_t hash) {
    const unsigned char *bytes = ct_data(t);
    for (size_t i = 0; i < ct_count(t) * ct_dtype(t)->size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

// Wide enough that products, reductions and steps go to several threads.
static uint64_t train_large(void) {
    struct task t = task_of(CT_F32, 600, 700);
    ct_mlp_free(t.mlp);
    t.mlp = ct_mlp_new(CT_F32, 3, (int64_t[]){2, 700, 300, 3}, CT_TANH, 5);
    t.options.epochs = 2;
    t.options.batch = 256;
    fit_ok(&t, NULL);
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < 6; i++)
        hash = digest(weight(&t, i), hash);
    free_task(&t);
    return hash;
}

// Threads and instruction set freeze at first use: a process for each.
static uint64_t in_process(const char *threads, const char *isa) {
    int ends[2];
    ck_assert(pipe(ends) == 0);
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        setenv("CT_NUM_THREADS", threads, 1);
        if (isa)
            setenv("CT_ISA", isa, 1);
        uint64_t hash = train_large();
        _exit(write(ends[1], &hash, sizeof hash) != sizeof hash);
    }
    uint64_t hash = 0;
    ck_assert(read(ends[0], &hash, sizeof hash) == sizeof hash);
    int status;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
    close(ends[1]);
    return hash;
}

START_TEST(threads_and_instruction_sets_do_not_change_a_bit) {
    static const struct {
        const char *threads, *isa;
    } others[] = {{"2", NULL}, {"3", NULL}, {"1", "scalar"}, {"3", "avx2"}};
    ck_assert(in_process(others[_i].threads, others[_i].isa) == in_process("1", NULL));
}
END_TEST

// ---- memory

START_TEST(a_steady_loop_does_not_allocate) {
    struct history h = {0};
    struct task t = task_of(CT_F32, 150, 8);
    t.options.on_epoch = note;
    t.options.context = &h;
    fit_ok(&t, &t.rows);
    for (int i = 1; i < h.count; i++)
        ck_assert_msg(h.calls[i] == h.calls[0], "epoch %d called the allocator %zu times", i + 1,
                      h.calls[i] - h.calls[0]);
    free_task(&t);
}
END_TEST

// The number of calls after 1 step and after 40 is the same, too.
START_TEST(nothing_is_allocated_after_the_first_step) {
    size_t calls[2];
    for (int k = 0; k < 2; k++) {
        ct_cache_clear();
        size_t before = ct_allocator_calls();
        struct task t = task_of(CT_F32, 160, 8);
        ct_tensor *x = ct_slice(t.x, 0, 0, k ? 160 : 16, 1),
                  *labels = ct_slice(t.labels, 0, 0, k ? 160 : 16, 1);
        t.rows = (struct ct_rows){x, labels};
        t.options.epochs = k ? 4 : 1;
        fit_ok(&t, NULL);
        ck_assert_uint_eq(ct_optim_steps(t.optim), k ? 40 : 1);
        calls[k] = ct_allocator_calls() - before;
        ct_free(x);
        ct_free(labels);
        free_task(&t);
    }
    // The order of 160 rows is one block of another size than that of 16; no other call may be new.
    ck_assert_uint_le(calls[1], calls[0] + 1);
}
END_TEST

START_TEST(without_memory_training_fails_cleanly) {
    if (!make_memory_scarce()) {
        ct_test_skip("the allocator is in use already (CK_FORK=no)");
        return;
    }
    struct history h = {0};
    int failures = 0;
    for (long n = 0;; n++, failures++) {
        h.count = 0;
        struct task t = task_of(CT_F32, 10, 3);
        t.options.epochs = 1;
        t.options.batch = 7;
        t.options.on_epoch = note;
        t.options.context = &h;
        allocations_left = n;
        ct_status status = ct_fit(t.mlp, t.optim, &t.rows, &t.rows, &t.options);
        allocations_left = -1;
        if (status) {
            ck_assert_int_eq(status, CT_ENOMEM);
            expect_error(CT_ENOMEM, "memory");
        }
        free_task(&t);
        ck_assert_uint_eq(ct_live_blocks(), 0);
        if (status == CT_OK)
            break;
    }
    ck_assert_int_gt(failures, 50);
}
END_TEST

// ---- errors

static const struct {
    const char *what;
    ct_status code;
    const char *text;
} bad_fits[] = {
    {"epochs", CT_EDOMAIN, "epochs has to be at least 1, not 0"},
    {"batch", CT_EDOMAIN, "batch has to be at least 1, not -4"},
    {"size", CT_EINVAL, "begin with ct_fit_options_init()"},
    {"features", CT_ESHAPE,
     "the training rows have to be [n, 2] with labels [n], not [30, 1] and [30]"},
    {"labels", CT_ESHAPE, "not [30, 2] and [29]"},
    {"type", CT_EDTYPE, "but the training rows are of f64 and i64"},
    {"label type", CT_EDTYPE, "the training rows are of f32 and f32"},
    {"no rows", CT_EDOMAIN, "there are no training rows"},
    {"label", CT_EINDEX, "the label 3 of training row 29 is not in [0, 3)"},
    {"test", CT_ESHAPE, "the test rows have to be [n, 2]"},
    {"NULL", CT_EINVAL, ""},
};

static void spoil(int k, struct task *t, struct ct_rows *test, ct_tensor *spare[2]) {
    int64_t last = 29;
    switch (k) {
    case 0:
        t->options.epochs = 0;
        break;
    case 1:
        t->options.batch = -4;
        break;
    case 2:
        t->options.size = 0;
        break;
    case 3:
        t->rows.x = spare[0] = ct_slice(t->x, 1, 0, 1, 1);
        break;
    case 4:
        t->rows.labels = spare[0] = ct_slice(t->labels, 0, 0, 29, 1);
        break;
    case 5:
        t->rows.x = spare[0] = ct_astype(t->x, CT_F64);
        break;
    case 6:
        t->rows.labels = spare[0] = ct_astype(t->labels, CT_F32);
        break;
    case 7:
        t->rows.x = spare[0] = ct_slice(t->x, 0, 0, 0, 1);
        t->rows.labels = spare[1] = ct_slice(t->labels, 0, 0, 0, 1);
        break;
    case 8:
        ct_set(t->labels, 1, &last, 3);
        break;
    case 9:
        test->x = spare[0] = ct_slice(t->x, 1, 0, 1, 1);
        break;
    default:
        t->rows.x = NULL;
    }
}

START_TEST(errors_say_what_is_wrong_and_change_nothing) {
    struct task t = task_of(CT_F32, 30, 4);
    struct ct_rows test = t.rows;
    ct_tensor *spare[2] = {NULL}, *before = ct_copy(weight(&t, 0));
    spoil(_i, &t, &test, spare);
    ct_error_clear();
    ck_assert_msg(ct_fit(t.mlp, t.optim, &t.rows, &test, &t.options) == bad_fits[_i].code, "%s: %s",
                  bad_fits[_i].what, ct_error()->message);
    expect_error(bad_fits[_i].code, bad_fits[_i].text);
    ck_assert(same_bits(weight(&t, 0), before) && ct_optim_steps(t.optim) == 0);
    ct_free(before);
    ct_free(spare[0]);
    ct_free(spare[1]);
    free_task(&t);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

// NaN in the rows of one batch: the parameters are those of the step before.
START_TEST(a_loss_that_is_not_finite_stops) {
    struct task t = task_of(CT_F32, 10, 4);
    t.options.batch = 10;
    ct_set(t.x, 2, (int64_t[]){3, 1}, _i ? INF : QNAN);
    ct_tensor *before = ct_copy(weight(&t, 0));
    ck_assert_int_eq(ct_fit(t.mlp, t.optim, &t.rows, NULL, &t.options), CT_EDOMAIN);
    expect_error(CT_EDOMAIN,
                 "the loss is not finite in epoch 1, batch 1: node 4, constant \"x\": ");
    ck_assert(same_bits(weight(&t, 0), before) && ct_optim_steps(t.optim) == 0);
    ct_free(before);
    free_task(&t);
}
END_TEST

static void set_parameter(struct task *t, size_t i, const double *values) {
    const ct_tensor *old = weight(t, i);
    ct_tensor *value = ct_from_doubles(CT_F32, ct_rank(old), ct_shape(old), ct_count(old), values);
    ck_assert_int_eq(ct_params_set(ct_mlp_params(t->mlp), i, value), CT_OK);
    ct_free(value);
}

// A finite loss of a hidden unit whose large weights cancel, and a gradient that overflows.
START_TEST(a_gradient_that_is_not_finite_stops) {
    struct task t = task_of(CT_F32, 10, 1);
    t.options.batch = 10;
    for (int64_t i = 0; i < 10; i++) {
        ct_set(t.labels, 1, &i, 0);
        for (int64_t k = 0; k < 2; k++)
            ct_set(t.x, 2, (int64_t[]){i, k}, 1e20);
    }
    set_parameter(&t, 0, (double[]){0, 0});
    set_parameter(&t, 1, (double[]){1});
    set_parameter(&t, 2, (double[]){1e25, 0, 0});
    set_parameter(&t, 3, (double[]){-1e25, 0, 0});
    ct_tensor *before = ct_copy(weight(&t, 3));
    ck_assert_int_eq(ct_fit(t.mlp, t.optim, &t.rows, NULL, &t.options), CT_EDOMAIN);
    expect_error(CT_EDOMAIN,
                 "epoch 1, batch 1: the gradient of \"layer0.weight\" is not finite; the "
                 "first on the tape that is not: node ");
    expect_error(CT_EDOMAIN,
                 "matmul (backward, of node 5, dense in layer0): -inf at index [0, 0] of "
                 "f32[2, 1], of f32[2, 10] (all 1e20), f32[10, 1] (all -6.667e23)");
    ck_assert(same_bits(weight(&t, 3), before) && ct_optim_steps(t.optim) == 0);
    ct_free(before);
    free_task(&t);
}
END_TEST

START_TEST(the_place_of_a_bad_loss_is_told) {
    struct task t = task_of(CT_F64, 40, 4);
    t.options.batch = 16;
    struct ct_sgd_options o = ct_sgd_options_init();
    o.lr = 1e200; // overflows within a few steps
    ct_optim_free(t.optim);
    t.optim = ct_sgd_new(&o);
    ck_assert_int_eq(ct_fit(t.mlp, t.optim, &t.rows, NULL, &t.options), CT_EDOMAIN);
    uint64_t steps = ct_optim_steps(t.optim);
    char text[80];
    snprintf(text, sizeof text, "in epoch %d, batch %d", (int)(steps / 3) + 1,
             (int)(steps % 3) + 1);
    ck_assert(steps > 0);
    expect_error(CT_EDOMAIN, text);
    free_task(&t);
}
END_TEST

START_TEST(an_odd_rounding_mode_is_refused) {
    struct task t = task_of(CT_F32, 10, 4);
#if defined(__x86_64__)
    unsigned csr = _mm_getcsr();
    _mm_setcsr(_i ? csr | 0x8000 : csr | 0x2000); // flush to zero, or round down
#else
    fesetround(FE_DOWNWARD);
#endif
    ct_status status = ct_fit(t.mlp, t.optim, &t.rows, NULL, &t.options);
#if defined(__x86_64__)
    _mm_setcsr(csr);
#else
    fesetround(FE_TONEAREST);
#endif
    ck_assert_int_eq(status, CT_EINVAL);
    ck_assert_uint_eq(ct_optim_steps(t.optim), 0);
    free_task(&t);
}
END_TEST

// After training the parameters hold no variable of the tape that is gone.
START_TEST(parameters_can_be_used_after_training) {
    struct task t = task_of(CT_F32, 10, 4);
    fit_ok(&t, NULL);
    ck_assert(ct_var_is_null(ct_params_var(ct_mlp_params(t.mlp), 0)));
    ct_tape *tape = ct_tape_new();
    ct_params_record(ct_mlp_params(t.mlp), tape);
    ct_var logits = ct_mlp_apply(t.mlp, ct_constant(tape, t.x, NULL));
    ck_assert_double_ge(ct_accuracy(ct_value(logits), t.labels), 0.3);
    ct_tape_free(tape);
    free_task(&t);
}
END_TEST

// After each test: nothing that the library gave out is left.
static void no_block_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

Suite *suite_fit(void) {
    Suite *s = suite_create("fit");
    TCase *tc = tcase_create("learning");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, training_learns, 0, 2);
    tcase_add_test(tc, a_batch_is_a_step);
    tcase_add_test(tc, the_loss_is_the_mean_over_rows);
    tcase_add_test(tc, the_callback_can_stop);
    tcase_add_test(tc, a_test_set_may_be_empty);
    suite_add_tcase(s, tc);

    tc = tcase_create("same bits");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, layouts_and_callbacks_do_not_matter);
    tcase_add_test(tc, the_seed_decides_the_order_of_rows);
    tcase_add_test(tc, each_epoch_has_its_order);
    tcase_add_loop_test(tc, threads_and_instruction_sets_do_not_change_a_bit, 0, 4);
    suite_add_tcase(s, tc);

    tc = tcase_create("memory");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_test(tc, a_steady_loop_does_not_allocate);
    tcase_add_test(tc, nothing_is_allocated_after_the_first_step);
    tcase_add_test(tc, without_memory_training_fails_cleanly);
    suite_add_tcase(s, tc);

    tc = tcase_create("errors");
    tcase_add_checked_fixture(tc, NULL, no_block_is_left);
    tcase_add_loop_test(tc, errors_say_what_is_wrong_and_change_nothing, 0, COUNT(bad_fits));
    tcase_add_loop_test(tc, a_loss_that_is_not_finite_stops, 0, 2);
    tcase_add_test(tc, a_gradient_that_is_not_finite_stops);
    tcase_add_test(tc, the_place_of_a_bad_loss_is_told);
    tcase_add_loop_test(tc, an_odd_rounding_mode_is_refused, 0, 2);
    tcase_add_test(tc, parameters_can_be_used_after_training);
    suite_add_tcase(s, tc);
    return s;
}
