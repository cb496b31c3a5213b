/* Elementwise loops of a scalar type: what one item gives is what n items give at any steps, in place
   or not, and a checked type stops where it says. */
#include "conformance.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_ARITY = 3,
    WIDEST = 3, /* step, in items */
    ROOM = CONFORM_ITEM + (CONFORM_ITEMS + 1) * WIDEST * (int)CONFORM_ITEM,
    GUARD = 0xa5
};

/* A run of an op: operands one behind the other, what each item gives, and memory to lay them in. */
struct loop_case {
    struct trial *trial;
    enum ct_op op;
    int arity;
    size_t n, place; /* the first item without a result, or n */
    size_t size[MAX_ARITY + 1];
    int step[MAX_ARITY + 1]; /* in items */
    _Alignas(64) char items[MAX_ARITY][CONFORM_ITEMS][CONFORM_ITEM];
    _Alignas(64) char wanted[CONFORM_ITEMS][CONFORM_ITEM];
    _Alignas(64) char memory[MAX_ARITY + 1][ROOM], before[MAX_ARITY + 1][ROOM];
};

static struct loop_case c; /* too large for a stack */

static const int steps[] = {1, 2, -1, 0, 3, -2};

/* Where item i of an operand lies. */
static char *place_of(char *memory, int operand, size_t i) {
    size_t align = c.size[operand] == 1 ? 1 : c.trial->scalar->align;
    ptrdiff_t step = c.step[operand], first = step < 0 ? -step * (ptrdiff_t)(c.n - 1) : 0;
    return memory + align + (first + step * (ptrdiff_t)i) * (ptrdiff_t)c.size[operand];
}

/* The bytes of an operand's memory that this run may reach, and some more. */
static size_t room_of(int operand) {
    return CONFORM_ITEM + (c.n + 1) * WIDEST * c.size[operand];
}

static void set_op(struct trial *trial, enum ct_op op) {
    c.trial = trial;
    c.op = op;
    c.arity = ct_op_arity(op);
    for (int k = 0; k < c.arity; k++)
        c.size[k] = ct_op_takes_mask(op, k) ? 1 : trial->scalar->size;
    c.size[c.arity] = ct_op_gives_mask(op) ? 1 : trial->scalar->size;
}

static void draw_operands(size_t i) {
    for (int k = 0; k < c.arity; k++) {
        if (c.size[k] == 1 && ct_op_takes_mask(c.op, k))
            c.items[k][i][0] = (char)(draw_bits(&c.trial->draw) % 3); /* all but 0 is true */
        else
            trial_item(c.trial, c.items[k][i]);
    }
}

static bool single(size_t i, void *y) {
    const void *in[MAX_ARITY];
    for (int k = 0; k < c.arity; k++)
        in[k] = c.items[k][c.step[k] == 0 ? 0 : i];
    return one_item(c.trial->scalar, c.op, in, y);
}

static void find_wanted(void) {
    c.place = 0;
    while (c.place < c.n && single(c.place, c.wanted[c.place]))
        c.place++;
}

static void lay_out_operands(void) {
    for (int k = 0; k <= c.arity; k++) {
        memset(c.memory[k], GUARD, room_of(k));
        for (size_t i = 0; i < c.n && k < c.arity; i++)
            memcpy(place_of(c.memory[k], k, i), c.items[k][c.step[k] == 0 ? 0 : i], c.size[k]);
        memcpy(c.before[k], c.memory[k], room_of(k));
    }
}

static bool fault(const char *what, size_t i) {
    char text[80];
    int length = snprintf(text, sizeof text, "steps");
    for (int k = 0; k <= c.arity; k++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %d", c.step[k]);
    return trial_fault(c.trial, "%s, n = %zu, %s: %s at %zu", ct_op_name(c.op), c.n, text, what, i);
}

static bool same_result(const void *a, const void *b) {
    if (ct_op_gives_mask(c.op))
        return *(const char *)a == *(const char *)b;
    return same_item(c.trial->scalar, a, b);
}

/* What a loop left in memory: results up to the place, and nothing else changed. */
static bool check_memory(char *memory, char *before) {
    int y = c.arity;
    for (size_t i = 0; i < c.place; i++) {
        if (!same_result(place_of(memory, y, i), c.wanted[i]))
            return fault("another result than of one item", i);
        memcpy(place_of(memory, y, i), place_of(before, y, i), c.size[y]);
    }
    return memcmp(memory, before, room_of(y)) == 0 ||
           fault("wrote where it should not, after", c.place);
}

static bool run_loop(char *const ptr[]) {
    const ct_scalar *s = c.trial->scalar;
    ptrdiff_t step[MAX_ARITY + 1];
    for (int k = 0; k <= c.arity; k++)
        step[k] = c.step[k] * (ptrdiff_t)c.size[k];
    size_t done = ct_scalar_loop(s, c.op)(s, c.op, c.n, ptr, step);
    if (done != c.place)
        return fault("stops or not, other than one item does,", done);
    return s->traits & CT_CHECKED || done == c.n || fault("an unchecked type stops", done);
}

static bool run_apart(void) {
    char *ptr[MAX_ARITY + 1];
    lay_out_operands();
    for (int k = 0; k <= c.arity; k++)
        ptr[k] = place_of(c.memory[k], k, 0);
    if (!run_loop(ptr) || !check_memory(c.memory[c.arity], c.before[c.arity]))
        return false;
    for (int k = 0; k < c.arity; k++)
        if (memcmp(c.memory[k], c.before[k], room_of(k)) != 0)
            return fault("changes an operand", (size_t)k);
    return true;
}

/* The result lies exactly on operand k. */
static bool run_in_place(int k) {
    char *ptr[MAX_ARITY + 1];
    if (c.size[k] != c.size[c.arity] || c.step[k] == 0)
        return true;
    c.step[c.arity] = c.step[k];
    lay_out_operands();
    for (int i = 0; i < c.arity; i++)
        ptr[i] = place_of(c.memory[i], i, 0);
    ptr[c.arity] = ptr[k];
    return run_loop(ptr) && check_memory(c.memory[k], c.before[k]);
}

/* At some steps, apart and in place. */
static bool run_all_ways(size_t n) {
    c.n = n;
    for (int k = 0; k <= c.arity; k++)
        c.step[k] = steps[draw_bits(&c.trial->draw) % COUNT(steps)];
    if (c.step[c.arity] == 0)
        c.step[c.arity] = 1;
    find_wanted();
    if (!run_apart())
        return false;
    for (int k = 0; k < c.arity; k++)
        if (!run_in_place(k))
            return false;
    return true;
}

/* A failing item put at every place among ones that do not fail. */
static bool run_failing(void) {
    _Alignas(64) char result[CONFORM_ITEM];
    size_t bad = CONFORM_ITEMS - 1, good = bad - 1, found = 0;
    for (int k = 0; k < c.arity; k++)
        c.step[k] = 1;
    for (int tries = 0; tries < 3000 && found != 3; tries++) {
        size_t at = found & 1 ? good : bad;
        draw_operands(at);
        if (single(at, result) == (at == good))
            found |= at == bad ? 1 : 2;
        else if (at == bad && tries == 2000)
            return true; /* it seems to have a result always */
    }
    for (size_t place = 0; found == 3 && place < 41; place++) {
        size_t n = place + 1 + draw_bits(&c.trial->draw) % 4;
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < c.arity; k++)
                memcpy(c.items[k][i], c.items[k][i == place ? bad : good], CONFORM_ITEM);
        c.n = n;
        c.step[c.arity] = 1;
        find_wanted();
        if (c.place != place)
            return fault("one item fails not always", place);
        if (!run_apart() || !run_in_place(c.arity - 1))
            return false;
    }
    return true;
}

bool conforms_op(struct trial *trial, enum ct_op op) {
    static const size_t long_ones[] = {64, 255, 256, 257, 300};
    set_op(trial, op);
    for (int round = trial->scalar->base ? 1 : 0; round < 2; round++) /* duals take their time */
        for (size_t n = 0; n <= 40 + COUNT(long_ones); n++) {
            size_t items = n <= 40 ? n : long_ones[n - 41];
            for (size_t i = 0; i < items || i == 0; i++)
                draw_operands(i);
            if (!run_all_ways(items))
                return false;
        }
    return !(trial->scalar->traits & CT_CHECKED) || run_failing();
}
