/* Pictures and listings: their bytes, and what Graphviz reads in them. */
#include "ct_test.h"
#include "dot_tools.h"
#include "tensor_tools.h"

#include "autodiff/ct_var_ops.h"
#include "autodiff/tape_impl.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_random.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_dot(void);

/* --- tapes --- */

static ct_var leaf(ct_tape *tape, const char *name, int rank, const int64_t *shape) {
    ct_random random = ct_random_of(1, 2);
    ct_tensor *value = ct_uniform(&random, CT_F64, rank, shape, -1, 1);
    ct_var v = ct_leaf(tape, value, name);
    ct_free(value);
    return v;
}

/* mean((1 - sigmoid(x W + b))^2) and its gradient, in two nested scopes. (Not tanh: the order in
   which C evaluates two arguments is the compiler's, and so is that of two nodes of its rule.) */
static ct_tape *small_tape(void) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(4, 3)), w = leaf(tape, "W", SHAPE(3, 2)),
           b = leaf(tape, "b", SHAPE(2));
    ct_scope_begin(tape, "network");
    ct_scope_begin(tape, "dense");
    ct_var h = ct_var_sigmoid(ct_var_add(ct_var_matmul(x, w), b));
    ct_scope_end(tape);
    ct_var r = ct_named(ct_var_sub(ct_constant_of(tape, CT_F64, 1), h), "residual");
    ct_scope_end(tape);
    ct_var loss = ct_named(ct_var_mean(ct_var_square(r), CT_ALL, false), "loss");
    ct_var of[] = {w, b}, d[2];
    ck_assert_msg(ct_grad(loss, ct_var_null(), 2, of, d) == CT_OK, "%s", ct_tape_message(tape));
    ct_named(d[0], "dW");
    ct_named(d[1], "db");
    return tape;
}

/* A 64-64-10 classifier's training step. */
static ct_tape *classifier_tape(void) {
    ct_tape *tape = ct_tape_new();
    ct_random random = ct_random_of(3, 4);
    ct_tensor *images = ct_uniform(&random, CT_F32, SHAPE(32, 64), 0, 1);
    ct_tensor *labels = ct_zeros(CT_I64, SHAPE(32));
    ct_tensor *values[] = {
        ct_uniform(&random, CT_F32, SHAPE(64, 64), -1, 1), ct_zeros(CT_F32, SHAPE(64)),
        ct_uniform(&random, CT_F32, SHAPE(64, 10), -1, 1), ct_zeros(CT_F32, SHAPE(10))};
    static const char *const names[] = {"W1", "b1", "W2", "b2"};
    ct_var x = ct_constant(tape, images, "images"), y = ct_constant(tape, labels, "labels");
    ct_var p[4], d[4];
    for (int i = 0; i < 4; i++) {
        p[i] = ct_leaf(tape, values[i], names[i]);
        ct_free(values[i]);
    }
    ct_free(images);
    ct_free(labels);
    ct_scope_begin(tape, "layer 1");
    ct_var h = ct_var_relu(ct_var_add(ct_var_matmul(x, p[0]), p[1]));
    ct_scope_end(tape);
    ct_scope_begin(tape, "layer 2");
    ct_var logits = ct_var_add(ct_var_matmul(h, p[2]), p[3]);
    ct_scope_end(tape);
    ct_var loss = ct_var_cross_entropy(logits, y, CT_REDUCE_MEAN);
    ck_assert_msg(ct_grad(loss, ct_var_null(), 4, p, d) == CT_OK, "%s", ct_tape_message(tape));
    return tape;
}

/* --- bytes --- */

START_TEST(same_tape_same_bytes) {
    ct_tape *a = classifier_tape(), *b = classifier_tape();
    struct text first = draw_tape(a, NULL), again = draw_tape(a, NULL), other = draw_tape(b, NULL);
    ck_assert_str_eq(first.bytes, again.bytes);
    ck_assert_str_eq(first.bytes, other.bytes);
    ck_assert_ptr_null(strstr(first.bytes, "0x"));
    free(first.bytes);
    free(again.bytes);
    free(other.bytes);
    ct_tape_free(a);
    ct_tape_free(b);
}
END_TEST

static const char golden_path[] = "tests/golden/tape_small.dot";

START_TEST(small_tape_is_the_committed_picture) {
    ct_tape *tape = small_tape();
    struct ct_dot_options options = ct_dot_options_init();
    options.title = "a small tape";
    struct text t = draw_tape(tape, &options), golden = {0};
    const char *write = getenv("CT_GOLDEN_WRITE");
    FILE *file = fopen(golden_path, write && *write == '1' ? "w+" : "r");
    ck_assert_msg(file != NULL, "%s cannot be opened", golden_path);
    if (write && *write == '1')
        ck_assert_uint_eq(fwrite(t.bytes, 1, t.length, file), t.length);
    rewind(file);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        add_text(&golden, block, n);
    fclose(file);
    size_t same = 0;
    while (same < t.length && same < golden.length && t.bytes[same] == golden.bytes[same])
        same++;
    ck_assert_msg(golden.bytes && strcmp(t.bytes, golden.bytes) == 0,
                  "%s differs at byte %zu (CT_GOLDEN_WRITE=1 rewrites it); now:\n%.1000s",
                  golden_path, same, t.bytes + same);
    free(golden.bytes);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(locale_does_not_show) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    const char *set = NULL;
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2));
    ct_var_mul(x, ct_constant_of(tape, CT_F64, 0.5));
    struct text before = draw_tape(tape, NULL);
    for (int i = 0; i < COUNT(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    struct text after = draw_tape(tape, NULL);
    setlocale(LC_ALL, "C");
    text_has(&after, 1, "· × 0.5");
    ck_assert_str_eq(before.bytes, after.bytes);
    free(before.bytes);
    free(after.bytes);
    ct_tape_free(tape);
    if (!set)
        ct_test_skip("no locale with a decimal comma");
}
END_TEST

START_TEST(empty_tape_is_a_digraph) {
    ct_tape *tape = ct_tape_new();
    struct text t = draw_tape(tape, NULL), listing = {0};
    ck_assert_int_eq(ct_tape_text(tape, add_text, &listing), CT_OK);
    ck_assert_uint_eq(listing.length, 0);
    text_has(&t, 1, "digraph tape {");
    text_has(&t, 0, "subgraph");
    ck_assert_str_eq(t.bytes + t.length - 2, "}\n");
    if (graphviz_is_here())
        json_decref(read_by_graphviz(&t));
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* --- contents --- */

START_TEST(passes_and_scopes_are_clusters) {
    ct_tape *tape = small_tape();
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "subgraph cluster_forward {");
    text_has(&t, 1, "subgraph cluster_backward {");
    text_has(&t, 1, "subgraph cluster_f0 {\nlabel=\"network\"");
    text_has(&t, 1, "subgraph cluster_f1 {\nlabel=\"dense\"");
    text_has(&t, 1, "subgraph cluster_b1 {\nlabel=\"dense\"");
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        object_named(root, "cluster_forward");
        object_named(root, "cluster_b1");
        dot_shows(root, "cluster_f1", "dense");
        dot_shows(root, "n0", "x\nf64[4, 3]");
        dot_shows(root, "n3", "matmul\nf64[4, 2]");
        json_decref(root);
    }
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* A scope that was left and begun anew is another one; nodes of a scope apart in time are not. */
START_TEST(scopes_are_drawn_once_however_often_they_are_entered) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2));
    ct_scope_begin(tape, "outer");
    ct_var y = ct_var_neg(x);
    ct_scope_begin(tape, "inner");
    y = ct_var_neg(y);
    ct_scope_end(tape);
    y = ct_var_neg(y);
    ct_scope_end(tape);
    y = ct_var_neg(y);
    ct_scope_begin(tape, "outer");
    y = ct_var_neg(y);
    ct_scope_end(tape);
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 2, "label=\"outer\"");
    text_has(&t, 1, "label=\"inner\"");
    text_has(&t, 4, "\n}\n"); // inner, outer, outer and forward
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        ck_assert_uint_eq(
            json_array_size(json_object_get(object_named(root, "cluster_f0"), "nodes")), 3);
        json_decref(root);
    }
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* The deepest nesting costs no more per node than another, and no recursion. */
START_TEST(scopes_nest_deeply) {
    enum { DEPTH = 100000 };
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2));
    for (int i = 0; i < DEPTH; i++)
        ct_scope_begin(tape, "s");
    ct_var y = ct_var_neg(x);
    for (int i = 0; i < 1000; i++)
        y = ct_var_neg(y);
    struct text t = draw_tape(tape, NULL);
    text_has(&t, DEPTH + 1, "subgraph cluster_f"); // and cluster_forward
    ck_assert_int_eq(ct_tape_status(tape), CT_OK);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(a_node_used_twice_has_two_edges) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2));
    ct_var_mul(x, x);
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 2, "n0 -> n1;");
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        ck_assert_uint_eq(json_array_size(json_object_get(root, "edges")), 2);
        json_decref(root);
    }
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(numbers_stand_in_their_users) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2));
    ct_var_sub(ct_constant_of(tape, CT_F64, 1), x);
    ct_var_pow(x, ct_constant_of(tape, CT_F64, 2));
    ct_var_less(x, ct_named(ct_constant_of(tape, CT_F64, 3), "bound"));
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "1 − ·");
    text_has(&t, 1, "</B>(·, 2)");
    text_has(&t, 1, "· &lt; bound");
    text_has(&t, 0, "n1 ");
    text_has(&t, 1, "n0 -> n2;");
    struct ct_dot_options options = ct_dot_options_init();
    options.constants = true;
    struct text drawn = draw_tape(tape, &options);
    text_has(&drawn, 1, "\nn1 [label=<<B>constant</B><BR/>1<BR/>");
    text_has(&drawn, 1, "n1 -> n2;");
    text_has(&drawn, 0, "1 − ·");
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        dot_shows(root, "n2", "sub\n1 − ·\nf64[2]");
        dot_shows(root, "n4", "pow(·, 2)\nf64[2]");
        dot_shows(root, "n6", "less\n· < bound\nbool[2]");
        json_decref(root);
    }
    free(t.bytes);
    free(drawn.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(options_choose_the_parts) {
    ct_tape *tape = small_tape();
    struct ct_dot_options options = ct_dot_options_init();
    options.dtypes = false;
    struct text t = draw_tape(tape, &options);
    text_has(&t, 0, "f64[");
    text_has(&t, 1, ">[4, 3]</FONT>");
    free(t.bytes);
    options = ct_dot_options_init();
    options.shapes = false;
    t = draw_tape(tape, &options);
    text_has(&t, 0, "[4, 2]");
    ck_assert_uint_gt(occurrences(&t, ">f64</FONT>"), 5);
    free(t.bytes);
    options.dtypes = false;
    options.title = "\"title\" \\N";
    t = draw_tape(tape, &options);
    text_has(&t, 0, "f64");
    text_has(&t, 1, "label=\"\\\"title\\\" \\\\N\";");
    if (graphviz_is_here())
        json_decref(read_by_graphviz(&t));
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(max_nodes_says_how_many_are_left_out) {
    ct_tape *tape = small_tape();
    char rest[64];
    for (size_t most = 1; most < 12; most++) {
        struct ct_dot_options options = ct_dot_options_init();
        options.max_nodes = most;
        struct text t = draw_tape(tape, &options);
        text_has(&t, most, " [label=<");
        text_has(&t, 1, " more nodes");
        free(t.bytes);
    }
    struct ct_dot_options options = ct_dot_options_init();
    options.max_nodes = 3;
    struct text t = draw_tape(tape, &options);
    snprintf(rest, sizeof rest, "and %zu more nodes", ct_tape_length(tape) - 3);
    text_has(&t, 1, rest);
    text_has(&t, 0, "->");
    if (graphviz_is_here())
        json_decref(read_by_graphviz(&t));
    free(t.bytes);
    options.max_nodes = ct_tape_length(tape);
    t = draw_tape(tape, &options);
    text_has(&t, 0, "more nodes");
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(tooltips_name_formulas_and_pulls) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2)), d;
    ct_var y = ct_var_tanh(x);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &d), CT_OK);
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "tooltip=\"0 leaf, 16 bytes\"");
    text_has(&t, 1, "tooltip=\"1 tanh(0), 16 bytes\\n");
    text_has(&t, 1, "\\nvalue: TANH(X)\\npull X: SMUL(G, SUB(K(1), SQUARE(Y)))\"");
    ck_assert_ptr_nonnull(strstr(t.bytes, "\\nrecorded by the pull of 1 tanh(0)\""));
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(errors_and_released_values_are_drawn) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2)), z = leaf(tape, "z", SHAPE(3));
    ct_var_exp(x);
    ct_var_add(x, z);
    ck_assert_int_eq(ct_tape_status(tape), CT_ESHAPE);
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "error [shape=note");
    text_has(&t, 1, "n0 -> n2;");
    if (graphviz_is_here())
        json_decref(read_by_graphviz(&t));
    free(t.bytes);
    ct_tape_free(tape);

    tape = ct_tape_new();
    x = leaf(tape, "x", SHAPE(2));
    ct_var_exp(x);
    ck_assert_int_eq(ct_tape_release(tape, 1, &x), CT_OK);
    t = draw_tape(tape, NULL);
    text_has(&t, 1, ">released</FONT>");
    free(t.bytes);
    t = (struct text){0};
    ck_assert_int_eq(ct_tape_text(tape, add_text, &t), CT_OK);
    ck_assert_str_eq(t.bytes, "0 leaf released \"x\"\n1 exp(0) f64[2]\n");
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* A gradient of a gradient, and ops on a gradient: their edges turn no order round. */
START_TEST(second_order_is_drawn) {
    if (!graphviz_is_here())
        return;
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(2)), d, dd;
    ct_var y = ct_var_sum(ct_var_tanh(x), CT_ALL, false);
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &d), CT_OK);
    ct_var penalty = ct_var_add(y, ct_var_sum(ct_var_square(d), CT_ALL, false));
    ck_assert_int_eq(ct_grad(penalty, ct_var_null(), 1, &x, &dd), CT_OK);
    struct text t = draw_tape(tape, NULL);
    json_t *root = read_by_graphviz(&t);
    size_t edges = 0;
    for (size_t i = 0; i < tape->length; i++)
        for (int k = 0; k < tape->nodes[i].inputs; k++) {
            const struct ct__node *input = &tape->nodes[tape->nodes[i].in[k]];
            edges += input->kind != CT__NODE_CONSTANT || ct_rank(input->value) > 0;
        }
    ck_assert_uint_eq(json_array_size(json_object_get(root, "edges")), edges);
    json_decref(root);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* How high above the foot of the page a node stands. */
static double height_of(const json_t *root, size_t index) {
    char name[24];
    double x, y;
    snprintf(name, sizeof name, "n%zu", index);
    const char *place = json_string_value(json_object_get(object_named(root, name), "pos"));
    ck_assert_int_eq(sscanf(place, "%lf,%lf", &x, &y), 2);
    return y;
}

/* Outputs of one item, whose backward pass begins with a product of its seed and a forward value. */
static ct_var narrow_output(int which, ct_var p) {
    ct_var a = ct_var_select(p, 0, 0), b = ct_var_select(p, 0, 1);
    switch (which) {
    case 0:
        return ct_var_sin(ct_var_mul(a, b));
    case 1:
        return ct_var_atan2(a, b);
    case 2:
        return ct_var_mul(a, b);
    default:
        return ct_var_exp(ct_var_sin(a));
    }
}

/* Each backward op that a cotangent comes through stands above the one from which it comes, be the first
   cotangent a number in its users' labels, a drawn one, or a forward value. */
START_TEST(the_backward_pass_climbs_from_any_seed) {
    if (!graphviz_is_here())
        return;
    bool on_way[64] = {false}, given = _i % 3 == 2;
    ct_tape *tape = ct_tape_new();
    ct_var p = leaf(tape, "p", SHAPE(2)), v = leaf(tape, "v", 0, NULL), d;
    ct_var y = narrow_output(_i / 3, p);
    size_t seed = given ? v.index : ct_tape_length(tape), ops = 0;
    ck_assert_int_eq(ct_grad(y, given ? v : ct_var_null(), 1, &p, &d), CT_OK);
    struct ct_dot_options options = ct_dot_options_init();
    options.constants = _i % 3 == 1;
    struct text t = draw_tape(tape, &options);
    json_t *root = read_by_graphviz(&t);
    ck_assert_uint_lt(tape->length, 64);
    on_way[seed] = true;
    for (size_t i = y.index + 1; i < tape->length; i++) {
        const struct ct__node *node = &tape->nodes[i];
        for (int k = 0; node->kind == CT__NODE_OP && k < node->inputs; k++) {
            size_t input = node->in[k];
            if (!on_way[input])
                continue;
            on_way[i] = true;
            if (input == seed)
                continue;
            ck_assert_msg(height_of(root, i) > height_of(root, input), "%zu stands below %zu", i,
                          input);
            ops++;
        }
    }
    ck_assert(on_way[d.index]);
    ck_assert_uint_ge(ops, 2);
    ck_assert_double_gt(height_of(root, p.index), height_of(root, y.index));
    json_decref(root);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* --- escapes --- */

/* The labels of the crafted cases (dot/labels.json), and some that no editor would write; `shown`
   is what Graphviz must show where that is not the label itself. */
static const struct {
    const char *label, *shown;
} labels[] = {
    {"plain", NULL},
    {"say \"hi\"", NULL},
    {"ends with \\", NULL},
    {"a\\\\b", NULL},
    {"\\\" ] injected [color=red", NULL},
    {"line1\nline2", NULL},
    {"{a|b}<c>", NULL},
    {"<lambda> <map>", NULL},
    {"w: (2, 2) float64", NULL},
    {"重み äö 😀", NULL},
    {"\\N \\G \\l", NULL},
    {"\\n \\r \\E \\T \\H \\L", NULL},
    {"", NULL},
    {"&amp; & &#65; &nbsp;", NULL},
    {"</B><BR/>]]>'", NULL},
    {"--> <!-- /* // #", NULL},
    {"%s %n %%", NULL},
    {"a\tb", "a␉b"},
    {"\x01\x1f\x7f", "␁␟␡"},
    {"\r", "␍"},
    {"\xff"
     "a\xc0\xaf\xed\xa0\x80",
     "�a�����"},
    {"cut \xe9\x87", "cut ��"},
    {"\xf4\x90\x80\x80 \xc2\x85 \xef\xbf\xbf", "���� � �"},
};

START_TEST(labels_come_back_unchanged) {
    if (!graphviz_is_here())
        return;
    const char *label = labels[_i].label;
    const char *shown = labels[_i].shown ? labels[_i].shown : label;
    ct_tape *tape = ct_tape_new();
    ct_scope_begin(tape, label);
    ct_var x = leaf(tape, label, SHAPE(2));
    ct_named(ct_var_exp(x), label);
    ct_var_add(x, ct_named(ct_constant_of(tape, CT_F64, 1), label));
    struct ct_dot_options options = ct_dot_options_init();
    options.title = label;
    struct text t = draw_tape(tape, &options);
    json_t *root = read_by_graphviz(&t);
    char want[4096], title[4096];
    snprintf(want, sizeof want, "%s%sf64[2]", shown, *shown ? "\n" : "");
    dot_shows(root, "n0", want);
    snprintf(want, sizeof want, "exp\n%s%sf64[2]", shown, *shown ? "\n" : "");
    dot_shows(root, "n1", want);
    snprintf(want, sizeof want, "add\n· + %s\nf64[2]", *shown ? shown : "1");
    dot_shows(root, "n3", want);
    const char *quoted = strchr(label, '\t') ? label : shown; // tabs are kept outside of nodes
    dot_shows(root, "cluster_f0", quoted);
    shown_text(root, title, sizeof title);
    ck_assert_str_eq(title, quoted);
    json_decref(root);

    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* Neither a name nor a type: Graphviz has no empty text in its tags. */
START_TEST(labels_may_be_empty) {
    if (!graphviz_is_here())
        return;
    ct_tape *tape = ct_tape_new();
    leaf(tape, "", SHAPE(2));
    struct ct_dot_options options = ct_dot_options_init();
    options.shapes = options.dtypes = false;
    struct text t = draw_tape(tape, &options);
    json_t *root = read_by_graphviz(&t);
    dot_shows(root, "n0", "");
    json_decref(root);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* In lines of 4,096 bytes; Graphviz reads pieces of up to 16,383. Many characters need an escape. */
START_TEST(long_labels_come_back_unchanged) {
    static const size_t lengths[] = {3000, 4095, 4096, 4097, 16383, 16384, 50000};
    if (!graphviz_is_here())
        return;
    char *label = malloc(50001), *want = malloc(50100);
    size_t length = lengths[_i];
    for (size_t i = 0; i < length; i++)
        label[i] = "xyz\"<\\&"[i % 7];
    label[length] = '\0';
    ct_tape *tape = ct_tape_new();
    ct_scope_begin(tape, label);
    leaf(tape, label, SHAPE(2));
    struct ct_dot_options options = ct_dot_options_init();
    options.title = label;
    struct text t = draw_tape(tape, &options);
    json_t *root = read_by_graphviz(&t);
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && i % 4096 == 0)
            want[at++] = '\n';
        want[at++] = label[i];
    }
    want[at] = '\0';
    dot_shows(root, "cluster_f0", want);
    strcpy(want + at, "\nf64[2]");
    dot_shows(root, "n0", want);
    json_decref(root);
    free(t.bytes);
    free(label);
    free(want);
    ct_tape_free(tape);
}
END_TEST

START_TEST(classifier_is_accepted) {
    if (!graphviz_is_here())
        return;
    ct_tape *tape = classifier_tape();
    struct text t = draw_tape(tape, NULL);
    json_t *root = read_by_graphviz(&t);
    dot_shows(root, "n0", "images\nf32[32, 64]");
    dot_shows(root, "n13", "cross_entropy mean\nf32[]");
    json_decref(root);
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

/* --- streams --- */

static bool count_bytes(void *context, const char *bytes, size_t length) {
    (void)bytes;
    *(size_t *)context += length;
    return true;
}

START_TEST(a_long_tape_streams) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x", SHAPE(1));
    for (int i = 0; i < 100000; i++)
        x = ct_var_sin(x);
    size_t dot = 0, listing = 0;
    ck_assert_int_eq(ct_tape_dot(tape, NULL, count_bytes, &dot), CT_OK);
    ck_assert_int_eq(ct_tape_text(tape, count_bytes, &listing), CT_OK);
    ck_assert_uint_gt(dot, 100000 * 50);
    ck_assert_uint_gt(listing, 100000 * 15);
    ct_tape_free(tape);
}
END_TEST

START_TEST(a_writer_that_stops_is_an_error) {
    ct_tape *tape = classifier_tape();
    struct text whole = draw_tape(tape, NULL);
    for (size_t limit = 1; limit < whole.length; limit += 1500) {
        struct text t = {.limit = limit};
        ct_error_clear();
        ck_assert_int_eq(ct_tape_dot(tape, NULL, add_text, &t), CT_EIO);
        ck_assert_str_eq(ct_error()->function, "ct_tape_dot");
        ck_assert_uint_le(t.length, limit);
        free(t.bytes);
    }
    free(whole.bytes);
    struct text t = {.limit = 10};
    ck_assert_int_eq(ct_tape_text(tape, add_text, &t), CT_EIO);
    ck_assert_str_eq(ct_error()->function, "ct_tape_text");
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

START_TEST(wrong_arguments_are_errors) {
    struct text t = {0};
    ct_tape *tape = ct_tape_new();
    struct ct_dot_options none = {0};
    ct_error_clear();
    ck_assert_int_eq(ct_tape_dot(NULL, NULL, add_text, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_text(NULL, add_text, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_dot(tape, NULL, NULL, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_text(tape, NULL, &t), CT_EINVAL);
    ck_assert_int_eq(ct_tape_dot(tape, &none, add_text, &t), CT_EINVAL);
    ck_assert_uint_eq(t.length, 0);
    ct_tape_free(tape);
}
END_TEST

START_TEST(listing_is_one_line_a_node) {
    ct_tape *tape = ct_tape_new();
    ct_var x = leaf(tape, "x \"1\"\n\x01\xff", SHAPE(2, 3)), d;
    ct_var y = ct_named(ct_var_mul(x, ct_constant_of(tape, CT_F64, 2.5)), "twice");
    ck_assert_int_eq(ct_grad(y, ct_var_null(), 1, &x, &d), CT_OK);
    struct text t = {0};
    ck_assert_int_eq(ct_tape_text(tape, add_text, &t), CT_OK);
    text_has(&t, 1, "0 leaf f64[2, 3] \"x \\\"1\\\"\\n\\x01\\xff\"\n");
    text_has(&t, 1, "\n1 constant f64[] = 2.5\n");
    text_has(&t, 1, "\n2 mul(0, 1) f64[2, 3] \"twice\"\n");
    ck_assert_ptr_nonnull(strstr(t.bytes, "f64[2, 3] pull of 2\n"));
    text_has(&t, ct_tape_length(tape), "\n");
    free(t.bytes);
    ct_tape_free(tape);
}
END_TEST

static void nothing_is_left(void) {
    ck_assert_uint_eq(ct_live_blocks(), 0);
}

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, NULL, nothing_is_left);
    suite_add_tcase(suite, tc);
    return tc;
}

Suite *suite_dot(void) {
    Suite *suite = suite_create("dot");
    TCase *tc = add_case(suite, "bytes");
    tcase_add_test(tc, same_tape_same_bytes);
    tcase_add_test(tc, small_tape_is_the_committed_picture);
    tcase_add_test(tc, locale_does_not_show);
    tcase_add_test(tc, empty_tape_is_a_digraph);
    tc = add_case(suite, "contents");
    tcase_add_test(tc, passes_and_scopes_are_clusters);
    tcase_add_test(tc, scopes_are_drawn_once_however_often_they_are_entered);
    tcase_add_test(tc, scopes_nest_deeply);
    tcase_add_test(tc, a_node_used_twice_has_two_edges);
    tcase_add_test(tc, numbers_stand_in_their_users);
    tcase_add_test(tc, options_choose_the_parts);
    tcase_add_test(tc, max_nodes_says_how_many_are_left_out);
    tcase_add_test(tc, tooltips_name_formulas_and_pulls);
    tcase_add_test(tc, errors_and_released_values_are_drawn);
    tcase_add_test(tc, second_order_is_drawn);
    tcase_add_loop_test(tc, the_backward_pass_climbs_from_any_seed, 0, 12);
    tc = add_case(suite, "escapes");
    tcase_add_loop_test(tc, labels_come_back_unchanged, 0, COUNT(labels));
    tcase_add_test(tc, labels_may_be_empty);
    tcase_add_loop_test(tc, long_labels_come_back_unchanged, 0, 7);
    tcase_add_test(tc, classifier_is_accepted);
    tc = add_case(suite, "streams");
    tcase_add_test(tc, a_long_tape_streams);
    tcase_add_test(tc, a_writer_that_stops_is_an_error);
    tcase_add_test(tc, wrong_arguments_are_errors);
    tcase_add_test(tc, listing_is_one_line_a_node);
    return suite;
}
