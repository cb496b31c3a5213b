/* Elementwise ops that a scalar type does not bring but can express: the value formula of the op's
   row, evaluated over blocks, each word by the op of the type that has its name. sign, relu, square
   and clamp of integers are made so.

   A formula holds only words which a type must bring itself (a row whose formula is its own name),
   so no derivation rests on another. Whether a type has them all is found by a dry run: the same
   functions, which then touch no item.

   Of a checked type, an item that has no result at some word goes on as a zero that is marked; a
   choice drops the mark with what it does not choose, so elu of 40 does not fail by the exp(40)
   that it has no use for. */

#include "tensor/scalar_default.h"

#include <math.h>
#include <string.h>

enum {
    MAX_ARITY = 3,
    SLOTS = 16,        /* temporaries alive at a time */
    BLOCK = 256,       /* items in a block, at most */
    SLOT_BYTES = 2048, /* of a block */
    ANY_SLOT = -1      /* an operand, which is nobody's temporary */
};

/* What the words of a formula share. */
struct work {
    const ct_scalar *self;
    enum ct_op op; /* that is being derived */
    size_t n;      /* items in this block */
    bool dry;      /* only asks whether all words exist */
    bool missing;  /* one does not */
    unsigned used; /* slots, a bit each */
    struct slots *slots;
};

struct slots {
    _Alignas(CT__ITEM_ALIGN) char items[SLOTS][SLOT_BYTES];
    unsigned char fault[SLOTS][BLOCK]; /* 1: this item has no result */
};

/* n items: an operand's, or a temporary, which the word that reads it gives back. */
typedef struct block {
    struct work *work;
    char *p;
    ptrdiff_t step;
    int slot;
    bool faulty; /* some items have no result */
    bool beyond; /* an infinity that the type does not have */
} block;

static block temporary(struct work *work, size_t size) {
    int slot = 0;
    while (slot < SLOTS && work->used & 1u << slot)
        slot++;
    if (slot == SLOTS) {
        work->missing = true;
        slot = 0;
    }
    work->used |= 1u << slot;
    char *p = work->dry ? NULL : work->slots->items[slot];
    return (block){work, p, (ptrdiff_t)size, slot, false, false};
}

static void give_back(struct work *work, int n, const block *in) {
    for (int i = 0; i < n; i++)
        if (in[i].slot != ANY_SLOT)
            work->used &= ~(1u << in[i].slot);
}

static block constant(struct work *work, double value) {
    _Alignas(CT__ITEM_ALIGN) char item[CT__DEFAULT_ITEM_BYTES];
    block k = temporary(work, work->self->size);
    bool fits = work->self->from_double(work->self, work->dry ? item : k.p, value);
    k.beyond = !fits && isinf(value);
    if (!fits && !k.beyond)
        work->missing = true;
    k.step = 0;
    return k;
}

/* --- items without a result --- */

static void clear_item(const struct work *work, char *item, size_t bytes) {
    if (bytes == 1 || !work->self->from_double(work->self, item, 0))
        memset(item, 0, bytes);
}

/* The marks of a word's operands, those that a choice left out excepted. */
static void inherit_faults(enum ct_op op, int arity, const block *in, block *out) {
    const struct work *work = out->work;
    unsigned char *fault = work->slots->fault[out->slot];
    memset(fault, 0, work->n);
    for (int i = 0; i < arity; i++) {
        if (!in[i].faulty)
            continue;
        const unsigned char *from = work->slots->fault[in[i].slot];
        for (size_t j = 0; j < work->n; j++) {
            bool chosen = in[0].p[(ptrdiff_t)j * in[0].step] != 0;
            fault[j] |= from[j] && (op != CT_OP_where || i == 0 || chosen == (i == 1));
        }
        out->faulty = true;
    }
}

/* Runs a loop past the items that have no result, and marks those. */
static void run_marking(ct_loop_fn *loop, enum ct_op op, int arity, char *const ptr[],
                        const ptrdiff_t step[], block *out) {
    struct work *work = out->work;
    size_t at = 0;
    while (at < work->n) {
        char *here[MAX_ARITY + 1];
        for (int i = 0; i <= arity; i++)
            here[i] = ptr[i] + (ptrdiff_t)at * step[i];
        at += loop(work->self, op, work->n - at, here, step);
        if (at >= work->n)
            return;
        if (!out->faulty)
            memset(work->slots->fault[out->slot], 0, work->n);
        out->faulty = true;
        work->slots->fault[out->slot][at] = 1;
        clear_item(work, out->p + (ptrdiff_t)at * out->step, (size_t)out->step);
        at++;
    }
}

/* --- words --- */

static void run_word(ct_loop_fn *loop, enum ct_op op, int arity, const block *in, block *out) {
    char *ptr[MAX_ARITY + 1];
    ptrdiff_t step[MAX_ARITY + 1];
    for (int i = 0; i < arity; i++) {
        ptr[i] = in[i].p;
        step[i] = in[i].step;
    }
    ptr[arity] = out->p;
    step[arity] = out->step;
    if (!(out->work->self->traits & CT_CHECKED)) {
        loop(out->work->self, op, out->work->n, ptr, step);
        return;
    }
    inherit_faults(op, arity, in, out);
    run_marking(loop, op, arity, ptr, step, out);
}

/* Where the order is partial, "not less" does not mean "greater or equal", and a formula that
   branches on it says something else than its row does. */
static bool needs_order(enum ct_op op) {
    return ct_op_kind_of(op) == CT_KIND_COMPARE && op != CT_OP_equal && op != CT_OP_not_equal;
}

/* Whether every item differs from an infinity that the type does not have: formulas guard their ends
   so. Nothing else can be done with one. */
static block compare_beyond(enum ct_op op, int arity, const block *in) {
    struct work *work = in[0].work;
    block out = temporary(work, 1);
    if (op != CT_OP_equal && op != CT_OP_not_equal)
        work->missing = true;
    if (!work->dry)
        out.p[0] = op == CT_OP_not_equal;
    out.step = 0;
    give_back(work, arity, in);
    return out;
}

static block word(enum ct_op op, int arity, const block *in) {
    for (int i = 0; i < arity; i++)
        if (in[i].beyond)
            return compare_beyond(op, arity, in);
    struct work *work = in[0].work;
    block out = temporary(work, ct_op_gives_mask(op) ? 1 : work->self->size);
    ct_loop_fn *loop = op == work->op ? NULL : ct__primitive_loop(work->self, op);
    if (!loop || (needs_order(op) && !(work->self->traits & CT_ORDERED)))
        work->missing = true;
    else if (!work->dry)
        run_word(loop, op, arity, in, &out);
    give_back(work, arity, in);
    return out;
}

/* Masks are bytes, 0 or 1, whatever the type: their words need no op of it. */
static size_t run_mask(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                       const ptrdiff_t step[]) {
    bool one = op == CT_OP_logical_not;
    (void)self;
    for (size_t i = 0; i < n; i++) {
        int a = ptr[0][(ptrdiff_t)i * step[0]] != 0;
        int b = one ? 1 : ptr[1][(ptrdiff_t)i * step[1]] != 0;
        ptr[one ? 1 : 2][(ptrdiff_t)i * step[one ? 1 : 2]] =
            (char)(op == CT_OP_logical_and  ? a & b
                   : op == CT_OP_logical_or ? a | b
                                            : a ^ b);
    }
    return n;
}

static block mask_word(enum ct_op op, int arity, const block *in) {
    struct work *work = in[0].work;
    block out = temporary(work, 1);
    if (!work->dry)
        run_word(run_mask, op, arity, in, &out);
    give_back(work, arity, in);
    return out;
}

#define WORD_OF static inline __attribute__((unused)) block
#define ONE(id, WORD, run)                                                                         \
    WORD_OF WORD(block a) {                                                                        \
        return run(CT_OP_##id, 1, &a);                                                             \
    }
#define TWO(id, WORD, run)                                                                         \
    WORD_OF WORD(block a, block b) {                                                               \
        return run(CT_OP_##id, 2, (const block[]){a, b});                                          \
    }
#define THREE(id, WORD, run)                                                                       \
    WORD_OF WORD(block a, block b, block c) {                                                      \
        return run(CT_OP_##id, 3, (const block[]){a, b, c});                                       \
    }
/* Every row's own word ... */
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 ONE(id, WORD, word)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         TWO(id, WORD, word)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) THREE(id, WORD, word)
#define CMP(id, WORD, value, oracle, doc)                         TWO(id, WORD, word)
#define TST(id, WORD, value, oracle, doc)                         ONE(id, WORD, word)
#define SEL(id, WORD, value, p1, p2, oracle, doc)                 THREE(id, WORD, word)
#include "tensor/ops.def"
/* ... and the words of values that are spelled otherwise than the row which holds them. */
TWO(maximum, MAX, word)
TWO(minimum, MIN, word)
TWO(equal, EQ, word)
TWO(not_equal, NE, word)
TWO(less, LT, word)
TWO(less_equal, LE, word)
TWO(greater, GT, word)
TWO(greater_equal, GE, word)
ONE(logical_not, NOT, mask_word)
TWO(logical_and, AND, mask_word)
TWO(logical_or, OR, mask_word)
TWO(logical_xor, XOR, mask_word)

#define K(c) constant(P, (double)(c))
/* Kernels have them as one function each, which keeps what roundings lose. */
#define GATE(x, y)      WHERE(EQ(x, K(-INFINITY)), K(-0.0), MUL(x, y))
#define SILU_OF(x)      GATE(x, SIGMOID(x))
#define MISH_OF(x)      GATE(x, TANH(SOFTPLUS(x)))
#define GELU_TANH_OF(x) GATE(x, SIGMOID(MUL(K(1.5957691216057308), MUL(x, ADD(K(1), MUL(K(0.044715), MUL(x, x)))))))

/* --- the formulas --- */

typedef block formula_fn(struct work *P, block X, block Z, block W);

#define FORMULA(id, value)                                                                         \
    static block id##_value(struct work *P, block X, block Z, block W) {                           \
        (void)P, (void)X, (void)Z, (void)W;                                                        \
        return value;                                                                              \
    }
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 FORMULA(id, value)
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         FORMULA(id, value)
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) FORMULA(id, value)
#define TST(id, WORD, value, oracle, doc)                         FORMULA(id, value)
#include "tensor/ops.def"

static formula_fn *const formulas[CT_OP_COUNT] = {
#define EW1(id, WORD, d0, value, p0, oracle, doc)                 [CT_OP_##id] = id##_value,
#define EW2(id, WORD, d0, d1, value, p0, p1, oracle, doc)         [CT_OP_##id] = id##_value,
#define EW3(id, WORD, d0, d1, d2, value, p0, p1, p2, oracle, doc) [CT_OP_##id] = id##_value,
#define TST(id, WORD, value, oracle, doc)                         [CT_OP_##id] = id##_value,
#include "tensor/ops.def"
};

static block evaluate(struct work *work, int arity, char *const ptr[], const ptrdiff_t step[]) {
    block v[MAX_ARITY] = {{0}};
    for (int i = 0; i < arity; i++)
        v[i] = (block){work, ptr ? ptr[i] : NULL, ptr ? step[i] : 0, ANY_SLOT, false, false};
    work->used = 0;
    block result = formulas[work->op](work, v[0], v[1], v[2]);
    work->missing |= result.beyond;
    return result;
}

/* --- loops --- */

static inline __attribute__((always_inline)) void
copy_each(size_t bytes, size_t n, const block *from, char *to, ptrdiff_t step) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + (ptrdiff_t)i * step, from->p + (ptrdiff_t)i * from->step, bytes);
}

/* The common sizes as constants, which a compiler turns into moves. */
static void copy_items(size_t bytes, size_t n, const block *from, char *to, ptrdiff_t step) {
    if (step == (ptrdiff_t)bytes && from->step == step)
        memmove(to, from->p, n * bytes);
    else if (bytes == 4)
        copy_each(4, n, from, to, step);
    else if (bytes == 8)
        copy_each(8, n, from, to, step);
    else
        copy_each(bytes, n, from, to, step);
}

/* The result may be an operand, so it is written last. Returns the items that have one, up to the
   first that does not. */
static size_t write_block(const struct work *work, const block *from, char *to, ptrdiff_t step) {
    size_t n = work->n, bytes = ct_op_gives_mask(work->op) ? 1 : work->self->size;
    if (from->faulty) {
        const void *fault = memchr(work->slots->fault[from->slot], 1, n);
        if (fault)
            n = (size_t)((const unsigned char *)fault - work->slots->fault[from->slot]);
    }
    copy_items(bytes, n, from, to, step);
    return n;
}

static size_t run_formula(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                          const ptrdiff_t step[]) {
    struct slots slots;
    struct work work = {.self = self, .op = op, .slots = &slots};
    int arity = ct_op_arity(op);
    size_t most = SLOT_BYTES / self->size < BLOCK ? SLOT_BYTES / self->size : BLOCK;
    for (size_t at = 0; at < n; at += most) {
        char *here[MAX_ARITY + 1];
        for (int i = 0; i <= arity; i++)
            here[i] = ptr[i] + (ptrdiff_t)at * step[i];
        work.n = n - at < most ? n - at : most;
        block result = evaluate(&work, arity, here, step);
        size_t done = write_block(&work, &result, here[arity], step[arity]);
        if (done < work.n)
            return at + done;
    }
    return n;
}

/* Of a type that cannot hold an infinity. */
static size_t run_without_infinities(const ct_scalar *self, enum ct_op op, size_t n,
                                     char *const ptr[], const ptrdiff_t step[]) {
    (void)self;
    for (size_t i = 0; i < n; i++)
        ptr[1][(ptrdiff_t)i * step[1]] = op == CT_OP_isfinite;
    return n;
}

static bool lacks_infinities(const ct_scalar *scalar, enum ct_op op) {
    _Alignas(CT__ITEM_ALIGN) char item[CT__DEFAULT_ITEM_BYTES];
    return (op == CT_OP_isinf || op == CT_OP_isfinite) &&
           !scalar->from_double(scalar, item, (double)INFINITY);
}

ct_loop_fn *ct__derived_loop(const ct_scalar *scalar, enum ct_op op) {
    if (!formulas[op] || scalar->size > CT__DEFAULT_ITEM_BYTES)
        return NULL;
    if (lacks_infinities(scalar, op))
        return run_without_infinities;
    struct work work = {.self = scalar, .op = op, .dry = true};
    evaluate(&work, ct_op_arity(op), NULL, NULL);
    return work.missing ? NULL : run_formula;
}
