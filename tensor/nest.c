#include "tensor/tensor_impl.h"

// Before a loop runs, its axes are dropped, sorted and fused (FFTW's tensor compression), so that a
// dense or a transposed-dense operand is walked by one straight loop.

void ct__nest_add(struct ct__nest *nest, int64_t extent, const int64_t *step) {
    if (extent == 1)
        return;
    int i = nest->rank++;
    nest->shape[i] = extent;
    for (int k = 0; k < nest->operands; k++)
        nest->step[k][i] = step[k];
}

struct ct__nest ct__nest_of(int rank, const int64_t *shape, const int64_t *x, const int64_t *y) {
    struct ct__nest nest;
    ct__nest_start(&nest, 2);
    for (int i = 0; i < rank; i++)
        ct__nest_add(&nest, shape[i], (int64_t[]){x[i], y[i]});
    return nest;
}

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride; // a stride that is walked is never INT64_MIN
}

// Whether loop i takes shorter steps than loop j, so that it belongs further in.
static bool is_inner(const struct ct__nest *nest, int i, int j) {
    for (int k = 0; k < nest->operands; k++) {
        int64_t a = magnitude(nest->step[k][i]), b = magnitude(nest->step[k][j]);
        if (a != b)
            return a < b;
    }
    return false;
}

static void swap(int64_t *numbers, int i, int j) {
    int64_t number = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = number;
}

static void swap_loops(struct ct__nest *nest, int i, int j) {
    swap(nest->shape, i, j);
    for (int k = 0; k < nest->operands; k++)
        swap(nest->step[k], i, j);
}

void ct__nest_sort(struct ct__nest *nest) {
    for (int i = 1; i < nest->rank; i++) // stable, and at most eight
        for (int j = i; j > 0 && is_inner(nest, j - 1, j); j--)
            swap_loops(nest, j - 1, j);
}

// Whether for each operand a step of an outer loop is the whole way of an inner one.
static bool continues(const struct ct__nest *nest, int outer, int inner) {
    for (int k = 0; k < nest->operands; k++) {
        int64_t way;
        if (__builtin_mul_overflow(nest->step[k][inner], nest->shape[inner], &way) ||
            way != nest->step[k][outer])
            return false;
    }
    return true;
}

void ct__nest_fuse(struct ct__nest *nest) {
    int last = 0; // of the loops kept so far
    for (int i = 1; i < nest->rank; i++) {
        if (continues(nest, last, i))
            nest->shape[last] *= nest->shape[i];
        else
            nest->shape[++last] = nest->shape[i];
        for (int k = 0; k < nest->operands; k++)
            nest->step[k][last] = nest->step[k][i];
    }
    if (nest->rank > 0)
        nest->rank = last + 1;
}

void ct__nest_have_row(struct ct__nest *nest) {
    if (nest->rank > 0)
        return;
    nest->rank = 1;
    nest->shape[0] = 1;
    for (int k = 0; k < nest->operands; k++)
        nest->step[k][0] = 0;
}

struct ct__nest ct__rows_of(const ct_tensor *t, const int64_t *others) {
    struct ct__nest nest = ct__nest_of(t->rank, t->shape, t->strides, others);
    ct__nest_fuse(&nest);
    ct__nest_have_row(&nest);
    return nest;
}

void ct__walk_skip(struct ct__walk *walk, const struct ct__nest *nest, int loop, int64_t count) {
    walk->index[loop] += count;
    for (int k = 0; k < nest->operands; k++)
        walk->at[k] += count * nest->step[k][loop];
}

void ct__walk_start(struct ct__walk *walk, const struct ct__nest *nest, int rank, size_t pass) {
    for (int k = 0; k < nest->operands; k++)
        walk->at[k] = 0;
    for (int i = rank - 1; i >= 0; i--) {
        walk->index[i] = 0;
        ct__walk_skip(walk, nest, i, (int64_t)(pass % (size_t)nest->shape[i]));
        pass /= (size_t)nest->shape[i];
    }
}

void ct__walk_next(struct ct__walk *walk, const struct ct__nest *nest, int rank) {
    for (int i = rank - 1; i >= 0; i--) {
        if (walk->index[i] + 1 < nest->shape[i]) {
            ct__walk_skip(walk, nest, i, 1);
            return;
        }
        ct__walk_skip(walk, nest, i, -walk->index[i]);
    }
}

size_t ct__nest_passes(const struct ct__nest *nest, int rank) {
    size_t passes = 1;
    for (int i = 0; i < rank; i++)
        passes *= (size_t)nest->shape[i];
    return passes;
}
