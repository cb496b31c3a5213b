/* Pictures with folded scopes, with what is not finite, with crafted labels, of huge tapes. */
#include "dot_tools.h"
#include "golden_json.h"
#include "scarce_memory.h"

#include "autodiff/ct_var_ops.h"
#include "autodiff/label.h"
#include "dual/ct_dual.h"
#include "tape_fixture.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_pictures(void);

static ct_var drawn(uint64_t seed, int rank, const int64_t *shape, const char *name) {
    struct draw draw = {seed};
    return named_leaf(draw_tensor(&draw, CT_F64, rank, shape, -1, 1), name);
}
#define DRAWN(seed, name, ...)                                                                     \
    drawn(seed, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}, name)

/* Two layers in scopes within a scope, a loss in one, its gradient for all weights. */
static ct_var two_layers(void) {
    ct_var x = DRAWN(1, "x", 4, 3), w1 = DRAWN(2, "w1", 3, 5), w2 = DRAWN(3, "w2", 5, 2), d[2];
    ct_scope_begin(tape, "model");
    ct_scope_begin(tape, "layer");
    x = ct_var_tanh(ct_var_matmul(x, w1));
    ct_scope_end(tape);
    ct_scope_begin(tape, "layer");
    x = ct_var_tanh(ct_var_matmul(x, w2));
    ct_scope_end(tape);
    ct_scope_end(tape);
    ct_scope_begin(tape, "loss");
    ct_var loss = ct_var_mean(ct_var_square(x), CT_ALL, false);
    ct_scope_end(tape);
    ct_grad(loss, ct_var_null(), 2, (ct_var[]){w1, w2}, d);
    return loss;
}

/* --- folds --- */

/* Where a node must be drawn: the first scope from the outside that is `depth` deep or of the name. */
static void expected_end(size_t index, uint32_t depth, const char *name, char end[24]) {
    const struct ct__node *node = &tape->nodes[index];
    uint32_t scope = node->scope, path[16], n = 0;
    if (node->backward && scope == CT__NO_NODE)
        scope = tape->nodes[node->primal].scope;
    for (uint32_t s = scope; s != CT__NO_NODE; s = tape->scopes[s].parent)
        path[n++] = s;
    snprintf(end, 24, "n%zu", index);
    for (uint32_t level = 1; level <= n; level++) {
        uint32_t at = path[n - level];
        bool named = name && strcmp(tape->text + tape->scopes[at].name, name) == 0;
        if (level == depth || named) {
            snprintf(end, 24, "%c%u", node->backward ? 'b' : 'f', at);
            return;
        }
    }
}

static bool is_number(size_t index) {
    return ct__is_number(&tape->nodes[index]);
}

/* Every edge of the tape is in the picture, in one direction or the other; none is drawn within a fold. */
static void edges_are_kept(const struct text *t, uint32_t depth, const char *name) {
    for (size_t i = 0; i < ct_tape_length(tape); i++)
        for (int k = 0; k < tape->nodes[i].inputs; k++) {
            char from[24], to[24], down[64], up[64];
            size_t input = tape->nodes[i].in[k];
            if (is_number(input))
                continue;
            expected_end(input, depth, name, from);
            expected_end(i, depth, name, to);
            snprintf(down, sizeof down, "\n%s -> %s", from, to);
            snprintf(up, sizeof up, "\n%s -> %s", to, from);
            size_t found = occurrences(t, down) + occurrences(t, up);
            bool inside = strcmp(from, to) == 0;
            ck_assert_msg(inside ? found == 0 : found >= 1, "%zu edges from %s to %s in\n%s", found,
                          from, to, t->bytes);
            if (!inside && (from[0] != 'n' || to[0] != 'n'))
                text_has(t, 1, strstr(t->bytes, down) ? down : up);
        }
}

START_TEST(a_folded_scope_is_one_node_with_all_its_edges) {
    two_layers();
    for (int depth = 1; depth <= 3; depth++) {
        struct ct_dot_options options = ct_dot_options_init();
        options.fold_depth = depth;
        struct text t = draw_tape(tape, &options);
        edges_are_kept(&t, (uint32_t)depth, NULL);
        text_has(&t, depth == 1 ? 4 : depth == 2 ? 4 : 0, "peripheries=2");
        text_has(&t, depth == 3 ? 4 : 0, "label=\"layer\""); /* as clusters, two a side */
        free(t.bytes);
    }
}
END_TEST

START_TEST(scopes_fold_by_name) {
    two_layers();
    static const char *const names[] = {NULL, "loss", "nothing"};
    struct ct_dot_options options = ct_dot_options_init();
    options.fold_names = names;
    options.fold_count = COUNT(names);
    struct text t = draw_tape(tape, &options);
    edges_are_kept(&t, 0, "loss");
    text_has(&t, 2, "peripheries=2");
    free(t.bytes);
    options.fold_names = (const char *const[]){"layer"};
    options.fold_count = 1;
    t = draw_tape(tape, &options);
    edges_are_kept(&t, 0, "layer");
    text_has(&t, 4, "peripheries=2");
    free(t.bytes);
}
END_TEST

START_TEST(graphviz_reads_folds) {
    if (!graphviz_is_here())
        return;
    two_layers();
    struct ct_dot_options options = ct_dot_options_init();
    options.fold_depth = 2;
    struct text t = draw_tape(tape, &options);
    json_t *root = read_by_graphviz(&t);
    dot_shows(root, "f1", "layer\n2 nodes\nf64[4, 5]");
    dot_shows(root, "f2", "layer\n2 nodes\nf64[4, 2]");
    dot_shows(root, "cluster_f0", "model");
    ck_assert_uint_eq(json_array_size(json_object_get(object_named(root, "cluster_f0"), "nodes")),
                      2);
    json_decref(root);
    free(t.bytes);
}
END_TEST

START_TEST(folds_count_as_one_among_max_nodes) {
    two_layers();
    for (size_t most = 1; most < 7; most++) {
        struct ct_dot_options options = ct_dot_options_init();
        options.fold_depth = 1;
        options.max_nodes = most;
        struct text t = draw_tape(tape, &options);
        text_has(&t, most, " [label=<");
        text_has(&t, 1, " more nodes");
        free(t.bytes);
    }
}
END_TEST

START_TEST(wrong_folds_are_errors) {
    struct ct_dot_options options = ct_dot_options_init();
    struct text t = {0};
    options.fold_count = 1;
    ct_error_clear();
    ck_assert_int_eq(ct_tape_dot(tape, &options, add_text, &t), CT_EINVAL);
    ck_assert_uint_eq(t.length, 0);
    options.fold_count = 0;
    options.fold_depth = INT_MIN;
    ck_assert_int_eq(ct_tape_dot(tape, &options, add_text, &t), CT_OK);
    free(t.bytes);
    ct_error_clear();
}
END_TEST

/* A name of a scope is escaped in a fold's label and tooltip, and may be empty. */
START_TEST(names_of_folds_come_back) {
    static const char *const names[] = {"", "say \"hi\" \\N <b> & {x|y}\nnext", "重み"};
    if (!graphviz_is_here())
        return;
    for (size_t i = 0; i < COUNT(names); i++) {
        ct_mark mark = ct_tape_mark(tape);
        ct_scope_begin(tape, names[i]);
        ct_var_exp(DRAWN(1, "x", 2));
        ct_scope_end(tape);
        struct ct_dot_options options = ct_dot_options_init();
        options.fold_depth = 1;
        struct text t = draw_tape(tape, &options);
        json_t *root = read_by_graphviz(&t);
        char want[256];
        snprintf(want, sizeof want, "%s%s2 nodes\nf64[2]", names[i], *names[i] ? "\n" : "");
        dot_shows(root, "f0", want);
        json_decref(root);
        free(t.bytes);
        ct_tape_rewind(tape, mark);
    }
}
END_TEST

/* --- what is not finite --- */

/* x, floor = relu(x), log of it, and on to a loss; beside it what stays sound. */
static ct_var poisoned(void) {
    ct_var x = named_leaf(T1(2, -1, 3), "x");
    ct_scope_begin(tape, "head");
    ct_var floored = ct_named(ct_var_relu(x), "floored");
    ct_var logs = ct_named(ct_var_log(floored), "logs");
    ct_scope_end(tape);
    ct_var sound = ct_named(ct_var_exp(x), "sound");
    ct_var sum = ct_named(ct_var_mul(logs, sound), "both");
    return ct_named(ct_var_sum(sum, CT_ALL, false), "loss");
}

START_TEST(faults_are_red_from_where_they_arise) {
    poisoned();
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "\nn2 [label=<<B>log</B><BR/><I>logs</I>");
    text_has(&t, 1,
             "1 infinite of 3</FONT>>, color=\"#c53030\", fillcolor=\"#fed7d7\", penwidth=\"3\"");
    text_has(&t, 2, "fillcolor=\"#fff0f0\"");                      /* both, loss */
    text_has(&t, 1, "style=\"filled,dashed\", color=\"#c53030\""); /* floored */
    text_has(&t, 1, "n1 -> n2 [color=\"#c53030\", penwidth=1.4, style=dashed];");
    text_has(&t, 1, "n2 -> n4 [color=\"#c53030\", penwidth=2.4];");
    text_has(&t, 1, "n4 -> n5 [color=\"#c53030\", penwidth=2.4];");
    text_has(&t, 1, "n0 -> n3;");
    text_has(&t, 1, "n3 -> n4;");
    text_has(&t, 1, "first_fault -> n2 ");
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        dot_shows(root, "first_fault",
                  "the first that is not finite\n"
                  "node 2, log \"logs\" in head: -inf at index [1] of\n"
                  "f64[3], of 0");
        dot_shows(root, "n2", "log\nlogs\nf64[3]\n1 infinite of 3");
        json_decref(root);
    }
    free(t.bytes);
    struct ct_dot_options options = ct_dot_options_init();
    options.faults = false;
    t = draw_tape(tape, &options);
    text_has(&t, 0, "#c53030");
    free(t.bytes);
    lists(tape, NULL, "\"logs\" in head NOT FINITE first: 1 infinite of 3\n");
    lists(tape, NULL, "\"both\" NOT FINITE: 1 infinite of 3\n");
    lists(tape, NULL, "\"loss\" NOT FINITE: infinite\n");
    lists(tape, NULL, "\"sound\"\n");
}
END_TEST

/* A line ends at a space, though not in an index or a shape; a bracket in a name is none. */
START_TEST(notes_are_not_broken_within_an_index) {
    for (int length = 1; length < 40; length++) {
        char name[48] = "a[", message[1024];
        for (int i = 0; i < length; i++)
            strcat(name, "b");
        ct_mark mark = ct_tape_mark(tape);
        struct draw draw = {1};
        ct_tensor *value = draw_tensor(&draw, CT_F64, 4, (int64_t[]){2, 3, 1, 2}, 2, 3);
        ((double *)ct_data_for_write(value))[9] = -1;
        ct_named(ct_var_log(named_leaf(value, "x")), name);
        struct text t = draw_tape(tape, NULL);
        const char *note = strstr(t.bytes, "first_fault [");
        ck_assert_ptr_nonnull(note);
        snprintf(message, sizeof message, "%.*s", (int)strcspn(note, ";"), note);
        ck_assert_msg(strstr(message, "[1, 1, 0, 1]") && strstr(message, "[2, 3, 1, 2]"), "%s",
                      message);
        ck_assert_msg(strstr(strstr(message, "finite\\n") + 8, "\\n") != NULL, "one line: %s",
                      message);
        free(t.bytes);
        ct_tape_rewind(tape, mark);
    }
}
END_TEST

START_TEST(faults_of_inputs_of_tangents_and_of_the_backward_pass) {
    ct_mark mark = ct_tape_mark(tape);
    ct_var_exp(named_leaf(T1(1, QNAN), "data"));
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1,
             "style=\"rounded,filled\", color=\"#c53030\", fillcolor=\"#fed7d7\", penwidth=\"3\"");
    text_has(&t, 1, "n0 -> n1 [color=\"#c53030\"");
    free(t.bytes);
    ct_tape_rewind(tape, mark);

    ct_tensor *value = T1(1, 4), *tangent = T1(1, INF), *dual = ct_dual(value, tangent);
    ct_free(value), ct_free(tangent);
    named_leaf(dual, "d");
    lists(tape, NULL, "\"d\" NOT FINITE first: a tangent is not finite\n");
    ct_tape_rewind(tape, mark);

    ct_var x = named_leaf(T1(0, 1), "x"), y = ct_var_sum(ct_var_sqrt(x), CT_ALL, false), dx;
    ct_grad(y, ct_var_null(), 1, &x, &dx);
    t = draw_tape(tape, NULL);
    text_has(&t, 1, "first_fault -> ");
    text_has(&t, 1, "(backward, of node 1,");
    free(t.bytes);
}
END_TEST

/* A number that is NaN is drawn as a node, or its note would hang on nothing; an infinite one is meant. */
START_TEST(numbers_at_fault_are_drawn) {
    ct_var x = named_leaf(T1(1, 2), "x");
    ct_var_mul(x, ct_constant_of(tape, CT_F64, QNAN));
    struct text t = draw_tape(tape, NULL);
    text_has(&t, 1, "\nn1 [label=<<B>constant</B><BR/>nan<BR/>");
    text_has(&t, 1, "n1 -> n2 [color=");
    text_has(&t, 1, "first_fault -> n1 ");
    if (graphviz_is_here()) {
        json_t *root = read_by_graphviz(&t);
        ck_assert_uint_eq(json_array_size(json_object_get(root, "edges")), 3);
        json_decref(root);
    }
    free(t.bytes);
    ct_tape_rewind(tape, (ct_mark){0});
    x = named_leaf(T1(1, 2), "x");
    ct_var_minimum(ct_var_maximum(x, ct_constant_of(tape, CT_F64, -INF)),
                   ct_constant_of(tape, CT_F64, INF));
    ct_var_maximum(x, ct_constant_of(tape, CT_F64, INF));
    t = draw_tape(tape, NULL);
    text_has(&t, 0, "#c53030");
    free(t.bytes);
    t = list_tape(tape, NULL);
    text_has(&t, 0, "NOT FINITE");
    free(t.bytes);
}
END_TEST

START_TEST(folded_scopes_show_the_faults_in_them) {
    poisoned();
    struct ct_dot_options options = ct_dot_options_init();
    options.fold_depth = 1;
    options.values = options.legend = true;
    options.title = "<poisoned>";
    struct text t = draw_tape(tape, &options);
    text_has(&t, 1, "\nf0 [label=<<B>head</B>");
    text_has(&t, 1, "f0 -> n4 [color=\"#c53030\", penwidth=2.4];");
    text_has(&t, 1, "n0 -> f0;");
    text_has(&t, 1, "first_fault -> f0 ");
    text_has(&t, 1, "label=<&lt;poisoned&gt;<BR ALIGN=\"LEFT\"/>");
    text_has(&t, 1, "red: not finite");
    if (graphviz_is_here())
        json_decref(read_by_graphviz(&t));
    free(t.bytes);
}
END_TEST

/* --- the crafted labels --- */

/* Without line breaks, of which a long label gets more, and tabs, for which Graphviz's nodes show `␉`. */
static void join_lines(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++)
        if (strncmp(from, "␉", 3) == 0)
            from += 2;
        else if (*from != '\n' && *from != '\t')
            *to++ = *from;
    *to = '\0';
}

static void shows_joined(const json_t *root, const char *object, const char *before,
                         const char *label, const char *after) {
    static char text[65536], want[65536];
    shown_text(object ? object_named(root, object) : root, text, sizeof text);
    snprintf(want, sizeof want, "%s%s%s", before, label, after);
    join_lines(text);
    join_lines(want);
    ck_assert_msg(strcmp(text, want) == 0, "%s shows %s and not %s", object, text, want);
}

/* As the name of a node and of a scope, drawn open and folded, and as the title. */
static void label_comes_back(const char *label) {
    ct_mark mark = ct_tape_mark(tape);
    ct_scope_begin(tape, label);
    ct_named(ct_var_exp(DRAWN(1, label, 2)), label);
    ct_scope_end(tape);
    for (int folded = 0; folded < 2; folded++) {
        struct ct_dot_options options = ct_dot_options_init();
        options.title = label;
        options.fold_depth = folded;
        struct text t = draw_tape(tape, &options);
        json_t *root = read_by_graphviz(&t);
        shows_joined(root, NULL, "", label, "");
        if (folded) {
            shows_joined(root, "f0", "", label, "2 nodesf64[2]");
        } else {
            shows_joined(root, "n0", "", label, "f64[2]");
            shows_joined(root, "n1", "exp", label, "f64[2]");
            shows_joined(root, "cluster_f0", "", label, "");
        }
        json_decref(root);
        free(t.bytes);
    }
    ct_tape_rewind(tape, mark);
}

START_TEST(B153_B154_crafted_labels_come_back_unchanged) {
    if (!graphviz_is_here())
        return;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/crafted/dot/labels.json", golden_cases());
    json_t *file = json_load_file(name, 0, NULL), *one;
    if (!file) {
        ct_test_skip("the crafted labels are not here (CT_CASES)");
        return;
    }
    size_t i;
    ck_assert_uint_gt(json_array_size(file), 0);
    json_array_foreach(file, i, one) {
        label_comes_back(json_string_value(json_object_get(one, "label")));
    }
    json_decref(file);
}
END_TEST

/* The same kinds, said here, so that nothing hangs on the file. */
START_TEST(B153_quotes_and_backslashes) {
    static const char *const labels[] = {"say \"hi\"", "ends with \\", "\\\" ] injected [color=red",
                                         "y: (2, 2) float64"};
    if (graphviz_is_here())
        label_comes_back(labels[_i]);
}
END_TEST

/* --- B156: huge tapes --- */

static size_t pieces;

static bool count_bytes(void *context, const char *bytes, size_t length) {
    (void)bytes;
    pieces++;
    *(size_t *)context += length;
    return true;
}

static void a_chain(size_t n) {
    ct_var x = named_leaf(T0(0.25), "x"), y = x, dx;
    for (size_t i = 0; i < n; i++)
        y = ct_var_neg(y);
    ct_grad(y, ct_var_null(), 1, &x, &dx);
}

/* A long chain and its backward pass (a million nodes in the suite `deep`): the writer sees text as it comes, memory is asked for once or twice
   whatever the length, and twice the nodes make twice the text. */
START_TEST(B156_long_tapes_stream) {
    enum { N = 40000 };
    size_t bytes[3] = {0}, calls[3];
    struct ct_dot_options options = ct_dot_options_init();
    options.values = options.gradients = true;
    for (size_t i = 1; i <= 2; i++) {
        a_chain(i * N);
        pieces = 0;
        size_t before = ct_allocator_calls();
        ck_assert_int_eq(ct_tape_dot(tape, i == 2 ? &options : NULL, count_bytes, &bytes[i]),
                         CT_OK);
        calls[i] = ct_allocator_calls() - before;
        ck_assert_uint_le(calls[i], 4);
        ck_assert_uint_gt(pieces, bytes[i] / 4096);
        if (i == 2)
            ck_assert_uint_eq(ct_tape_length(tape), (size_t)(2 * 2 * N + 2));
        ct_tape_rewind(tape, (ct_mark){0});
    }
    ck_assert_uint_gt(bytes[2], 2 * bytes[1]);
    a_chain(2 * N);
    bytes[0] = bytes[2] = 0;
    ck_assert_int_eq(ct_tape_dot(tape, NULL, count_bytes, &bytes[2]), CT_OK);
    ck_assert_uint_lt(bytes[2], bytes[1] * 21 / 10); /* numbers grow by a digit */
    options.max_nodes = 10;
    ck_assert_int_eq(ct_tape_dot(tape, &options, count_bytes, &bytes[0]), CT_OK);
    ck_assert_uint_lt(bytes[0], 8000);
}
END_TEST

/* 50,000 scopes of two nodes each, folded: the edges at them are told apart in bounded memory. */
START_TEST(B156_many_folds_stream) {
    enum { SCOPES = 50000 };
    ct_var y = named_leaf(T0(0.25), "x");
    for (int i = 0; i < SCOPES; i++) {
        ct_scope_begin(tape, "layer");
        y = ct_var_neg(ct_var_neg(y));
        ct_scope_end(tape);
    }
    struct ct_dot_options options = ct_dot_options_init();
    options.fold_depth = 1;
    struct text t = draw_tape(tape, &options);
    text_has(&t, SCOPES, "peripheries=2");
    text_has(&t, SCOPES, " -> ");
    free(t.bytes);
}
END_TEST

/* --- memory --- */

/* Every allocation of a picture with folds, faults and a backward pass fails once. */
START_TEST(failing_allocations_lose_nothing) {
    if (!make_memory_scarce())
        return;
    setup();
    two_layers();
    named_leaf(T1(QNAN), "bad");
    struct ct_dot_options options = ct_dot_options_init();
    options.fold_depth = 2;
    options.values = options.gradients = true;
    size_t before = ct_live_blocks(), bytes = 0;
    ct_status status = CT_ENOMEM;
    long left = 0;
    for (; status == CT_ENOMEM; left++) {
        starve(left);
        status = ct_tape_dot(tape, &options, count_bytes, &bytes);
        ck_assert_int_eq(ct_error()->code, status);
        ck_assert_uint_eq(ct_live_blocks(), before);
    }
    ck_assert_int_eq(status, CT_OK);
    ck_assert_int_ge(
        left, 7); /* two for scopes, two for passes and faults, two for folds, one for edges */
    starve(-1);
    teardown();
}
END_TEST

Suite *suite_pictures(void) {
    Suite *suite = suite_create("pictures");
    TCase *tc = tcase_create("pictures");
    tcase_add_checked_fixture(tc, setup, teardown_well);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_folded_scope_is_one_node_with_all_its_edges);
    tcase_add_test(tc, scopes_fold_by_name);
    tcase_add_test(tc, graphviz_reads_folds);
    tcase_add_test(tc, folds_count_as_one_among_max_nodes);
    tcase_add_test(tc, wrong_folds_are_errors);
    tcase_add_test(tc, names_of_folds_come_back);
    tcase_add_test(tc, faults_are_red_from_where_they_arise);
    tcase_add_test(tc, notes_are_not_broken_within_an_index);
    tcase_add_test(tc, faults_of_inputs_of_tangents_and_of_the_backward_pass);
    tcase_add_test(tc, numbers_at_fault_are_drawn);
    tcase_add_test(tc, folded_scopes_show_the_faults_in_them);
    tcase_add_test(tc, B153_B154_crafted_labels_come_back_unchanged);
    tcase_add_loop_test(tc, B153_quotes_and_backslashes, 0, 4);
    tcase_add_test(tc, B156_long_tapes_stream);
    tcase_add_test(tc, B156_many_folds_stream);
    tc = tcase_create("memory");
    tcase_add_test(tc, failing_allocations_lose_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
