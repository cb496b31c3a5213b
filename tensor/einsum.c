/* Sums in Einstein's notation: diagonals and sums of one operand by views and reductions, then pairs
   by matmul or product, in an order that follows from the shapes. */

#include "tensor/linalg_impl.h"

#include "tensor/checked.h"
#include "tensor/ct_reduce.h"
#include "tensor/matmul.h"
#include "tensor/view_impl.h"

enum { MAX_OPERANDS = 64 };

// An operand or a product of some, whose axes have indices, no two alike.
struct part {
    struct ct__term term;
    ct_tensor *t; // NULL while only the way is looked for
};

struct job {
    const char *who; // NULL: no errors are set
    struct ct__sum sum;
    int n;
    struct part part[MAX_OPERANDS];
};

// --- indices

static int find_index(const struct ct__term *term, int index) {
    for (int i = 0; i < term->rank; i++)
        if (term->index[i] == index)
            return i;
    return -1;
}

static void append(struct ct__term *term, int index) {
    term->index[term->rank++] = (signed char)index;
}

// Whether an index is needed beside parts p and q: by the result or another part.
static bool is_needed(const struct job *job, int index, int p, int q) {
    if (find_index(&job->sum.result, index) >= 0)
        return true;
    for (int i = 0; i < job->n; i++)
        if (i != p && i != q && find_index(&job->part[i].term, index) >= 0)
            return true;
    return false;
}

static int64_t product_of(const struct job *job, const struct ct__term *term) {
    int64_t product = 1;
    for (int i = 0; i < term->rank; i++)
        if (job->sum.extent[(int)term->index[i]] == 0)
            return 0; // the others need not be a number of items
    for (int i = 0; i < term->rank; i++)
        product *= job->sum.extent[(int)term->index[i]];
    return product;
}

static int shape_of(const struct job *job, const struct ct__term *term,
                    int64_t shape[CT_MAX_RANK]) {
    for (int i = 0; i < term->rank; i++)
        shape[i] = job->sum.extent[(int)term->index[i]];
    return term->rank;
}

// --- one operand

// The axes of an operand that no other one and not the result has: at most all of them.
static int find_alone(const struct job *job, int p, int axes[CT_MAX_RANK]) {
    int n = 0;
    for (int i = 0; i < job->part[p].term.rank; i++)
        if (!is_needed(job, job->part[p].term.index[i], p, p))
            axes[n++] = i;
    return n;
}

static void remove_indices(struct ct__term *term, int n, const int *axes) {
    for (int i = n - 1; i >= 0; i--) {
        term->rank--;
        for (int k = axes[i]; k < term->rank; k++)
            term->index[k] = term->index[k + 1];
    }
}

// A view without names whose axes have different indices: what stands twice is walked along the
// diagonal, and an extent of 1 is repeated. The part's term follows.
static ct_tensor *view_of(struct job *job, const ct_tensor *t, struct ct__term *term) {
    ct_tensor *view = ct__unnamed(ct__share(job->who, t));
    int64_t shape[CT_MAX_RANK];
    size_t count;
    if (!view)
        return NULL;
    for (int i = term->rank - 1; i > 0; i--) {
        int first = find_index(term, term->index[i]);
        if (first == i)
            continue;
        view->strides[first] += view->strides[i];
        ct__remove_axis(view, i);
        remove_indices(term, 1, &i);
    }
    if (ct__check_shape(job->who, t->scalar, shape_of(job, term, shape), shape, &count)) {
        ct_free(view);
        return NULL;
    }
    for (int i = 0; i < view->rank; i++)
        if (view->shape[i] != shape[i])
            ct__set_axis(view, i, shape[i], 0);
    return ct__view_end(view);
}

// Sums over the indices that the operand has alone.
static ct_tensor *sum_alone(struct job *job, int p, ct_tensor *t) {
    int axes[CT_MAX_RANK], n = find_alone(job, p, axes);
    if (!t || n == 0)
        return t;
    remove_indices(&job->part[p].term, n, axes);
    return ct__then(t, ct__as(job->who, ct_sum_axes(t, n, axes, false)));
}

// --- a pair

// The indices of a pair, by what becomes of them; each in the order of the operands.
struct pair {
    struct ct__term shared, summed, left, right, result;
};

// False where the product has too many axes.
static bool sort_indices(const struct job *job, int p, int q, struct pair *pair) {
    const struct ct__term *a = &job->part[p].term, *b = &job->part[q].term;
    *pair = (struct pair){0};
    for (int i = 0; i < a->rank; i++) {
        bool both = find_index(b, a->index[i]) >= 0;
        bool needed = is_needed(job, a->index[i], p, q);
        append(!both ? &pair->left : needed ? &pair->shared : &pair->summed, a->index[i]);
    }
    for (int i = 0; i < b->rank; i++)
        if (find_index(a, b->index[i]) < 0)
            append(&pair->right, b->index[i]);
    if (pair->shared.rank + pair->left.rank + pair->right.rank > CT_MAX_RANK)
        return false;
    const struct ct__term *groups[] = {&pair->shared, &pair->left, &pair->right};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < groups[i]->rank; k++)
            append(&pair->result, groups[i]->index[k]);
    return true;
}

// The multiplications of a pair, or SIZE_MAX where they cannot be counted.
static size_t cost_of(const struct job *job, int p, int q) {
    const struct ct__term *a = &job->part[p].term, *b = &job->part[q].term;
    size_t cost = 1;
    for (int i = 0; i < a->rank + b->rank; i++) {
        int index = i < a->rank ? a->index[i] : b->index[i - a->rank];
        if (i >= a->rank && find_index(a, index) >= 0)
            continue;
        if (!ct__mul_size(cost, (size_t)job->sum.extent[index], &cost))
            return SIZE_MAX;
    }
    return cost;
}

static void choose_pair(const struct job *job, int *p, int *q) {
    size_t least = SIZE_MAX;
    *p = 0;
    *q = 1;
    for (int i = 0; i < job->n; i++)
        for (int k = i + 1; k < job->n; k++) {
            size_t cost = cost_of(job, i, k);
            if (cost < least) {
                least = cost;
                *p = i;
                *q = k;
            }
        }
}

// The part with the axes of `term`, in order; those that it lacks have extent 1.
static ct_tensor *aligned(const struct job *job, const struct part *part,
                          const struct ct__term *term) {
    ct_tensor *view = ct__share(job->who, part->t);
    if (!view)
        return NULL;
    view->rank = term->rank;
    for (int i = 0; i < term->rank; i++) {
        int axis = find_index(&part->term, term->index[i]);
        if (axis >= 0)
            ct__axis_from(view, i, part->t, axis);
        else
            ct__set_axis(view, i, 1, 0);
    }
    return ct__view_end(view);
}

static ct_tensor *multiply(const struct job *job, const struct part *a, const struct part *b,
                           const struct pair *pair) {
    ct_tensor *x = aligned(job, a, &pair->result);
    ct_tensor *y = x ? aligned(job, b, &pair->result) : NULL;
    ct_tensor *product = y ? ct__apply(job->who, CT_OP_mul, 2, (const ct_tensor *[]){x, y}) : NULL;
    ct_free(x);
    ct_free(y);
    return product;
}

// The part as a stack of matrices, with the axes of `rows` as one and those of `columns` as one.
static ct_tensor *matrices(const struct job *job, const struct part *part,
                           const struct ct__term *stack, const struct ct__term *rows,
                           const struct ct__term *columns) {
    const struct ct__term *groups[] = {stack, rows, columns};
    struct ct__term order = {0};
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < groups[i]->rank; k++)
            append(&order, groups[i]->index[k]);
    ct_tensor *turned = aligned(job, part, &order);
    if (!turned)
        return NULL;
    int rank = 0;
    if (stack->rank + 2 <= CT_MAX_RANK)
        rank = shape_of(job, stack, shape);
    else
        shape[rank++] = product_of(job, stack);
    shape[rank++] = product_of(job, rows);
    shape[rank++] = product_of(job, columns);
    return ct__then(turned, ct__as(job->who, ct_reshape(turned, rank, shape)));
}

static ct_tensor *contract(const struct job *job, const struct part *a, const struct part *b,
                           const struct pair *pair) {
    int64_t shape[CT_MAX_RANK];
    int rank = shape_of(job, &pair->result, shape);
    size_t count;
    if (ct__check_shape(job->who, a->t->scalar, rank, shape, &count))
        return NULL;
    if (count == 0)
        return ct__empty(job->who, a->t->scalar, rank, shape);
    ct_tensor *x = matrices(job, a, &pair->shared, &pair->left, &pair->summed);
    ct_tensor *y = x ? matrices(job, b, &pair->shared, &pair->summed, &pair->right) : NULL;
    ct_tensor *product = y ? ct__matmul(job->who, x, y) : NULL;
    ct_free(x);
    ct_free(y);
    if (!product)
        return NULL;
    return ct__then(product, ct__as(job->who, ct_reshape(product, rank, shape)));
}

// --- the whole

// Puts a product in place of the pair.
static void replace_pair(struct job *job, int p, int q, const struct pair *pair, ct_tensor *t) {
    ct_free(job->part[p].t);
    ct_free(job->part[q].t);
    job->part[p] = (struct part){pair->result, t};
    job->n--;
    for (int i = q; i < job->n; i++)
        job->part[i] = job->part[i + 1];
}

static void drop_parts(struct job *job) {
    for (int i = 0; i < job->n; i++)
        ct_free(job->part[i].t);
}

static bool contract_all(struct job *job) {
    while (job->n > 1) {
        struct pair pair;
        int p, q;
        choose_pair(job, &p, &q);
        if (!sort_indices(job, p, q, &pair)) {
            ct__fail(CT_ESHAPE, job->who,
                     "a product on the way has %d axes, more than %d: give the operands in steps",
                     pair.shared.rank + pair.left.rank + pair.right.rank, CT_MAX_RANK);
            return false;
        }
        const struct part *a = &job->part[p], *b = &job->part[q];
        ct_tensor *product =
            pair.summed.rank > 0 ? contract(job, a, b, &pair) : multiply(job, a, b, &pair);
        if (!product)
            return false;
        replace_pair(job, p, q, &pair, product);
    }
    return true;
}

static ct_status check_operands(const char *who, const char *subscripts, int n,
                                const ct_tensor *const operands[]) {
    if (n < 1 || n > MAX_OPERANDS)
        return !who ? CT_EINVAL
                    : ct__fail(CT_EINVAL, who, "einsum takes 1 to %d operands and %d were given",
                               MAX_OPERANDS, n);
    bool missing = !subscripts || !operands;
    for (int i = 0; i < n && !missing; i++)
        missing = !operands[i];
    if (missing)
        return !who ? CT_EINVAL : ct__fail_null_operand(who);
    for (int i = 1; i < n; i++)
        if (operands[i]->scalar != operands[0]->scalar)
            return !who ? CT_EDTYPE
                        : ct__fail(CT_EDTYPE, who,
                                   "einsum needs one scalar type: %s and %s were given",
                                   operands[0]->scalar->name, operands[i]->scalar->name);
    return CT_OK;
}

static ct_status start(struct job *job, const char *who, const char *subscripts, int n,
                       const ct_tensor *const operands[]) {
    struct ct__term terms[MAX_OPERANDS];
    ct_status status = check_operands(who, subscripts, n, operands);
    if (!status)
        status = ct__parse_sum(who, subscripts, n, operands, terms, &job->sum);
    if (status)
        return status;
    job->who = who;
    job->n = n;
    for (int i = 0; i < n; i++)
        job->part[i] = (struct part){terms[i], NULL};
    return CT_OK;
}

ct_tensor *ct_einsum(const char *subscripts, int n, const ct_tensor *const operands[]) {
    struct job job;
    bool done = !start(&job, __func__, subscripts, n, operands);
    if (!done)
        return NULL;
    for (int i = 0; i < n && done; i++) {
        job.part[i].t = view_of(&job, operands[i], &job.part[i].term);
        job.part[i].t = sum_alone(&job, i, job.part[i].t);
        done = job.part[i].t != NULL;
    }
    done = done && contract_all(&job);
    ct_tensor *result = done ? aligned(&job, &job.part[0], &job.sum.result) : NULL;
    drop_parts(&job);
    return result ? ct__then(result, ct__as(__func__, ct_compact(result))) : NULL;
}

// --- the predicate: the same way, without tensors

// Leaves each index of a term once.
static void merge_twins(struct ct__term *term) {
    for (int i = term->rank - 1; i > 0; i--)
        if (find_index(term, term->index[i]) < i)
            remove_indices(term, 1, &i);
}

bool ct_can_einsum(const char *subscripts, int n, const ct_tensor *const operands[]) {
    struct job job;
    bool sums = false, products = false, contractions = false;
    if (start(&job, NULL, subscripts, n, operands))
        return false;
    for (int i = 0; i < n; i++) {
        int axes[CT_MAX_RANK];
        merge_twins(&job.part[i].term);
        int alone = find_alone(&job, i, axes);
        remove_indices(&job.part[i].term, alone, axes);
        sums |= alone > 0;
    }
    while (job.n > 1) {
        struct pair pair;
        int p, q;
        choose_pair(&job, &p, &q);
        if (!sort_indices(&job, p, q, &pair))
            return false;
        contractions |= pair.summed.rank > 0;
        products |= pair.summed.rank == 0;
        replace_pair(&job, p, q, &pair, NULL);
    }
    const ct_scalar *scalar = operands[0]->scalar;
    return (!sums || ct_scalar_fold(scalar, CT_FOLD_SUM)) &&
           (!products || ct_scalar_has(scalar, CT_OP_mul)) &&
           (!contractions || ct_scalar_matmul(scalar));
}
