/* Values, gradients and Hessian-vector products against those that PyTorch 1.13.1 gave. The cases
   lie outside the project (CT_CASES); without them the suite says so once and skips. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/ct_network.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "ct_test.h"
#include "dual/ct_dual.h"
#include "golden_json.h"
#include "golden_special.h"
#include "op_oracle.h"

Suite *suite_golden(void);

enum {
    MOST_INPUTS = 4,
    FEWEST_CASES = 260, /* of the file of 317, for which ops exist */
    LINE_BYTES = 1 << 20
};

/* |ours - theirs| <= TOLERANCE max(1, |theirs|): both compute in f64 with a few roundings. */
static const double TOLERANCE = 1e-12;

static json_t *cases;

/* ---- recording a case */

/* One case on a tape: the variables of its inputs and its parameters. */
struct recording {
    const json_t *params;
    const ct_var *x;
};

static int axes_of(const json_t *params, int axes[CT_MAX_RANK]) {
    const json_t *axis = json_object_get(params, "axis");
    if (!json_is_array(axis)) {
        axes[0] = axis ? (int)json_integer_value(axis) : CT_ALL;
        return 1;
    }
    for (size_t i = 0; i < json_array_size(axis); i++)
        axes[i] = (int)json_integer_value(json_array_get(axis, i));
    return (int)json_array_size(axis);
}

#define REDUCTION(name)                                                                            \
    static ct_var record_##name(const struct recording *r) {                                       \
        int axes[CT_MAX_RANK], n = axes_of(r->params, axes);                                       \
        return ct_var_##name##_axes(r->x[0], n, axes, golden_int(r->params, "keepdims"));          \
    }
REDUCTION(sum)
REDUCTION(max)
REDUCTION(min)

static ct_var record_mean(const struct recording *r) {
    int axes[CT_MAX_RANK];
    axes_of(r->params, axes);
    return ct_var_mean(r->x[0], axes[0], golden_int(r->params, "keepdims"));
}

/* Along several axes it is the same as along one after the other, the last first. */
static ct_var record_logsumexp(const struct recording *r) {
    int axes[CT_MAX_RANK], n = axes_of(r->params, axes);
    ct_var y = r->x[0];
    while (n-- > 0)
        y = ct_var_logsumexp(y, axes[n], golden_int(r->params, "keepdims"));
    return y;
}

static ct_var record_softmax(const struct recording *r) {
    return ct_var_softmax(r->x[0], golden_int(r->params, "axis"));
}

static ct_var record_log_softmax(const struct recording *r) {
    return ct_var_log_softmax(r->x[0], golden_int(r->params, "axis"));
}

static ct_var record_matmul(const struct recording *r) {
    return ct_var_matmul(r->x[0], r->x[1]);
}

static ct_var record_dense(const struct recording *r) {
    return ct_var_relu(ct_var_add(ct_var_matmul(r->x[0], r->x[1]), r->x[2]));
}

static enum ct_reduction reduction_of(const json_t *params) {
    const char *name = json_string_value(json_object_get(params, "reduction"));
    return strcmp(name, "mean") == 0  ? CT_REDUCE_MEAN
           : strcmp(name, "sum") == 0 ? CT_REDUCE_SUM
                                      : CT_REDUCE_NONE;
}

static ct_var record_mse(const struct recording *r) {
    return ct_var_mse(r->x[0], r->x[1], reduction_of(r->params));
}

static ct_var record_cross_entropy(const struct recording *r) {
    return ct_var_cross_entropy(r->x[0], r->x[1], reduction_of(r->params));
}

static ct_var record_prod(const struct recording *r) {
    int axes[CT_MAX_RANK], n = axes_of(r->params, axes);
    return ct_var_prod_axes(r->x[0], n, axes, golden_int(r->params, "keepdims"));
}

static ct_var record_variance(const struct recording *r) {
    return ct_var_variance(r->x[0], golden_int(r->params, "axis"),
                           golden_int(r->params, "correction"), false);
}

static ct_var record_std(const struct recording *r) {
    return ct_var_std(r->x[0], golden_int(r->params, "axis"), golden_int(r->params, "correction"),
                      false);
}

static ct_var record_cumsum(const struct recording *r) {
    return ct_var_cumsum(r->x[0], golden_int(r->params, "axis"));
}

static ct_var record_cumprod(const struct recording *r) {
    return ct_var_cumprod(r->x[0], golden_int(r->params, "axis"));
}

static ct_var record_gather(const struct recording *r) {
    return ct_var_gather(r->x[0], golden_int(r->params, "axis"), r->x[1]);
}

static ct_var record_take(const struct recording *r) {
    return ct_var_take(r->x[0], golden_int(r->params, "axis"), r->x[1]);
}

static ct_var record_scatter_add(const struct recording *r) {
    return ct_var_scatter_add(r->x[0], golden_int(r->params, "axis"), r->x[1], r->x[2]);
}

static ct_var record_cumsum_from_the_end(const struct recording *r) {
    return ct_var_cumsum(ct_var_flip(r->x[0], 0), 0);
}

static ct_var record_window_products(const struct recording *r) {
    return ct_var_prod(ct_var_unfold(r->x[0], 0, 3, 1), -1, false);
}

static ct_var record_concat(const struct recording *r) {
    ct_var two = ct_constant_of(r->x[0].tape, ct_dtype(ct_value(r->x[0])), 2);
    ct_var parts[] = {r->x[0], r->x[0], ct_var_mul(two, r->x[0])};
    return ct_var_concat(3, parts, 0);
}

static ct_var record_conv2d(const struct recording *r) {
    struct ct_window w = {.groups = 1};
    for (int s = 0; s < 2; s++) {
        w.stride[s] = golden_int(r->params, "stride");
        w.before[s] = w.after[s] = golden_int(r->params, "pad");
        w.dilation[s] = golden_int(r->params, "dilation");
    }
    return ct_var_conv(r->x[0], r->x[1], r->x[2], &w);
}

static ct_var record_maxpool2d(const struct recording *r) {
    int64_t kernel = golden_int(r->params, "kernel");
    struct ct_window w = {.groups = 1};
    for (int s = 0; s < 2; s++) {
        w.stride[s] = golden_int(r->params, "stride");
        w.before[s] = w.after[s] = golden_int(r->params, "pad");
    }
    return ct_var_max_pool(r->x[0], (int64_t[]){kernel, kernel}, &w);
}

static ct_var record_bce(const struct recording *r) {
    return ct_var_bce_with_logits(r->x[0], r->x[1], reduction_of(r->params));
}

static ct_var record_huber(const struct recording *r) {
    double delta = json_number_value(json_object_get(r->params, "delta"));
    return ct_var_huber(r->x[0], r->x[1], delta, reduction_of(r->params));
}

static ct_var record_layer_norm(const struct recording *r) {
    double eps = json_number_value(json_object_get(r->params, "eps"));
    return ct_var_layer_norm(r->x[0], golden_int(r->params, "axis"), r->x[1], r->x[2], eps);
}

static ct_var record_leaky_relu(const struct recording *r) {
    return ct_var_leaky_relu(r->x[0],
                             ct_constant_of(r->x[0].tape, ct_dtype(ct_value(r->x[0])), 0.01));
}

static ct_var record_expand_mul(const struct recording *r) {
    return ct_var_mul(ct_var_broadcast_to(r->x[0], 2, (int64_t[]){4, 3}), r->x[1]);
}

static ct_var record_self_broadcast(const struct recording *r) {
    return ct_var_mul(ct_var_expand_dims(r->x[0], 1), ct_var_expand_dims(r->x[0], 0));
}

static const struct {
    const char *op;
    ct_var (*record)(const struct recording *r);
} recorders[] = {
    {"sum", record_sum},
    {"mean", record_mean},
    {"amax", record_max},
    {"amin", record_min},
    {"logsumexp", record_logsumexp},
    {"softmax", record_softmax},
    {"log_softmax", record_log_softmax},
    {"matmul", record_matmul},
    {"dense", record_dense},
    {"mse", record_mse},
    {"cross_entropy", record_cross_entropy},
    {"layer_norm", record_layer_norm},
    {"leaky_relu", record_leaky_relu},
    {"conv2d", record_conv2d},
    {"maxpool2d", record_maxpool2d},
    {"bce_with_logits", record_bce},
    {"huber", record_huber},
    {"prod", record_prod},
    {"var", record_variance},
    {"std", record_std},
    {"cumsum", record_cumsum},
    {"cumprod", record_cumprod},
    {"gather", record_gather},
    {"take", record_take},
    {"scatter_add", record_scatter_add},
    {"expr: cumsum(flip(x,0),0)", record_cumsum_from_the_end},
    {"expr: sliding windows of 3 over x, product over the window", record_window_products},
    {"expr: concat(x,x,2*x)", record_concat},
    {"expr: expand(x,(4,3)) * y", record_expand_mul},
    {"expr: x[:,None]*x[None,:]", record_self_broadcast},
};

/* Elementwise rows go by their own names, but for one. */
static enum ct_op row_of(const char *op) {
    enum ct_op row = ct_op_by_name(strcmp(op, "logsigmoid") == 0 ? "log_sigmoid" : op);
    return row < CT_OP_COUNT && op_oracle(row)->arity > 0 ? row : CT_OP_COUNT;
}

static const char *op_of(const json_t *one) {
    return json_string_value(json_object_get(one, "op"));
}

static bool is_known(const char *op) {
    for (size_t i = 0; i < COUNT(recorders); i++) {
        if (strcmp(recorders[i].op, op) == 0)
            return true;
    }
    return row_of(op) < CT_OP_COUNT;
}

static ct_var record(const json_t *one, const ct_var *x) {
    const char *op = op_of(one);
    struct recording r = {json_object_get(one, "params"), x};
    for (size_t i = 0; i < COUNT(recorders); i++) {
        if (strcmp(recorders[i].op, op) == 0)
            return recorders[i].record(&r);
    }
    return op_oracle(row_of(op))->record(x);
}

/* ---- checking a case */

/* Inputs as leaves, or as constants where they are labels or masks. */
struct inputs {
    size_t count, leaves;
    ct_var x[MOST_INPUTS], leaf[MOST_INPUTS];
};

/* With a direction, the leaves are duals whose tangents it gives. */
static void put_inputs(struct inputs *in, ct_tape *tape, const json_t *one,
                       const json_t *direction) {
    const json_t *list = json_object_get(one, "inputs");
    in->count = json_array_size(list);
    in->leaves = 0;
    ck_assert_uint_le(in->count, MOST_INPUTS);
    for (size_t i = 0; i < in->count; i++) {
        ct_tensor *t = golden_tensor(json_array_get(list, i));
        bool real = ct_dtype(t) == CT_F64;
        if (real && direction) {
            ct_tensor *tangent = golden_tensor(json_array_get(direction, in->leaves));
            ct_tensor *dual = ct_dual(t, tangent);
            ct_free(tangent);
            ct_free(t);
            t = dual;
        }
        in->x[i] = real ? ct_leaf(tape, t, "x") : ct_constant(tape, t, "c");
        if (real)
            in->leaf[in->leaves++] = in->x[i];
        ct_free(t);
    }
}

static ct_var put_cotangent(ct_tape *tape, const json_t *one, bool dual) {
    ct_tensor *g = golden_tensor(json_object_get(one, "cotangent"));
    ct_tensor *lifted = dual ? ct_dual(g, NULL) : ct_copy(g);
    ct_var v = ct_constant(tape, lifted, "g");
    ct_free(g);
    ct_free(lifted);
    return v;
}

static void check_status(const char *name, const ct_tape *tape) {
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s: %s", name, ct_tape_message(tape));
}

/* The gradient of <gradient, direction>, recorded on the tape that holds the gradient. */
static void check_second_by_tape(const char *name, const json_t *one, struct inputs *in,
                                 const ct_var *dx) {
    ct_tape *tape = in->x[0].tape;
    const json_t *direction = json_object_get(one, "hvp_v"),
                 *expected = json_object_get(one, "hvp");
    ct_var total = ct_constant_of(tape, CT_F64, 0), second[MOST_INPUTS];
    for (size_t i = 0; i < in->leaves; i++) {
        ct_tensor *v = golden_tensor(json_array_get(direction, i));
        ct_var product = ct_var_mul(dx[i], ct_constant(tape, v, "v"));
        total = ct_var_add(total, ct_var_sum(product, CT_ALL, false));
        ct_free(v);
    }
    ct_grad(total, ct_var_null(), in->leaves, in->leaf, second);
    check_status(name, tape);
    for (size_t i = 0; i < in->leaves; i++)
        golden_expect("second order by tape over tape", ct_value(second[i]),
                      json_array_get(expected, i), TOLERANCE);
}

/* The tangent of the gradient along the direction: the same tape over duals. */
static void check_second_by_dual(const char *name, const json_t *one) {
    const json_t *expected = json_object_get(one, "hvp");
    ct_tape *tape = ct_tape_new();
    struct inputs in;
    ct_var dx[MOST_INPUTS];
    put_inputs(&in, tape, one, json_object_get(one, "hvp_v"));
    ct_grad(record(one, in.x), put_cotangent(tape, one, true), in.leaves, in.leaf, dx);
    check_status(name, tape);
    for (size_t i = 0; i < in.leaves; i++) {
        ct_tensor *tangent = ct_dual_tangent(ct_value(dx[i]));
        golden_expect("second order by duals", tangent, json_array_get(expected, i), TOLERANCE);
        ct_free(tangent);
    }
    ct_tape_free(tape);
}

/* PyTorch has NaN for the mean of nothing, which is an error here. */
static bool is_mean_of_nothing(const json_t *one) {
    const json_t *input = json_array_get(json_object_get(one, "inputs"), 0);
    int axis = golden_int(json_object_get(one, "params"), "axis");
    size_t count = json_array_size(json_object_get(json_object_get(one, "output"), "data"));
    const json_t *extent = json_array_get(json_object_get(input, "shape"), (size_t)axis);
    return strcmp(op_of(one), "mean") == 0 && axis >= 0 && json_integer_value(extent) == 0 &&
           count > 0;
}

static void check_case(const json_t *one) {
    const char *name = json_string_value(json_object_get(one, "name"));
    const json_t *expected = json_object_get(one, "vjp");
    ct_tape *tape = ct_tape_new();
    struct inputs in;
    ct_var dx[MOST_INPUTS];
    put_inputs(&in, tape, one, NULL);
    ct_var y = record(one, in.x);
    if (is_mean_of_nothing(one)) {
        ck_assert_msg(ct_tape_status(tape) != CT_OK, "%s: no error", name);
        ck_assert_msg(strstr(ct_tape_message(tape), "of extent 0"), "%s: %s", name,
                      ct_tape_message(tape));
        ct_tape_free(tape);
        return;
    }
    check_status(name, tape);
    golden_expect(name, ct_value(y), json_object_get(one, "output"), TOLERANCE);
    ct_grad(y, put_cotangent(tape, one, false), in.leaves, in.leaf, dx);
    check_status(name, tape);
    ck_assert_uint_eq(json_array_size(expected), in.leaves);
    for (size_t i = 0; i < in.leaves; i++)
        golden_expect(name, ct_value(dx[i]), json_array_get(expected, i), TOLERANCE);
    if (json_object_get(one, "hvp")) {
        check_second_by_tape(name, one, &in, dx);
        check_second_by_dual(name, one);
    }
    ct_tape_free(tape);
}

START_TEST(case_agrees) {
    const json_t *one = json_array_get(cases, (size_t)_i);
    if (is_known(op_of(one)))
        check_case(one);
}
END_TEST

/* ---- all of them */

/* Lines of JSON, through gzip: a compressed stream needs no library for this. */
static void read_cases(void) {
    char name[PATH_MAX], command[PATH_MAX + 32];
    json_decref(cases);
    cases = json_array();
    snprintf(name, sizeof name, "%s/golden/golden_ops.jsonl.gz", golden_cases());
    FILE *file = fopen(name, "rb");
    if (!file)
        return;
    fclose(file);
    snprintf(command, sizeof command, "gzip -dc '%s'", name);
    FILE *lines = popen(command, "r");
    char *line = malloc(LINE_BYTES);
    while (lines && line && fgets(line, LINE_BYTES, lines)) {
        json_t *one = json_loads(line, 0, NULL);
        if (one)
            json_array_append_new(cases, one);
    }
    free(line);
    if (lines)
        pclose(lines);
}

/* Says how many cases run and which ops are missing; returns how many run. */
static size_t report_cases(void) {
    size_t runs = 0, all = json_array_size(cases);
    char out[4096] = "";
    for (size_t i = 0; i < all; i++) {
        const char *op = op_of(json_array_get(cases, i));
        if (is_known(op))
            runs++;
        else if (!strstr(out, op) && strlen(out) + strlen(op) + 3 < sizeof out)
            strcat(strcat(out, *out ? ", " : ""), op);
    }
    printf("    golden: %zu of %zu cases ran; ops out: %s\n", runs, all, *out ? out : "none");
    return runs;
}

START_TEST(enough_cases_ran) {
    ck_assert_uint_ge(report_cases(), FEWEST_CASES);
    fflush(stdout);
}
END_TEST

static bool is_here(const char *file) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/golden/%s", golden_cases(), file);
    return access(name, R_OK) == 0;
}

/* One line and one skip for all that is missing. */
START_TEST(cases_are_here) {
    char text[PATH_MAX + 64];
    if (is_here("golden_ops.jsonl.gz") && is_here("special_points.json")) {
        ck_assert_uint_gt(json_array_size(cases), 0);
        return;
    }
    snprintf(text, sizeof text, "no cases in the folder %s; CT_CASES names another",
             golden_cases());
    ct_test_skip(text);
}
END_TEST

Suite *suite_golden(void) {
    Suite *suite = suite_create("golden");
    TCase *tc = tcase_create("ops");
    suite_add_tcase(suite, tc);
    read_cases();
    int all = (int)json_array_size(cases);
    tcase_add_test(tc, cases_are_here);
    tcase_add_loop_test(tc, case_agrees, 0, all);
    if (all)
        tcase_add_test(tc, enough_cases_ran);
    add_special_points(suite);
    return suite;
}
