/* Random chains of views, ops and writes on a few variables that share storage, against the naive
   model of tests/chain_model.h, in which every variable is its own. After each step every variable is
   what it is in the model. CT_FUZZ_SEED and CT_FUZZ_CHAINS choose other chains, more of them (make
   fuzz), or one again. */
#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chain_model.h"
#include "index_tools.h"
#include "platform_tools.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_index.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_write.h"
#include "view_chains.h"

Suite *suite_chains(void);

enum { VARIABLES = 5, CHAINS = 4000, TESTS = 4 };
static const double most = 0x1p40; /* so that every sum of products is exact, and fits */

struct variable {
    ct_tensor *t;
    struct model m;
};

struct chain {
    uint64_t seed, state;
    struct variable v[VARIABLES];
    size_t length;
    char text[16384]; /* the steps */
};

static struct chain chain;

/* ---- telling what happened */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n =
        vsnprintf(chain.text + chain.length, sizeof chain.text - chain.length, format, arguments);
    va_end(arguments);
    chain.length += n > 0 ? (size_t)n : 0;
    if (chain.length >= sizeof chain.text)
        chain.length = sizeof chain.text - 1;
}

static void show_chain(void) {
    printf("  CT_FUZZ_SEED=%llu CT_FUZZ_CHAINS=1 build/bin/ct-tests chains  runs it again:\n%s\n",
           (unsigned long long)chain.seed, chain.text);
    fflush(stdout);
}

/* A crash shows the chain, too. */
static void on_signal(int number) {
    show_chain();
    signal(number, SIG_DFL);
    raise(number);
}

__attribute__((format(printf, 1, 2), noreturn)) static void differ(const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show_chain();
    ck_abort_msg("seed %llu: %s", (unsigned long long)chain.seed, text);
}

static void check_variable(int at) {
    const struct variable *v = &chain.v[at];
    double items[MODEL_ITEMS];
    if (ct_check_tensor(v->t) != CT_OK)
        differ("v%d: %s", at, ct_error()->message);
    if (ct_dtype(v->t) != model_scalars[v->m.type])
        differ("v%d is %s", at, ct_dtype(v->t)->name);
    if (ct_rank(v->t) != v->m.rank || ct_count(v->t) != (size_t)v->m.count)
        differ("v%d has rank %d and %zu items, not %d and %d", at, ct_rank(v->t), ct_count(v->t),
               v->m.rank, v->m.count);
    for (int i = 0; i < v->m.rank; i++)
        if (ct_shape(v->t)[i] != v->m.shape[i])
            differ("v%d: axis %d has the extent %lld, not %lld", at, i,
                   (long long)ct_shape(v->t)[i], (long long)v->m.shape[i]);
    if (ct_to_doubles(v->t, (size_t)v->m.count, items) != CT_OK)
        differ("v%d: %s", at, ct_error()->message);
    for (int i = 0; i < v->m.count; i++)
        if (items[i] != v->m.items[i])
            differ("v%d: item %d is %g, not %g", at, i, items[i], v->m.items[i]);
}

/* ---- drawing */

static int below(int n) {
    return n > 0 ? (int)next_below(&chain.state, n) : 0;
}

static int choose(void) {
    return below(VARIABLES);
}

/* A variable that a test likes, or -1; the search starts anywhere. */
typedef bool liking(const struct model *m, const struct model *other);

static int choose_like(liking *likes, const struct model *other) {
    int start = choose();
    for (int i = 0; i < VARIABLES; i++) {
        int at = (start + i) % VARIABLES;
        if (likes(&chain.v[at].m, other))
            return at;
    }
    return -1;
}

static bool same_type_into(const struct model *m, const struct model *other) {
    return m->type == other->type && model_fits_into(m, other);
}

static bool same_type_beside(const struct model *m, const struct model *other) {
    struct model out;
    return m->type == other->type && model_broadcast(&out, m, other);
}

static bool truth_into(const struct model *m, const struct model *other) {
    return m->type == TRUTH && model_fits_into(m, other);
}

static int axis_of(const struct model *m, int *counted) {
    int axis = below(m->rank);
    *counted = below(2) ? axis - m->rank : axis;
    return axis;
}

static double draw_number(enum model_type type) {
    return type == TRUTH ? below(2) : below(19) - 9;
}

/* ---- putting: a result takes the place of some variable, or of what it is made from */

static bool result(ct_tensor *t, const struct model *m, const char *text) {
    int to = choose();
    note("v%d = %s\n", to, text);
    if (!t)
        differ("%s: %s", ct_error()->function, ct_error()->message);
    ct_free(chain.v[to].t);
    chain.v[to].t = t;
    chain.v[to].m = *m;
    return true;
}

static char step_text[300];
#define TEXT(...) (snprintf(step_text, sizeof step_text, __VA_ARGS__), step_text)

static bool step_make(void) {
    static const enum spread spreads[] = {DENSE, DENSE, OFFSET, TRANSPOSED, FLIPPED, GAPS};
    struct model m = {.type = (enum model_type)below(MODEL_TYPES)};
    int64_t shape[3];
    int rank = below(4), how = below(COUNT(spreads));
    for (int i = 0; i < rank; i++)
        shape[i] = below(24) ? 1 + below(4) : 0;
    if (!model_shape(&m, rank, shape))
        return false;
    for (int i = 0; i < m.count; i++)
        m.items[i] = draw_number(m.type);
    ct_tensor *t = ct_from_doubles(model_scalars[m.type], rank, shape, (size_t)m.count, m.items);
    return result(spread_out(t, spreads[how]), &m,
                  TEXT("%s of rank %d, %d items, layout %d", model_scalars[m.type]->name, rank,
                       m.count, how));
}

/* ---- views */

static bool step_slice(void) {
    int from = choose(), counted;
    struct model *m = &chain.v[from].m, out;
    int64_t positions[MODEL_ITEMS];
    if (m->rank == 0)
        return false;
    int axis = axis_of(m, &counted), n = (int)m->shape[axis];
    int64_t start = below(2 * n + 3) - n - 1, stop = below(3) ? below(2 * n + 3) - n - 1 : CT_END;
    int64_t step = below(4) ? 1 + below(2) : -1 - below(2);
    int count = python_slice(n, start, stop, step, positions);
    if (!model_take(&out, m, axis, count, positions))
        return false;
    return result(ct_slice(chain.v[from].t, counted, start, stop, step), &out,
                  TEXT("slice(v%d, %d, %lld, %lld, %lld)", from, counted, (long long)start,
                       (long long)stop, (long long)step));
}

static bool step_permute(void) {
    int from = choose(), axes[MODEL_RANK];
    struct model *m = &chain.v[from].m, out;
    for (int i = 0; i < m->rank; i++)
        axes[i] = i;
    for (int i = m->rank - 1; i > 0; i--) {
        int k = below(i + 1), old = axes[i];
        axes[i] = axes[k];
        axes[k] = old;
    }
    model_permute(&out, m, axes);
    return result(ct_permute(chain.v[from].t, m->rank, axes), &out,
                  TEXT("permute(v%d, first %d)", from, m->rank ? axes[0] : 0));
}

static bool step_reshape(void) {
    int from = choose();
    struct model out = chain.v[from].m;
    int rows = 1 + below(4);
    if (out.count == 0 || out.count % rows)
        return false;
    model_shape(&out, 2, (int64_t[]){rows, out.count / rows});
    return result(ct_reshape(chain.v[from].t, 2, (int64_t[]){rows, -1}), &out,
                  TEXT("reshape(v%d, [%d, -1])", from, rows));
}

static bool step_broadcast(void) {
    int from = choose();
    struct model *m = &chain.v[from].m, wide = {0}, out = {0};
    int64_t shape[MODEL_RANK];
    int rank = m->rank + (m->rank < MODEL_RANK ? below(2) : 0);
    for (int i = 0; i < rank; i++) {
        int64_t own = i < rank - m->rank ? 1 : m->shape[i - (rank - m->rank)];
        shape[i] = own == 1 ? 1 + below(3) : own;
    }
    if (!model_shape(&wide, rank, shape) || !model_broadcast(&out, m, &wide))
        return false;
    out.type = m->type;
    for (int i = 0; i < out.count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(&out, i, index);
        out.items[i] = model_at(m, rank, index);
    }
    return result(ct_broadcast_to(chain.v[from].t, rank, shape), &out,
                  TEXT("broadcast_to(v%d, rank %d)", from, rank));
}

static bool step_copy(void) {
    int from = choose(), how = below(3);
    ct_tensor *t = chain.v[from].t;
    struct model out = chain.v[from].m;
    return result(how ? ct_copy(t) : ct_compact(t), &out,
                  TEXT("%s(v%d)", how ? "copy" : "compact", from));
}

/* ---- ops that make tensors */

static const enum ct_op binary_ops[] = {CT_OP_add,     CT_OP_sub,           CT_OP_mul,
                                        CT_OP_maximum, CT_OP_minimum,       CT_OP_less,
                                        CT_OP_equal,   CT_OP_greater_equal, CT_OP_not_equal};
static const enum ct_op truth_ops[] = {CT_OP_logical_and, CT_OP_logical_or, CT_OP_logical_xor};

static enum ct_op draw_op(enum model_type type, int ops) {
    return type == TRUTH ? truth_ops[below(COUNT(truth_ops))] : binary_ops[below(ops)];
}

/* Whether a result of numbers up to these stays exact. */
static bool stays_exact(enum ct_op op, double a, double b) {
    return (op == CT_OP_mul ? a * b : a + b) <= most;
}

static bool step_binary(void) {
    int a = choose(), b = choose_like(same_type_beside, &chain.v[a].m);
    struct model *x = &chain.v[a].m, *z = &chain.v[b].m, out;
    enum ct_op op = draw_op(x->type, COUNT(binary_ops));
    if (!model_broadcast(&out, x, z) || !stays_exact(op, model_largest(x), model_largest(z)))
        return false;
    out.type = ct_op_gives_mask(op) ? TRUTH : x->type;
    for (int i = 0; i < out.count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(&out, i, index);
        out.items[i] = model_op(op, model_at(x, out.rank, index), model_at(z, out.rank, index));
    }
    const ct_tensor *in[] = {chain.v[a].t, chain.v[b].t};
    return result(ct_apply(op, 2, in), &out, TEXT("%s(v%d, v%d)", ct_op_name(op), a, b));
}

static bool step_unary(void) {
    static const enum ct_op ops[] = {CT_OP_neg, CT_OP_abs, CT_OP_square};
    int a = choose();
    struct model out = chain.v[a].m;
    enum ct_op op = out.type == TRUTH ? CT_OP_logical_not : ops[below(COUNT(ops))];
    if (!stays_exact(CT_OP_mul, model_largest(&out), model_largest(&out)))
        return false;
    for (int i = 0; i < out.count; i++)
        out.items[i] = model_op(op, out.items[i], 0);
    const ct_tensor *in[] = {chain.v[a].t};
    return result(ct_apply(op, 1, in), &out, TEXT("%s(v%d)", ct_op_name(op), a));
}

static bool step_where(void) {
    int a = choose(), b = choose_like(same_type_into, &chain.v[a].m);
    int mask = choose_like(truth_into, &chain.v[a].m);
    struct model *x = &chain.v[a].m, out = *x;
    if (b < 0 || mask < 0)
        return false;
    for (int i = 0; i < out.count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(&out, i, index);
        if (model_at(&chain.v[mask].m, out.rank, index) == 0)
            out.items[i] = model_at(&chain.v[b].m, out.rank, index);
    }
    return result(ct_where(chain.v[mask].t, chain.v[a].t, chain.v[b].t), &out,
                  TEXT("where(v%d, v%d, v%d)", mask, a, b));
}

static bool step_reduce(void) {
    int a = choose(), counted, kind = below(2);
    struct model *m = &chain.v[a].m, out;
    const ct_tensor *t = chain.v[a].t;
    if (m->rank == 0)
        return false;
    int axis = axis_of(m, &counted);
    bool keepdims = below(2);
    if (m->type == TRUTH) {
        if (!model_reduce(&out, m, kind ? CT_OP_logical_or : CT_OP_logical_and, axis, keepdims))
            return false;
        for (int i = 0; m->count == 0 && i < out.count; i++)
            out.items[i] = !kind;
        return result(kind ? ct_any(t, counted, keepdims) : ct_all(t, counted, keepdims), &out,
                      TEXT("%s(v%d, %d, %d)", kind ? "any" : "all", a, counted, keepdims));
    }
    if (model_largest(m) * MODEL_ITEMS > most || (kind && m->shape[axis] == 0) ||
        !model_reduce(&out, m, kind ? CT_OP_maximum : CT_OP_add, axis, keepdims))
        return false;
    return result(kind ? ct_max(t, counted, keepdims) : ct_sum(t, counted, keepdims), &out,
                  TEXT("%s(v%d, %d, %d)", kind ? "max" : "sum", a, counted, keepdims));
}

static bool step_cumsum(void) {
    int a = choose(), counted;
    struct model *m = &chain.v[a].m, out;
    if (m->rank == 0 || m->type == TRUTH || model_largest(m) * MODEL_ITEMS > most)
        return false;
    model_cumsum(&out, m, axis_of(m, &counted));
    return result(ct_cumsum(chain.v[a].t, counted), &out, TEXT("cumsum(v%d, %d)", a, counted));
}

/* With another variable, or else with its own transpose. */
static bool step_matmul(void) {
    int a = choose(), b = choose();
    struct model *x = &chain.v[a].m, turned, out;
    if (x->type == TRUTH || x->rank != 2)
        return false;
    const struct model *z = &chain.v[b].m;
    bool own = z->type != x->type || z->rank != 2 || z->shape[0] != x->shape[1];
    model_permute(&turned, x, (int[]){1, 0});
    z = own ? &turned : z;
    if (model_largest(x) * model_largest(z) * MODEL_ITEMS > most || !model_matmul(&out, x, z))
        return false;
    ct_tensor *other = own ? ct_transpose(chain.v[a].t) : ct_copy(chain.v[b].t);
    ct_tensor *t = ct_matmul(chain.v[a].t, other);
    ct_free(other);
    return result(t, &out, TEXT("matmul(v%d, %s%d)", a, own ? "transpose of v" : "v", own ? a : b));
}

static bool step_take(void) {
    int a = choose(), counted;
    struct model *m = &chain.v[a].m, out;
    if (m->rank == 0)
        return false;
    int axis = axis_of(m, &counted), extent = (int)m->shape[axis], n = extent ? below(6) : 0;
    int64_t at[6], given[6], length = n;
    for (int i = 0; i < n; i++) {
        at[i] = below(extent);
        given[i] = below(2) ? at[i] - extent : at[i];
    }
    if (!model_take(&out, m, axis, n, at))
        return false;
    ct_tensor *index = ct_from_items(CT_I64, 1, &length, (size_t)n, given);
    ct_tensor *t = ct_take(chain.v[a].t, counted, index);
    ct_free(index);
    return result(t, &out, TEXT("take(v%d, %d, %d indices)", a, counted, n));
}

static bool step_concat(void) {
    int a = choose(), b = below(3) ? choose() : a, counted;
    struct model out;
    if (chain.v[a].m.rank == 0)
        return false;
    int axis = axis_of(&chain.v[a].m, &counted);
    if (!model_concat(&out, &chain.v[a].m, &chain.v[b].m, axis))
        return false;
    const ct_tensor *in[] = {chain.v[a].t, chain.v[b].t};
    return result(ct_concat(2, in, counted), &out, TEXT("concat(v%d, v%d, %d)", a, b, counted));
}

static bool step_pad(void) {
    int a = choose();
    struct model *m = &chain.v[a].m, out;
    int64_t before[MODEL_RANK], after[MODEL_RANK];
    bool edge = m->count > 0 && below(2);
    double value = draw_number(m->type);
    for (int i = 0; i < m->rank; i++) {
        before[i] = below(3) ? 0 : below(3);
        after[i] = below(3) ? 0 : below(3);
    }
    if (!model_pad(&out, m, before, after, edge, value))
        return false;
    return result(
        ct_pad(chain.v[a].t, m->rank, before, after, edge ? CT_PAD_EDGE : CT_PAD_CONSTANT, value),
        &out, TEXT("pad(v%d, %s)", a, edge ? "edge" : "constant"));
}

static bool step_sort(void) {
    int a = choose(), counted;
    struct model *m = &chain.v[a].m, out, places;
    bool down = below(2), where = below(2);
    if (m->rank == 0 || m->type == TRUTH)
        return false;
    model_sort(&out, &places, m, axis_of(m, &counted), down);
    return result(where ? ct_argsort(chain.v[a].t, counted, down)
                        : ct_sort(chain.v[a].t, counted, down),
                  where ? &places : &out,
                  TEXT("%s(v%d, %d, %d)", where ? "argsort" : "sort", a, counted, down));
}

static bool step_roll(void) {
    int a = choose(), counted;
    struct model *m = &chain.v[a].m, out;
    int64_t at[MODEL_ITEMS];
    if (m->rank == 0)
        return false;
    int axis = axis_of(m, &counted), n = (int)m->shape[axis], shift = below(15) - 7;
    for (int i = 0; i < n; i++)
        at[i] = ((i - shift) % n + n) % n;
    model_take(&out, m, axis, n, at);
    return result(ct_roll(chain.v[a].t, counted, shift), &out,
                  TEXT("roll(v%d, %d, %d)", a, counted, shift));
}

static bool step_masked_fill(void) {
    int a = choose(), mask = choose_like(truth_into, &chain.v[a].m);
    struct model out = chain.v[a].m;
    double value = draw_number(out.type);
    if (mask < 0)
        return false;
    for (int i = 0; i < out.count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(&out, i, index);
        if (model_at(&chain.v[mask].m, out.rank, index) != 0)
            out.items[i] = value;
    }
    return result(ct_masked_fill(chain.v[a].t, chain.v[mask].t, value), &out,
                  TEXT("masked_fill(v%d, v%d, %g)", a, mask, value));
}

static bool step_astype(void) {
    int a = choose();
    struct model out = chain.v[a].m;
    out.type = out.type == REAL ? WHOLE : REAL;
    return result(ct_astype(chain.v[a].t, model_scalars[out.type]), &out,
                  TEXT("astype(v%d, %s)", a, model_scalars[out.type]->name));
}

/* ---- writes: the variable stays, its items change */

__attribute__((format(printf, 2, 3))) static bool wrote(ct_status status, const char *format, ...) {
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    note("%s\n", text);
    if (status != CT_OK)
        differ("%s: %s", ct_error()->function, ct_error()->message);
    return true;
}

static bool write_item(void) {
    int to = choose();
    struct model *m = &chain.v[to].m;
    int64_t index[MODEL_RANK] = {0};
    if (m->count == 0)
        return false;
    int at = below(m->count);
    double value = draw_number(m->type);
    model_index(m, at, index);
    m->items[at] = value;
    return wrote(below(2) ? ct_set(chain.v[to].t, m->rank, index, value)
                          : ct_set_flat(chain.v[to].t, at - m->count, value),
                 "set(v%d, item %d, %g)", to, at, value);
}

static bool write_fill(void) {
    int to = choose();
    struct model *m = &chain.v[to].m;
    double value = draw_number(m->type);
    for (int i = 0; i < m->count; i++)
        m->items[i] = value;
    return wrote(ct_fill(chain.v[to].t, value), "fill(v%d, %g)", to, value);
}

/* The items of m at some positions of an axis, by those of `from` broadcast to their shape; all of
   them where there are no positions. */
static void replace(struct model *m, int axis, int n, const int64_t *positions,
                    const struct model *from) {
    struct model old = *m, part = *m;
    if (positions && !model_take(&part, m, axis, n, positions))
        return;
    for (int i = 0; i < part.count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(&part, i, index);
        double value = model_at(from, part.rank, index);
        if (positions)
            index[axis] = positions[index[axis]];
        m->items[model_place(&old, index)] = value;
    }
}

static bool write_assign(void) {
    int to = choose(), from = choose_like(same_type_into, &chain.v[to].m);
    struct model source = chain.v[from].m;
    replace(&chain.v[to].m, 0, 0, NULL, &source);
    return wrote(ct_assign(chain.v[to].t, chain.v[from].t), "assign(v%d, v%d)", to, from);
}

/* From another variable, or from the same slice of the target itself, turned round. */
static bool write_slice(void) {
    int to = choose(), counted;
    struct model *m = &chain.v[to].m, part;
    ct_tensor *t = chain.v[to].t;
    int64_t positions[MODEL_ITEMS], backwards[MODEL_ITEMS];
    if (m->rank == 0)
        return false;
    int axis = axis_of(m, &counted), n = (int)m->shape[axis];
    int64_t start = below(n + 1), stop = below(2) ? CT_END : below(n + 2);
    int64_t step = below(3) ? 1 + below(2) : -1;
    int count = python_slice(n, start, stop, step, positions);
    if (!model_take(&part, m, axis, count, positions))
        return false;
    int from = below(2) ? choose_like(same_type_into, &part) : -1;
    for (int i = 0; i < count; i++)
        backwards[i] = positions[count - 1 - i];
    struct model turned, source;
    model_take(&turned, m, axis, count, backwards);
    source = from >= 0 ? chain.v[from].m : turned;
    replace(m, axis, count, positions, &source);
    ct_tensor *cut = ct_slice(t, counted, start, stop, step), *round = ct_flip(cut, counted);
    ct_status status =
        ct_assign_slice(t, counted, start, stop, step, from >= 0 ? chain.v[from].t : round);
    ct_free(cut);
    ct_free(round);
    return wrote(status, "assign_slice(v%d, %d, %lld, %lld, %lld, %s%d)", to, counted,
                 (long long)start, (long long)stop, (long long)step,
                 from >= 0 ? "v" : "its own turned round, v", from >= 0 ? from : to);
}

/* With another variable, with itself, or with its own transpose. */
static bool write_combine(void) {
    int to = choose(), other = choose_like(same_type_into, &chain.v[to].m);
    struct model *m = &chain.v[to].m, source = chain.v[other].m;
    enum ct_op op = draw_op(m->type, 5); // those that give the type
    bool square = m->rank == 2 && m->shape[0] == m->shape[1] && below(2);
    if (square)
        model_permute(&source, m, (int[]){1, 0});
    if (!stays_exact(op, model_largest(m), model_largest(&source)))
        return false;
    for (int i = 0; i < m->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(m, i, index);
        m->items[i] = model_op(op, m->items[i], model_at(&source, m->rank, index));
    }
    ct_tensor *t = square ? ct_transpose(chain.v[to].t) : NULL;
    const ct_tensor *with = square ? t : chain.v[other].t;
    ct_status status =
        op == CT_OP_add ? ct_accumulate(chain.v[to].t, with) : ct_combine(op, chain.v[to].t, with);
    ct_free(t);
    return wrote(status, "combine(%s, v%d, %s%d)", ct_op_name(op), to,
                 square ? "transpose of v" : "v", square ? to : other);
}

static bool write_map(void) {
    int to = choose();
    struct model *m = &chain.v[to].m;
    enum ct_op op = m->type == TRUTH ? CT_OP_logical_not : CT_OP_neg;
    for (int i = 0; i < m->count; i++)
        m->items[i] = model_op(op, m->items[i], 0);
    return wrote(ct_map_into(op, chain.v[to].t), "map_into(%s, v%d)", ct_op_name(op), to);
}

static bool write_axpby(void) {
    int to = choose(), other = choose_like(same_type_into, &chain.v[to].m);
    struct model *m = &chain.v[to].m, source = chain.v[other].m;
    int a = below(5) - 2, b = below(5) - 2;
    if (m->type == TRUTH || 4 * (model_largest(m) + model_largest(&source)) > most)
        return false;
    for (int i = 0; i < m->count; i++) {
        int64_t index[MODEL_RANK] = {0};
        model_index(m, i, index);
        m->items[i] = a * model_at(&source, m->rank, index) + b * m->items[i];
    }
    return wrote(ct_axpby_into(a, chain.v[other].t, b, chain.v[to].t),
                 "axpby_into(%d, v%d, %d, v%d)", a, other, b, to);
}

/* c = c' c of square matrices, into itself. */
static bool write_matmul(void) {
    int to = choose();
    struct model *m = &chain.v[to].m, turned, out;
    if (m->type == TRUTH || m->rank != 2 || m->shape[0] != m->shape[1] ||
        model_largest(m) * model_largest(m) * MODEL_ITEMS > most)
        return false;
    model_permute(&turned, m, (int[]){1, 0});
    model_matmul(&out, &turned, m);
    *m = out;
    ct_tensor *t = ct_transpose(chain.v[to].t);
    ct_status status = ct_matmul_into(chain.v[to].t, t, chain.v[to].t);
    ct_free(t);
    return wrote(status, "matmul_into(v%d, its transpose, itself)", to);
}

/* ---- chains */

typedef bool step_fn(void);

static step_fn *const steps[] = {
    step_make,        step_slice,     step_slice,     step_permute,  step_permute,  step_reshape,
    step_reshape,     step_broadcast, step_broadcast, step_copy,     step_copy,     step_binary,
    step_binary,      step_unary,     step_where,     step_reduce,   step_reduce,   step_cumsum,
    step_matmul,      step_take,      step_concat,    step_pad,      step_sort,     step_roll,
    step_masked_fill, step_astype,    write_item,     write_item,    write_fill,    write_assign,
    write_assign,     write_slice,    write_slice,    write_combine, write_combine, write_map,
    write_axpby,      write_matmul};

static size_t taken[COUNT(steps)];

static void run_chain(uint64_t seed) {
    chain.seed = chain.state = seed;
    chain.length = 0;
    chain.text[0] = '\0';
    for (int i = 0; i < VARIABLES; i++)
        chain.v[i] =
            (struct variable){.t = ct_zeros(CT_F64, 0, NULL), .m = {.type = REAL, .count = 1}};
    for (int i = 0; i < VARIABLES; i++)
        step_make();
    for (int i = 8 + below(25); i > 0; i--) {
        int kind = below(COUNT(steps));
        for (int tries = 0; !steps[kind]() && tries < 50; tries++)
            kind = below(COUNT(steps));
        taken[kind]++;
        for (int k = 0; k < VARIABLES; k++)
            check_variable(k);
    }
    for (int i = 0; i < VARIABLES; i++)
        ct_free(chain.v[i].t);
    if (ct_live_blocks() != 0)
        differ("%zu blocks are left", ct_live_blocks());
}

static uint64_t number_from(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(every_variable_is_its_own) {
    uint64_t first = number_from("CT_FUZZ_SEED", 1), chains = number_from("CT_FUZZ_CHAINS", CHAINS);
    if (!SANITIZED) { // which tell more themselves
        signal(SIGSEGV, on_signal);
        signal(SIGFPE, on_signal);
        signal(SIGABRT, on_signal);
    }
    for (uint64_t i = (uint64_t)_i; i < chains; i += TESTS)
        run_chain(first + i);
    for (int i = 0; chains >= CHAINS && i < COUNT(steps); i++)
        ck_assert_msg(taken[i] > 0, "step %d was never taken", i);
}
END_TEST

Suite *suite_chains(void) {
    Suite *suite = suite_create("chains");
    TCase *tc = tcase_create("chains");
    tcase_set_timeout(tc, number_from("CT_FUZZ_CHAINS", 0) > CHAINS ? 1e6 : 60);
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, every_variable_is_its_own, 0, TESTS);
    return suite;
}
