/* The special cases of the Python array API standard, as its text states them: each sentence ("If
   x_i is NaN, the result is NaN.") is read and tried on every combination of special numbers that
   its condition describes, for f32 and f64. A phrase that this file does not know fails the test. */
#include <check.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case_tools.h"
#include "ct_test.h"
#include "golden_json.h"
#include "op_oracle.h"

Suite *suite_array_api(void);

static const struct function {
    const char *name; /* in the standard */
    enum ct_op op;
} functions[] = {
    {"abs", CT_OP_abs},         {"acos", CT_OP_acos},         {"acosh", CT_OP_acosh},
    {"add", CT_OP_add},         {"asin", CT_OP_asin},         {"asinh", CT_OP_asinh},
    {"atan", CT_OP_atan},       {"atan2", CT_OP_atan2},       {"atanh", CT_OP_atanh},
    {"ceil", CT_OP_ceil},       {"clip", CT_OP_clamp},        {"copysign", CT_OP_copysign},
    {"cos", CT_OP_cos},         {"divide", CT_OP_div},        {"equal", CT_OP_equal},
    {"exp", CT_OP_exp},         {"expm1", CT_OP_expm1},       {"floor", CT_OP_floor},
    {"hypot", CT_OP_hypot},     {"isfinite", CT_OP_isfinite}, {"isinf", CT_OP_isinf},
    {"isnan", CT_OP_isnan},     {"log", CT_OP_log},           {"log10", CT_OP_log10},
    {"log1p", CT_OP_log1p},     {"log2", CT_OP_log2},         {"maximum", CT_OP_maximum},
    {"minimum", CT_OP_minimum}, {"multiply", CT_OP_mul},      {"not_equal", CT_OP_not_equal},
    {"pow", CT_OP_pow},         {"sign", CT_OP_sign},         {"sin", CT_OP_sin},
    {"sqrt", CT_OP_sqrt},       {"tan", CT_OP_tan},           {"trunc", CT_OP_trunc},
};

/* Functions of the file that are out. */
static const struct {
    const char *name, *reason;
} out[] = {
    {"logaddexp", "no such op"}, {"nextafter", "no such op"}, {"signbit", "no such op"},
    {"max", "a reduction"},      {"mean", "a reduction"},     {"min", "a reduction"},
    {"prod", "a reduction"},     {"std", "a reduction"},      {"sum", "a reduction"},
    {"var", "a reduction"},
};

/* Sentences that are not tried, by their beginnings: those that speak of rounding, which suite_ops
   holds for all ops, and where we differ on purpose. */
static const struct {
    const char *name, *begins, *reason;
} left_out[] = {
    {"not_equal", "In the remaining",
     "the text forgets an infinity beside a finite number: they do differ"},
    {"add", "In the remaining", "rounding"},
    {"divide", "In the remaining", "rounding"},
    {"multiply", "In the remaining", "rounding"},
    {"hypot", "Underflow", "rounding"},
};

enum { OPERANDS = 3, TEXT_BYTES = 512 };

/* The operands of one try. */
struct operands {
    int n;
    double x[OPERANDS];
};

/* ---- texts */

/* Replaces every `from`; the text only becomes shorter. */
static void replace(char *text, const char *from, const char *to) {
    size_t cut = strlen(from), put = strlen(to);
    for (char *at = text; (at = strstr(at, from)) != NULL; at += put) {
        memmove(at + put, at + cut, strlen(at + cut) + 1);
        memcpy(at, to, put);
    }
}

static bool take(const char **text, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(*text, prefix, length) != 0)
        return false;
    *text += length;
    return true;
}

/* "x_i", "x1_i", "min_i", ...: which operand, or -1. */
static int take_operand(const char **text) {
    static const struct {
        const char *name;
        int operand;
    } names[] = {{"x_i", 0}, {"x1_i", 0}, {"x2_i", 1}, {"min_i", 1}, {"max_i", 2}};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (take(text, names[i].name))
            return names[i].operand;
    }
    return -1;
}

/* Phrases about both operands become single words, and brackets and asides go. */
static void simplify(char *sentence) {
    static const char *const pairs[][2] = {
        {"``", ""},
        {" (i.e., greater than 0)", ""},
        {" (i.e., less than 0)", ""},
        {", including NaN", ""},
        {"either x1_i or x2_i is NaN", "ANY_NAN"},
        {"x1_i is NaN or x2_i is NaN", "ANY_NAN"},
        {"x1_i and x2_i have the same mathematical sign", "SAME_SIGN"},
        {"x1_i and x2_i have different mathematical signs", "OTHER_SIGN"},
        {"are both nonzero finite numbers", "BOTH_NUMBERS"},
        {", and ", "; "},
        {" and ", "; "},
    };
    for (size_t i = 0; i < COUNT(pairs); i++)
        replace(sentence, pairs[i][0], pairs[i][1]);
}

/* ---- conditions */

static bool same_number(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* "+0", "NaN", "-infinity", "1": the sign of a zero matters where it is written. */
static bool is_named(double x, const char *name) {
    char *end;
    if (strncmp(name, "NaN", 3) == 0)
        return isnan(x);
    if (strcmp(name, "0") == 0)
        return x == 0;
    double value = strstr(name, "infinity") ? (*name == '-' ? -INF : INF) : strtod(name, &end);
    ck_assert_msg(strstr(name, "infinity") || *end == '\0', "what is '%s'?", name);
    return same_number(x, value);
}

static bool is_one_of(double x, const char *names) {
    char first[TEXT_BYTES];
    snprintf(first, sizeof first, "%s", names);
    char *second = strstr(first, " or ");
    if (!second)
        return is_named(x, names);
    *second = '\0';
    return is_named(x, first) || is_named(x, second + 4);
}

static bool is_integer(double x) {
    return isfinite(x) && floor(x) == x;
}

/* What follows "x1_i is ". */
static bool is_such(const struct operands *v, double x, const char *what) {
    const char *rest = what;
    if (strcmp(what, "a finite number") == 0)
        return isfinite(x);
    if (strcmp(what, "a finite number or NaN") == 0)
        return isfinite(x) || isnan(x);
    if (strcmp(what, "a nonzero finite number") == 0)
        return isfinite(x) && x != 0;
    if (strcmp(what, "a positive finite number") == 0)
        return isfinite(x) && x > 0;
    if (strcmp(what, "a negative finite number") == 0)
        return isfinite(x) && x < 0;
    if (strcmp(what, "any value") == 0)
        return true;
    if (strcmp(what, "not NaN") == 0)
        return !isnan(x);
    if (strcmp(what, "an odd integer value") == 0)
        return is_integer(x) && fmod(x, 2) != 0;
    if (strcmp(what, "not an odd integer value") == 0)
        return !is_integer(x) || fmod(x, 2) == 0;
    if (strcmp(what, "not an integer value") == 0)
        return !is_integer(x);
    if (strcmp(what, "already integer-valued") == 0)
        return is_integer(x);
    if (strcmp(what, "-x1_i") == 0)
        return x == -v->x[0];
    if (take(&rest, "greater than "))
        return x > strtod(rest, NULL);
    if (take(&rest, "less than "))
        return x < strtod(rest, NULL);
    if (take(&rest, "not equal to "))
        return x != strtod(rest, NULL);
    take(&rest, "either ");
    return is_one_of(x, rest);
}

/* The sign of a zero counts; that of a NaN has none. */
static bool have_same_sign(const struct operands *v) {
    return !signbit(v->x[0]) == !signbit(v->x[1]);
}

static bool holds(const char *clause, const struct operands *v) {
    const char *rest = clause;
    bool nan = isnan(v->x[0]) || (v->n > 1 && isnan(v->x[1]));
    if (strcmp(clause, "ANY_NAN") == 0)
        return nan;
    if (strcmp(clause, "SAME_SIGN") == 0)
        return !nan && have_same_sign(v);
    if (strcmp(clause, "OTHER_SIGN") == 0)
        return !nan && !have_same_sign(v);
    if (strcmp(clause, "BOTH_NUMBERS") == 0)
        return isfinite(v->x[0]) && isfinite(v->x[1]) && v->x[0] != 0 && v->x[1] != 0;
    bool sign_bit = take(&rest, "the sign bit of "), magnitude = take(&rest, "abs(");
    int operand = take_operand(&rest);
    ck_assert_msg(operand >= 0 && operand < v->n, "what is '%s'?", clause);
    double x = v->x[operand];
    take(&rest, magnitude ? ")" : "");
    if (take(&rest, " equals x2_i"))
        return x == v->x[1];
    if (take(&rest, " does not equal x2_i"))
        return x != v->x[1];
    ck_assert_msg(take(&rest, " is "), "what is '%s'?", clause);
    if (sign_bit)
        return !signbit(x) == (*rest == '0');
    return is_such(v, magnitude ? fabs(x) : x, rest);
}

/* "x1_i is +0; x2_i is greater than 0" */
static bool all_hold(const char *conditions, const struct operands *v) {
    char text[TEXT_BYTES], *rest = NULL;
    snprintf(text, sizeof text, "%s", conditions);
    replace(text, ", ", "; ");
    for (char *clause = strtok_r(text, ";", &rest); clause; clause = strtok_r(NULL, ";", &rest)) {
        while (*clause == ' ')
            clause++;
        if (!holds(clause, v))
            return false;
    }
    return true;
}

/* ---- results */

/* "+3π/4", an implementation-dependent approximation: within an ulp of f32 here. */
static bool is_near_pi(double y, const char *text) {
    const double pi = 3.14159265358979323846;
    double sign = *text == '-' ? -1 : 1;
    const char *rest = text + 1;
    double times = take(&rest, "3") ? 3 : 1;
    ck_assert_msg(take(&rest, "π"), "what is '%s'?", text);
    double parts = take(&rest, "/") ? strtod(rest, NULL) : 1;
    return fabs(y - sign * times * pi / parts) < 4e-7;
}

static bool is_result(double y, const char *text, const struct operands *v) {
    const char *rest = text;
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return y == (*text == 'T');
    if (take(&rest, "an implementation-dependent approximation to "))
        return is_near_pi(y, rest);
    if (take(&rest, "a signed infinity"))
        return isinf(y) && !signbit(y) == have_same_sign(v);
    if (strcmp(text, "equivalent to abs(x2_i)") == 0)
        return same_number(y, fabs(v->x[1]));
    if (strcmp(text, "equivalent to abs(x1_i)") == 0 || strcmp(text, "|x1_i|") == 0)
        return same_number(y, fabs(v->x[0]));
    if (strcmp(text, "-|x1_i|") == 0)
        return same_number(y, -fabs(v->x[0]));
    int operand = take_operand(&rest);
    if (operand >= 0)
        return same_number(y, v->x[operand]);
    return is_named(y, text);
}

/* ---- sentences */

/* Conditions and result of "If C, the result is R." The result "has a positive sign" of mul and
   div becomes R = "positive". */
static bool split(char *sentence, char **conditions, char **result) {
    char *at = strstr(sentence, ", the result ");
    const char *begin = sentence;
    if (!take(&begin, "If ") || !at)
        return false;
    *at = '\0';
    *conditions = sentence + (begin - sentence);
    *result = at + strlen(", the result ");
    char *aside = strstr(*result, ", even if");
    if (aside)
        *aside = '\0';
    size_t length = strlen(*result);
    if (length > 0 && (*result)[length - 1] == '.')
        (*result)[length - 1] = '\0';
    return true;
}

static bool result_agrees(double y, const char *result, const struct operands *v) {
    const char *rest = result;
    if (take(&rest, "has a positive mathematical sign"))
        return isnan(y) || !signbit(y);
    if (take(&rest, "has a negative mathematical sign"))
        return isnan(y) || signbit(y);
    ck_assert_msg(take(&rest, "is "), "what is '%s'?", result);
    return is_result(y, rest, v);
}

static double call(const struct function *f, const ct_scalar *scalar, const struct operands *v) {
    ct_tensor *in[OPERANDS] = {NULL};
    double y;
    for (int i = 0; i < v->n; i++)
        in[i] = ct_from_doubles(scalar, 0, NULL, 1, &v->x[i]);
    const ct_tensor *operands[OPERANDS] = {in[0], in[1], in[2]};
    ct_tensor *result = op_oracle(f->op)->apply(operands);
    ck_assert_msg(result != NULL, "%s: %s", f->name, ct_error()->message);
    ck_assert_int_eq(ct_to_doubles(result, 1, &y), CT_OK);
    ct_free(result);
    for (int i = 0; i < v->n; i++)
        ct_free(in[i]);
    return y;
}

/* Calls `visit` with every combination of special numbers. */
static void each_try(int n, const ct_scalar *scalar, void *context,
                     void (*visit)(void *context, const struct operands *v)) {
    bool single = scalar == CT_F32;
    double tiny = single ? 0x1p-149 : 0x1p-1074, huge = single ? 0x1.fffffep127 : DBL_MAX;
    const double special[] = {QNAN, -QNAN, 0.0, -0.0, INF, -INF, 1,    -1,    0.5,  -0.5,
                              1.5,  -1.5,  2,   -2,   3,   -3,   tiny, -tiny, huge, -huge};
    enum { N = COUNT(special) };
    size_t count = 1;
    for (int i = 0; i < n; i++)
        count *= N;
    for (size_t k = 0; k < count; k++) {
        struct operands v = {.n = n};
        size_t rest = k;
        for (int i = 0; i < n; i++, rest /= N)
            v.x[i] = special[rest % N];
        visit(context, &v);
    }
}

struct attempt {
    const struct function *f;
    const ct_scalar *scalar;
    const char *conditions, *result, *sentence;
    const json_t *others; /* for "in the remaining cases": all sentences */
    size_t tried;
};

/* Whether another sentence speaks of these operands. */
static bool is_spoken_of(const json_t *others, const struct operands *v) {
    size_t i;
    json_t *one;
    json_array_foreach(others, i, one) {
        char text[TEXT_BYTES], *conditions, *result;
        snprintf(text, sizeof text, "%s", json_string_value(one));
        simplify(text);
        if (split(text, &conditions, &result) && all_hold(conditions, v))
            return true;
    }
    return false;
}

static void try_sentence(void *context, const struct operands *v) {
    struct attempt *a = context;
    if (a->others ? is_spoken_of(a->others, v) : !all_hold(a->conditions, v))
        return;
    double y = call(a->f, a->scalar, v);
    a->tried++;
    ck_assert_msg(result_agrees(y, a->result, v), "%s of %s(%g, %g, %g) is %g: %s", a->f->name,
                  a->scalar->name, v->x[0], v->x[1], v->x[2], y, a->sentence);
}

static bool is_left_out(const char *name, const char *sentence) {
    for (size_t i = 0; i < COUNT(left_out); i++) {
        if (strcmp(left_out[i].name, name) == 0 &&
            strncmp(left_out[i].begins, sentence, strlen(left_out[i].begins)) == 0)
            return true;
    }
    return false;
}

static void check_sentence(const struct function *f, const json_t *all, const char *sentence) {
    static const ct_scalar *const scalars[] = {CT_F32, CT_F64};
    char text[TEXT_BYTES], *conditions = NULL, *result = NULL;
    ck_assert_uint_lt(strlen(sentence), sizeof text);
    snprintf(text, sizeof text, "%s", sentence);
    simplify(text);
    const char *rest = text;
    bool remaining = take(&rest, "In the remaining cases, the result ");
    if (remaining) {
        result = text + (rest - text);
        result[strlen(result) - 1] = '\0';
    } else
        ck_assert_msg(split(text, &conditions, &result), "%s: what is '%s'?", f->name, sentence);
    for (size_t s = 0; s < COUNT(scalars); s++) {
        struct attempt a = {f, scalars[s], conditions, result, sentence, remaining ? all : NULL, 0};
        each_try(op_oracle(f->op)->arity, scalars[s], &a, try_sentence);
        ck_assert_msg(a.tried > 0, "%s: no numbers for '%s'", f->name, sentence);
    }
}

/* ---- tests */

static json_t *cases;

static void read_cases(void) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/array_api/special_cases.json", golden_cases());
    json_t *file = json_load_file(name, 0, NULL);
    cases = json_incref(json_object_get(file, "cases"));
    json_decref(file);
}

START_TEST(sentences_hold) {
    const struct function *f = &functions[_i];
    const json_t *sentences = json_object_get(cases, f->name);
    size_t i;
    json_t *one;
    ck_assert_msg(json_array_size(sentences) > 0, "%s is not in the file", f->name);
    json_array_foreach(sentences, i, one) {
        if (!is_left_out(f->name, json_string_value(one)))
            check_sentence(f, sentences, json_string_value(one));
    }
}
END_TEST

static bool is_known(const char *name) {
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Every function of the file is either run or out with its reason; says how many ran. */
START_TEST(all_functions_are_known) {
    if (!cases) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%s/array_api", golden_cases());
        ct_test_skip(folder);
        return;
    }
    const char *name;
    json_t *sentences;
    size_t ran = 0, all = 0;
    json_object_foreach(cases, name, sentences) {
        bool is_out = false;
        for (size_t i = 0; i < COUNT(out); i++)
            is_out |= strcmp(out[i].name, name) == 0;
        ck_assert_msg(is_out != is_known(name), "%s: neither run nor out, or both", name);
        enum ct_op row = ct_op_by_name(name);
        bool is_elementwise = row != CT_OP_COUNT && ct_op_arity(row) > 0;
        ck_assert_msg(!is_out || !is_elementwise, "%s exists now", name);
        all += json_array_size(sentences);
        ran += is_out ? 0 : json_array_size(sentences);
    }
    printf("    array API: %zu of %zu sentences ran for %zu functions, %zu left "
           "out\n",
           ran - COUNT(left_out), all, COUNT(functions), COUNT(left_out));
}
END_TEST

Suite *suite_array_api(void) {
    Suite *suite = suite_create("array_api");
    TCase *tc = tcase_create("special cases");
    read_cases();
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, all_functions_are_known);
    if (cases)
        tcase_add_loop_test(tc, sentences_hold, 0, COUNT(functions));
    return suite;
}
