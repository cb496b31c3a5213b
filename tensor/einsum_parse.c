/* Reads the subscripts of a sum, and holds them against the operands. */

#include "tensor/linalg_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { ALL_AXES = CT_MAX_RANK, TEXT_BYTES = 32 };

// A term as it is written; "..." is not yet known to stand for any number of axes.
struct term_text {
    int letters; // how many; more than ALL_AXES fit no operand
    signed char letter[ALL_AXES];
    const char *place[ALL_AXES];
    int dots; // letters before "...", or -1
    const char *dots_place;
};

struct parser {
    const char *who, *text, *at;
    ct_status status;
};

// Fails once, in the name of the subscripts: einsum "ij,jk": ...
static ct_status fail(struct parser *p, ct_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ct_status fail(struct parser *p, ct_status code, const char *format, ...) {
    char what[256];
    va_list list;
    p->status = code;
    if (!p->who)
        return code;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    bool shortened = strlen(p->text) > 120;
    return ct__fail(code, p->who, "\"%.120s%s\": %s", p->text, shortened ? "..." : "", what);
}

// The place of a character, counted from 1.
static size_t place_of(const struct parser *p, const char *at) {
    return (size_t)(at - p->text) + 1;
}

static int index_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter_of(int index) {
    return (char)(index < 26 ? 'A' + index : 'a' + index - 26);
}

// "the index 'j'", or an axis of "..." counted from its end.
static const char *name_of(int index, char text[TEXT_BYTES]) {
    if (index < CT__LETTERS)
        snprintf(text, TEXT_BYTES, "index '%c'", letter_of(index));
    else
        snprintf(text, TEXT_BYTES, "axis %d of '...'", index - CT__INDICES);
    return text;
}

// --- characters

static void skip_spaces(struct parser *p) {
    while (*p->at == ' ')
        p->at++;
}

static ct_status fail_character(struct parser *p) {
    unsigned char c = (unsigned char)*p->at;
    char shown[8];
    snprintf(shown, sizeof shown, c > 32 && c < 127 ? "'%c'" : "0x%02x", c);
    return fail(p, CT_EINVAL, "%s at character %zu is no letter, ',', '->' or '...'", shown,
                place_of(p, p->at));
}

static ct_status read_dots(struct parser *p, struct term_text *term) {
    if (strncmp(p->at, "...", 3) != 0)
        return fail(p, CT_EINVAL, "the dots at character %zu are not '...'", place_of(p, p->at));
    if (term->dots >= 0)
        return fail(p, CT_EINVAL, "the '...' at character %zu is the second of its term",
                    place_of(p, p->at));
    term->dots = term->letters;
    term->dots_place = p->at;
    p->at += 3;
    return CT_OK;
}

// Reads letters and dots up to what is neither.
static ct_status read_term(struct parser *p, struct term_text *term) {
    *term = (struct term_text){.dots = -1};
    for (skip_spaces(p);; skip_spaces(p)) {
        int index = index_of(*p->at);
        if (index >= 0 && term->letters == ALL_AXES)
            return fail(p, CT_EINVAL, "the letter '%c' at character %zu is the ninth of its term",
                        *p->at, place_of(p, p->at));
        if (index >= 0) {
            term->letter[term->letters] = (signed char)index;
            term->place[term->letters++] = p->at++;
        } else if (*p->at != '.') {
            return CT_OK;
        } else if (read_dots(p, term)) {
            return p->status;
        }
    }
}

// --- operands

// Gives the axes of "..." their indices: the last is that of the last of all of them.
static void place_term(const struct term_text *text, int width, struct ct__term *term) {
    term->rank = 0;
    for (int i = 0; i <= text->letters; i++) {
        for (int k = 0; text->dots == i && k < width; k++)
            term->index[term->rank++] = (signed char)(CT__INDICES - width + k);
        if (i < text->letters)
            term->index[term->rank++] = text->letter[i];
    }
}

static ct_status check_rank(struct parser *p, const struct term_text *text, int operand, int rank) {
    if (text->dots >= 0 ? rank >= text->letters : rank == text->letters)
        return CT_OK;
    return fail(p, CT_ESHAPE, "operand %d has rank %d and its term has %d letter%s%s", operand,
                rank, text->letters, text->letters == 1 ? "" : "s",
                text->dots >= 0 ? " beside '...'" : "");
}

// Holds the extents of an operand against those of the indices so far; 1 gives way.
static ct_status take_extents(struct parser *p, const struct ct__term *term, int operand,
                              const ct_tensor *t, struct ct__sum *sum) {
    char name[TEXT_BYTES];
    for (int i = 0; i < term->rank; i++) {
        int64_t *extent = &sum->extent[(int)term->index[i]], given = t->shape[i];
        if (*extent < 0 || *extent == 1)
            *extent = given;
        else if (given != *extent && given != 1)
            return fail(p, CT_ESHAPE,
                        "the %s has extent %" PRId64 " in operand %d and %" PRId64 " before it",
                        name_of(term->index[i], name), given, operand, *extent);
    }
    return CT_OK;
}

// A letter twice in one term walks a diagonal: both extents must be the same there.
static ct_status check_diagonals(struct parser *p, const struct ct__term *term, int operand,
                                 const ct_tensor *t) {
    char name[TEXT_BYTES];
    for (int i = 0; i < term->rank; i++)
        for (int k = 0; k < i; k++)
            if (term->index[i] == term->index[k] && t->shape[i] != t->shape[k])
                return fail(p, CT_ESHAPE,
                            "the %s has the extents %" PRId64 " and %" PRId64 " in operand %d",
                            name_of(term->index[i], name), t->shape[k], t->shape[i], operand);
    return CT_OK;
}

static ct_status read_operand(struct parser *p, int operand, const ct_tensor *t,
                              struct ct__term *term, struct ct__sum *sum) {
    struct term_text text;
    if (read_term(p, &text))
        return p->status;
    if (*p->at != ',' && *p->at != '\0' && strncmp(p->at, "->", 2) != 0)
        return fail_character(p);
    if (check_rank(p, &text, operand, t->rank))
        return p->status;
    place_term(&text, t->rank - text.letters, term);
    return check_diagonals(p, term, operand, t) ? p->status
                                                : take_extents(p, term, operand, t, sum);
}

static ct_status fail_count(struct parser *p, int terms, int n) {
    return fail(p, CT_EINVAL, "%s%d term%s and %d operand%s given", terms > n ? "more than " : "",
                terms > n ? n : terms, (terms > n ? n : terms) == 1 ? "" : "s", n,
                n == 1 ? " was" : "s were");
}

static ct_status read_operands(struct parser *p, int n, const ct_tensor *const operands[],
                               struct ct__term *terms, struct ct__sum *sum) {
    for (int i = 0; i < n; i++) {
        if (read_operand(p, i, operands[i], &terms[i], sum))
            return p->status;
        bool more = *p->at == ',';
        if (more != (i + 1 < n))
            return fail_count(p, more ? n + 1 : i + 1, n);
        p->at += more;
    }
    return CT_OK;
}

// --- the result

// The number of axes of "...", which have the indices at the end.
static int dots_width(const struct ct__sum *sum) {
    int width = 0;
    while (width < CT_MAX_RANK && sum->extent[CT__INDICES - 1 - width] >= 0)
        width++;
    return width;
}

static ct_status check_result(struct parser *p, const struct term_text *text,
                              const struct ct__sum *sum) {
    for (int i = 0; i < text->letters; i++) {
        char letter = letter_of(text->letter[i]);
        if (sum->extent[(int)text->letter[i]] < 0)
            return fail(p, CT_EINVAL, "the letter '%c' at character %zu is in no operand", letter,
                        place_of(p, text->place[i]));
        for (int k = 0; k < i; k++)
            if (text->letter[k] == text->letter[i])
                return fail(p, CT_EINVAL,
                            "the letter '%c' at character %zu stands twice in the result", letter,
                            place_of(p, text->place[i]));
    }
    if (text->dots < 0 && dots_width(sum) > 0)
        return fail(p, CT_EINVAL, "the operands have %d ax%s of '...' and the result has no '...'",
                    dots_width(sum), dots_width(sum) == 1 ? "is" : "es");
    return CT_OK;
}

static ct_status fail_result_rank(struct parser *p, int rank) {
    return fail(p, CT_ESHAPE, "the result has %d axes, more than %d", rank, CT_MAX_RANK);
}

static ct_status read_result(struct parser *p, struct ct__sum *sum) {
    struct term_text text;
    p->at += strlen("->");
    if (read_term(p, &text))
        return p->status;
    if (*p->at != '\0')
        return fail(p, CT_EINVAL, "the result ends at character %zu and more follows",
                    place_of(p, p->at));
    if (check_result(p, &text, sum))
        return p->status;
    int width = text.dots >= 0 ? dots_width(sum) : 0;
    if (text.letters + width > CT_MAX_RANK)
        return fail_result_rank(p, text.letters + width);
    place_term(&text, width, &sum->result);
    return CT_OK;
}

// The axes of "...", then the letters that stand once, in order.
static ct_status imply_result(struct parser *p, int n, const struct ct__term *terms,
                              struct ct__sum *sum) {
    int uses[CT__LETTERS] = {0}, rank = dots_width(sum);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < terms[i].rank; k++)
            if (terms[i].index[k] < CT__LETTERS)
                uses[(int)terms[i].index[k]]++;
    for (int i = 0; i < rank; i++)
        sum->result.index[i] = (signed char)(CT__INDICES - rank + i);
    for (int i = 0; i < CT__LETTERS; i++)
        if (uses[i] == 1 && rank++ < CT_MAX_RANK)
            sum->result.index[rank - 1] = (signed char)i;
    sum->result.rank = rank;
    return rank > CT_MAX_RANK ? fail_result_rank(p, rank) : CT_OK;
}

ct_status ct__parse_sum(const char *who, const char *subscripts, int n,
                        const ct_tensor *const operands[], struct ct__term *terms,
                        struct ct__sum *sum) {
    struct parser p = {.who = who, .text = subscripts, .at = subscripts};
    for (int i = 0; i < CT__INDICES; i++)
        sum->extent[i] = -1;
    if (read_operands(&p, n, operands, terms, sum))
        return p.status;
    return *p.at == '\0' ? imply_result(&p, n, terms, sum) : read_result(&p, sum);
}
