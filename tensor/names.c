/* Axis names: the shared block of texts, and how they follow axes through functions. */

#include "tensor/ct_names.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"
#include "tensor/names.h"

#include <stddef.h>

struct ct__names {
    _Atomic size_t shares;
    int count;
    char text[CT_MAX_RANK][CT_MAX_NAME + 1]; /* `count` of them are there, no two alike */
};

void ct__names_take(struct ct__names *names) {
    if (names)
        atomic_fetch_add_explicit(&names->shares, 1, memory_order_relaxed);
}

void ct__names_drop(struct ct__names *names) {
    if (names && atomic_fetch_sub_explicit(&names->shares, 1, memory_order_acq_rel) == 1)
        ct__free(names);
}

const char *ct__name_of(const ct_tensor *t, int axis) {
    return t->names && t->name[axis] >= 0 ? t->names->text[t->name[axis]] : NULL;
}

void ct__names_tidy(ct_tensor *t) {
    if (!t->names)
        return;
    for (int i = 0; i < t->rank; i++)
        if (t->name[i] >= 0)
            return;
    ct__names_drop(t->names);
    t->names = NULL;
}

bool ct__names_are_sound(const ct_tensor *t) {
    unsigned seen = 0;
    for (int i = 0; t->names && i < t->rank; i++) {
        int name = t->name[i];
        if (name < -1 || name >= t->names->count || (name >= 0 && seen & 1u << name))
            return false;
        seen |= name >= 0 ? 1u << name : 0;
    }
    return !t->names || seen != 0;
}

/* --- what a name is --- */

/* The length of the UTF-8 character at s, 0 where it is broken or a control character (RFC 3629,
   section 4: cut short, longer than needed, a surrogate, beyond U+10FFFF). */
static size_t character_length(const unsigned char *s) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80       ? 1
                    : s[0] >> 5 == 6  ? 2
                    : s[0] >> 4 == 14 ? 3
                    : s[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0)
        return 0;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2) /* the zero byte at the end of the text too */
            return 0;
        c = c << 6 | (s[i] & 0x3FU);
    }
    bool broken = c < least[length] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF;
    bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    return broken || control ? 0 : length;
}

/* What keeps a text from being a name, in words, or NULL. */
static const char *find_fault(const char *name) {
    size_t length = strnlen(name, CT_MAX_NAME + 1);
    if (length == 0)
        return "is empty";
    if (length > CT_MAX_NAME)
        return "is longer than 31 bytes";
    for (size_t i = 0, step; i < length; i += step) {
        step = character_length((const unsigned char *)name + i);
        if (step == 0)
            return "is not UTF-8 without control characters";
    }
    return NULL;
}

bool ct_is_axis_name(const char *name) {
    return name && !find_fault(name);
}

ct_status ct__check_name(const char *who, int axis, const char *name) {
    const char *fault = find_fault(name);
    if (!fault)
        return CT_OK;
    return who ? ct__fail(CT_EAXIS, who, "the name of axis %d %s", axis, fault) : CT_EAXIS;
}

/* An axis whose name another one before it has, or -1. */
static int repeated_name(int n, const char *const name[], int *first) {
    for (int i = 1; i < n; i++)
        for (int j = 0; name[i] && j < i; j++)
            if (name[j] && strcmp(name[i], name[j]) == 0) {
                *first = j;
                return i;
            }
    return -1;
}

ct_status ct__check_distinct(const char *who, int n, const char *const name[]) {
    int first, axis = repeated_name(n, name, &first);
    if (axis < 0)
        return CT_OK;
    if (!who)
        return CT_EAXIS;
    return ct__fail(CT_EAXIS, who, "the axes %d and %d would both be named '%s'", first, axis,
                    name[axis]);
}

/* --- giving names to a result --- */

ct_status ct__names_set(const char *who, ct_tensor *out, const char *const name[]) {
    int count = 0;
    for (int i = 0; i < out->rank; i++)
        count += name[i] != NULL;
    ct_status status = ct__check_distinct(who, out->rank, name);
    if (status || count == 0)
        return status;
    struct ct__names *names =
        ct__alloc(offsetof(struct ct__names, text) + (size_t)count * sizeof names->text[0]);
    if (!names)
        return ct__fail(CT_ENOMEM, who, "there is no memory for the names of %d axes", out->rank);
    atomic_init(&names->shares, 1);
    names->count = 0;
    for (int i = 0; i < out->rank; i++) {
        out->name[i] = -1;
        if (!name[i])
            continue;
        out->name[i] = (int8_t)names->count;
        strncpy(names->text[names->count++], name[i], sizeof names->text[0]);
    }
    out->names = names;
    return CT_OK;
}

void ct__names_kept(ct_tensor *out, const ct_tensor *in, unsigned mask, bool keepdims) {
    if (!in->names)
        return;
    for (int i = 0, to = 0; i < in->rank; i++)
        if (keepdims || !(mask & 1u << i))
            out->name[to++] = in->name[i];
    out->names = in->names;
    ct__names_take(out->names);
    ct__names_tidy(out);
}

void ct__names_from(ct_tensor *out, const ct_tensor *in, const int *from) {
    if (!in->names)
        return;
    out->names = in->names;
    ct__names_take(out->names);
    for (int i = 0; i < out->rank; i++)
        out->name[i] = from[i] < 0 ? (int8_t)-1 : in->name[from[i]];
    ct__names_tidy(out);
}

/* Shares the block of an operand if it has all the names, so that no memory is needed. */
static bool share_block(ct_tensor *out, const ct_tensor *in, const char *const name[]) {
    int8_t found[CT_MAX_RANK];
    if (!in->names)
        return false;
    for (int i = 0; i < out->rank; i++) {
        found[i] = -1;
        for (int k = 0; name[i] && found[i] < 0; k++) {
            if (k == in->names->count)
                return false;
            if (strcmp(name[i], in->names->text[k]) == 0)
                found[i] = (int8_t)k;
        }
    }
    memcpy(out->name, found, sizeof found[0] * (size_t)out->rank);
    out->names = in->names;
    ct__names_take(out->names);
    ct__names_tidy(out);
    return true;
}

static ct_status share_or_set(const char *who, ct_tensor *out, int n, const ct_tensor *const in[],
                              const char *const name[]) {
    ct_status status = ct__check_distinct(who, out->rank, name);
    for (int i = 0; i < n && !status; i++)
        if (share_block(out, in[i], name))
            return CT_OK;
    return status ? status : ct__names_set(who, out, name);
}

/* The names of `rank` axes of a broadcast, from the first `own` axes of an operand, aligned from
   the right, into those found so far. */
static ct_status merge_one(const char *who, int rank, const char *name[], const ct_tensor *in,
                           int own, bool two) {
    for (int i = 0; in->names && i < own; i++) {
        int axis = rank - own + i;
        const char *mine = ct__name_of(in, i);
        if (mine && name[axis] && strcmp(mine, name[axis]) != 0)
            return !who ? CT_EAXIS
                        : ct__fail(CT_EAXIS, who,
                                   "axis %d is named '%s' in one operand and '%s' in %s", axis,
                                   name[axis], mine, two ? "the other" : "another");
        if (mine)
            name[axis] = mine;
    }
    return CT_OK;
}

static ct_status merge_all(const char *who, int rank, const char *name[], int n,
                           const ct_tensor *const in[]) {
    ct_status status = CT_OK;
    for (int i = 0; i < n && !status; i++)
        status = merge_one(who, rank, name, in[i], in[i]->rank, n == 2);
    return status;
}

ct_status ct__names_merge_some(const char *who, ct_tensor *out, int n,
                               const ct_tensor *const in[]) {
    const char *name[CT_MAX_RANK] = {NULL};
    ct_status status = merge_all(who, out->rank, name, n, in);
    return status ? status : share_or_set(who, out, n, in, name);
}

ct_status ct__names_check(const char *who, int rank, int n, const ct_tensor *const in[]) {
    const char *name[CT_MAX_RANK] = {NULL};
    ct_status status = merge_all(who, rank, name, n, in);
    return status ? status : ct__check_distinct(who, rank, name);
}

bool ct_names_agree(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return false;
    int rank = a->rank > b->rank ? a->rank : b->rank;
    return !ct__names_check(NULL, rank, 2, (const ct_tensor *[]){a, b});
}

/* The names of the `rank` axes of a matrix product, which may not be distinct. */
static ct_status merge_matmul(const char *who, int rank, const char *name[], const ct_tensor *a,
                              const ct_tensor *b) {
    int row = a->rank > 1, column = b->rank > 1, batches = rank - row - column;
    ct_status status = merge_one(who, batches, name, a, row ? a->rank - 2 : 0, true);
    if (!status)
        status = merge_one(who, batches, name, b, column ? b->rank - 2 : 0, true);
    if (status)
        return status;
    if (row)
        name[batches] = ct__name_of(a, a->rank - 2);
    if (column)
        name[batches + row] = ct__name_of(b, b->rank - 1);
    return CT_OK;
}

ct_status ct__names_matmul(const char *who, ct_tensor *out, const ct_tensor *a,
                           const ct_tensor *b) {
    if (!a->names && !b->names)
        return CT_OK;
    const char *name[CT_MAX_RANK] = {NULL};
    ct_status status = merge_matmul(who, out->rank, name, a, b);
    return status ? status : share_or_set(who, out, 2, (const ct_tensor *[]){a, b}, name);
}

bool ct__names_fit_matmul(int rank, const ct_tensor *a, const ct_tensor *b) {
    const char *name[CT_MAX_RANK] = {NULL};
    return !merge_matmul(NULL, rank, name, a, b) && !ct__check_distinct(NULL, rank, name);
}

/* --- texts --- */

const char *ct__name_note(char text[CT__NAME_NOTE_BYTES], const char *name) {
    text[0] = '\0';
    if (name)
        snprintf(text, CT__NAME_NOTE_BYTES, " ('%s')", name);
    return text;
}

void ct__format_names(char text[CT__NAMES_TEXT_BYTES], const ct_tensor *t) {
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < t->rank; i++) {
        const char *name = ct__name_of(t, i);
        at += (size_t)snprintf(text + at, CT__NAMES_TEXT_BYTES - at, "%s%s", i ? ", " : "",
                               name ? name : "-");
    }
    text[at++] = ']';
    text[at] = '\0';
}
