/* Prints what follows from the op table: the prototypes of its elementwise ops on tensors (tensor/ct_ops.h) and on tapes
   (autodiff/ct_var_ops.h), and docs/ops.md. Of the library it links tensor/op_table.c alone, so that it builds while those
   headers are still old. `make ops` runs it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ct_op.h"

/* ---- formulas: ADD(X, SMUL(G, Y)) becomes X + G·Y */

enum precedence { CHOICE, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM };

struct text {
    char bytes[1024];
    size_t length;
};

static void put(struct text *text, const char *bytes, size_t count) {
    if (count >= sizeof text->bytes - text->length)
        count = sizeof text->bytes - text->length - 1;
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

static void put_string(struct text *text, const char *string) {
    put(text, string, strlen(string));
}

/* An operand, in brackets where it binds less tightly than it must or begins with a sign. */
static void put_operand(struct text *out, const struct text *operand, enum precedence has,
                        enum precedence needs, bool first) {
    bool bare = has >= needs && (first || operand->bytes[0] != '-');
    put_string(out, bare ? "" : "(");
    put(out, operand->bytes, operand->length);
    put_string(out, bare ? "" : ")");
}

static const struct infix {
    const char *word, *sign;
    enum precedence is, left, right;
} infixes[] = {
    {"ADD", " + ", SUM, SUM, PRODUCT},
    {"SUB", " - ", SUM, SUM, PRODUCT},
    {"MUL", "·", PRODUCT, PRODUCT, SIGN},
    {"SMUL", "·", PRODUCT, PRODUCT, SIGN},
    {"DIV", " / ", PRODUCT, PRODUCT, SIGN},
    {"SDIV", " / ", PRODUCT, PRODUCT, SIGN},
    {"POW", "^", POWER, ATOM, ATOM},
    {"OR", " or ", CHOICE, CHOICE, COMPARISON},
    {"XOR", " xor ", CHOICE, CHOICE, COMPARISON},
    {"AND", " and ", CHOICE, COMPARISON, COMPARISON},
    {"EQ", " = ", COMPARISON, SUM, SUM},
    {"EQUAL", " = ", COMPARISON, SUM, SUM},
    {"NE", " ≠ ", COMPARISON, SUM, SUM},
    {"NOT_EQUAL", " ≠ ", COMPARISON, SUM, SUM},
    {"LT", " < ", COMPARISON, SUM, SUM},
    {"LESS", " < ", COMPARISON, SUM, SUM},
    {"LE", " ≤ ", COMPARISON, SUM, SUM},
    {"LESS_EQUAL", " ≤ ", COMPARISON, SUM, SUM},
    {"GT", " > ", COMPARISON, SUM, SUM},
    {"GREATER", " > ", COMPARISON, SUM, SUM},
    {"GE", " ≥ ", COMPARISON, SUM, SUM},
    {"GREATER_EQUAL", " ≥ ", COMPARISON, SUM, SUM},
};

static const struct fix {
    const char *word, *before, *after;
    enum precedence is, operand;
} fixes[] = {
    {"NEG", "-", "", SIGN, SIGN},
    {"NOT", "not ", "", CHOICE, COMPARISON},
    {"SQUARE", "", "²", POWER, ATOM},
    {"RECIPROCAL", "1 / ", "", PRODUCT, SIGN},
    {"SILU_OF", "", "·sigmoid(X)", PRODUCT, PRODUCT},
    {"MISH_OF", "", "·tanh(softplus(X))", PRODUCT, PRODUCT},
    {"GELU_TANH_OF", "", "·sigmoid(1.5957691216057308·(X + 0.044715·X³))", PRODUCT, PRODUCT},
};

static enum precedence print_formula(const char **at, struct text *out);

static void skip_blanks(const char **at) {
    while (**at == ' ' || **at == ',')
        ++*at;
}

static enum precedence print_infix(const char **at, struct text *out, const struct infix *infix) {
    struct text left = {.length = 0}, right = {.length = 0};
    enum precedence a = print_formula(at, &left);
    enum precedence b = print_formula(at, &right);
    put_operand(out, &left, a, infix->left, true);
    put_string(out, infix->sign);
    put_operand(out, &right, b, infix->right, infix->is == COMPARISON);
    return infix->is;
}

static enum precedence print_fix(const char **at, struct text *out, const struct fix *fix) {
    struct text operand = {.length = 0};
    enum precedence has = print_formula(at, &operand);
    put_string(out, fix->before);
    put_operand(out, &operand, has, fix->operand, !*fix->before);
    put_string(out, fix->after);
    return fix->is;
}

static enum precedence print_constant(const char **at, struct text *out) {
    size_t length = strcspn(*at, ")");
    bool negative = **at == '-';
    put_string(out, negative ? "-" : "");
    if (strncmp(*at + negative, "INFINITY", length - negative) == 0)
        put_string(out, "∞");
    else
        put(out, *at + negative, length - negative);
    *at += length;
    return negative ? SIGN : ATOM;
}

/* name(a, b, ...), in lower case */
static enum precedence print_call(const char **at, struct text *out, const char *word) {
    for (const char *c = word; *c; c++)
        put(out, (char[]){(char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c)}, 1);
    put_string(out, "(");
    for (bool first = true; skip_blanks(at), **at && **at != ')'; first = false) {
        put_string(out, first ? "" : ", ");
        print_formula(at, out);
    }
    put_string(out, ")");
    return ATOM;
}

static enum precedence print_word(const char **at, struct text *out, const char *word) {
    if (strcmp(word, "K") == 0)
        return print_constant(at, out);
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++)
        if (strcmp(word, infixes[i].word) == 0)
            return print_infix(at, out, &infixes[i]);
    for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
        if (strcmp(word, fixes[i].word) == 0)
            return print_fix(at, out, &fixes[i]);
    return print_call(at, out, word);
}

/* Appends the formula at *at and moves past it; the precedence tells how tightly it binds. */
static enum precedence print_formula(const char **at, struct text *out) {
    skip_blanks(at);
    size_t length = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    char word[64];
    if (length == 0 || length >= sizeof word) { /* not of the vocabulary: shown as it is */
        put_string(out, *at);
        *at += strlen(*at);
        return CHOICE;
    }
    snprintf(word, sizeof word, "%.*s", (int)length, *at);
    *at += length;
    if (**at != '(') {
        put_string(out, strcmp(word, "FLAT") == 0 ? "flat" : word);
        return ATOM;
    }
    ++*at;
    enum precedence is = print_word(at, out, word);
    skip_blanks(at);
    *at += **at == ')';
    return is;
}

static struct text pretty(const char *formula) {
    struct text out = {.length = 0};
    print_formula(&formula, &out);
    return out;
}

/* ---- headers */

static const char made_from[] = "Made from tensor/ops.def by `make ops`; do not edit.";

/* A comment of at most 100 columns. */
static void print_comment(const char *text) {
    size_t length = strlen(text);
    if (length + 7 <= 100) {
        printf("/** %s */\n", text);
        return;
    }
    puts("/**");
    while (length > 97) {
        size_t cut = 97;
        while (cut > 1 && text[cut] != ' ')
            cut--;
        printf(" * %.*s\n", (int)cut, text);
        text += cut + 1;
        length -= cut + 1;
    }
    printf(" * %s\n */\n", text);
}

static const char *argument(enum ct_op op, int i) {
    return ct_op_kind_of(op) == CT_KIND_SELECT && i == 0 ? "mask" : &"x\0z\0w"[2 * i];
}

static void print_prototype(enum ct_op op, const char *result, const char *prefix,
                            const char *type) {
    printf("CT_API %s%s%s(", result, prefix, ct_op_name(op));
    for (int i = 0; i < ct_op_arity(op); i++)
        printf("%s%s%s", i ? ", " : "", type, argument(op, i));
    puts(");");
}

static void print_prototypes(const char *result, const char *prefix, const char *type) {
    for (enum ct_op op = 0; op < CT_OP_COUNT; op++)
        if (ct_op_arity(op) > 0) {
            char text[512];
            snprintf(text, sizeof text, "%s.", ct_op_doc(op));
            print_comment(text);
            print_prototype(op, result, prefix, type);
        }
}

static void print_tensor_header(void) {
    printf("/**\n * @file ct_ops.h\n * Elementwise ops on tensors. %s\n *\n", made_from);
    puts(
        " * Operands are broadcast as in NumPy and must be of one scalar type; there is no "
        "implicit\n"
        " * promotion (ct_astype() converts). A scalar type without the op is CT_EDTYPE, shapes "
        "that do not\n"
        " * broadcast are CT_ESHAPE, and a NULL operand passes NULL on. The result is new and "
        "dense, except\n"
        " * that comparisons and tests give bool, that logic takes and gives bool, and that the "
        "mask of\n"
        " * ct_where() is bool. Bits depend on the items alone. Formulas and derivatives stand in\n"
        " * docs/ops.md.\n */");
    puts("#ifndef CT_OPS_H\n#define CT_OPS_H\n\n#include "
         "\"tensor/ct_tensor.h\"\n\nCT_BEGIN_DECLS\n");
    print_prototypes("ct_tensor *", "ct_", "const ct_tensor *");
    puts("\nCT_END_DECLS\n#endif");
}

static void print_var_header(void) {
    printf("/**\n * @file ct_var_ops.h\n * Elementwise ops on a tape. %s\n *\n", made_from);
    puts(" * Operands of unlike shapes are broadcast, which the tape records as an op of its own. "
         "Errors stick\n"
         " * to the tape (ct_tape_status()) and give the null variable. Formulas and derivatives "
         "stand in\n"
         " * docs/ops.md.\n */");
    puts("#ifndef CT_VAR_OPS_H\n#define CT_VAR_OPS_H\n\n#include "
         "\"autodiff/ct_tape.h\"\n\nCT_BEGIN_DECLS\n");
    print_prototypes("ct_var ", "ct_var_", "ct_var ");
    puts("\nCT_END_DECLS\n#endif");
}

/* ---- docs/ops.md */

static void print_cell(const char *text) {
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void print_map_row(enum ct_op op) {
    printf("| `%s` | `%s` | ", ct_op_name(op), pretty(ct_op_value_text(op)).bytes);
    int first = ct_op_kind_of(op) == CT_KIND_SELECT; /* a mask has no pull */
    for (int i = first; i < ct_op_arity(op); i++) {
        struct text pull = pretty(ct_op_pull_text(op, i));
        printf(strcmp(pull.bytes, "flat") == 0 ? "%s%s" : "%s`%s`", i > first ? "<br>" : "",
               pull.bytes);
    }
    printf(" | ");
    print_cell(ct_op_doc(op));
    puts(" |");
}

static void print_plain_row(enum ct_op op) {
    if (ct_op_value_text(op))
        printf("| `%s` | `%s` | ", ct_op_name(op), pretty(ct_op_value_text(op)).bytes);
    else
        printf("| `%s` | ", ct_op_name(op));
    print_cell(ct_op_doc(op));
    puts(" |");
}

static const struct section {
    const char *title, *text, *head;
    void (*print)(enum ct_op op);
} sections[] = {
    [CT_KIND_MAP] =
        {"Elementwise",
         "One pull per argument serves every derivative: the gradient on a tape, where it is\n"
         "recorded as named ops, and the tangent of a dual number.",
         "| op | value | pull of X, Z, W | |\n|---|---|---|---|", print_map_row},
    [CT_KIND_COMPARE] = {"Comparisons", "The result is bool and flat: no gradient flows.",
                         "| op | value | |\n|---|---|---|", print_plain_row},
    [CT_KIND_TEST] = {"Tests", "The result is bool and flat.", "| op | value | |\n|---|---|---|",
                      print_plain_row},
    [CT_KIND_LOGIC] = {"Logic", "Of truth values: arguments and result are bool, and flat.",
                       "| op | value | |\n|---|---|---|", print_plain_row},
    [CT_KIND_SELECT] = {"Choice",
                        "The first argument is a bool mask; the pulls are those of Z and W.",
                        "| op | value | pull of Z, W | |\n|---|---|---|---|", print_map_row},
    [CT_KIND_LINEAR] = {"Linear", "The tangent is the op itself, the gradient its transpose.",
                        "| op | |\n|---|---|", print_plain_row},
    [CT_KIND_BILINEAR] = {"Bilinear", "Linear in each argument: one transpose per argument.",
                          "| op | |\n|---|---|", print_plain_row},
    [CT_KIND_GENERAL] = {"General", "With rules of their own, in autodiff/op_<name>.c.",
                         "| op | |\n|---|---|", print_plain_row},
};

static void print_document(void) {
    printf("# The ops\n\n%s\n\n", made_from);
    puts("X, Z and W are the arguments, Y is the result, G the cotangent. Comparisons inside a "
         "formula\n"
         "are masks; `where(mask, a, b)` is a where the mask is true. In a pull the product `·` is "
         "the op\n"
         "`smul`: a factor that is exactly 0 gives +0, even against an infinity or NaN. *flat*: "
         "the\n"
         "derivative is declared zero everywhere. A call takes tensors as `ct_<op>` and variables "
         "of a\n"
         "tape as `ct_var_<op>`; the structured ops have the field's verbs (`ct_var_sum` records "
         "`summed`).");
    for (int kind = 0; kind <= CT_KIND_GENERAL; kind++) {
        printf("\n## %s\n\n%s\n\n%s\n", sections[kind].title, sections[kind].text,
               sections[kind].head);
        for (enum ct_op op = 0; op < CT_OP_COUNT; op++)
            if ((int)ct_op_kind_of(op) == kind)
                sections[kind].print(op);
    }
}

int main(int argc, char **argv) {
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "tensor") == 0)
        print_tensor_header();
    else if (strcmp(what, "var") == 0)
        print_var_header();
    else if (strcmp(what, "docs") == 0)
        print_document();
    else {
        fputs("ct-print-ops tensor|var|docs\n", stderr);
        return 2;
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
