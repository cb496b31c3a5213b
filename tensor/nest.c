#include "tensor/tensor_impl.h"

// Before a loop runs, its axes are dropped, sorted and fused (FFTW's tensor compression), so that a
// dense or a transposed-dense operand is walked by one straight loop.

void ct__nest_add(struct ct__nest *nest, int64_t extent, int64_t x, int64_t y)
{
    if (extent == 1)
        return;
    int i = nest->rank++;
    nest->shape[i] = extent;
    nest->x[i] = x;
    nest->y[i] = y;
}

struct ct__nest ct__nest_of(int rank, const int64_t *shape, const int64_t *x, const int64_t *y)
{
    struct ct__nest nest = {.rank = 0};
    for (int i = 0; i < rank; i++)
        ct__nest_add(&nest, shape[i], x[i], y[i]);
    return nest;
}

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride; // a stride that is walked is never INT64_MIN
}

// Whether loop i takes shorter steps than loop j, so that it belongs further in.
static bool is_inner(const struct ct__nest *nest, int i, int j)
{
    int64_t xi = magnitude(nest->x[i]), xj = magnitude(nest->x[j]);
    return xi != xj ? xi < xj : magnitude(nest->y[i]) < magnitude(nest->y[j]);
}

static void swap_loops(struct ct__nest *nest, int i, int j)
{
    int64_t extent = nest->shape[i], x = nest->x[i], y = nest->y[i];
    nest->shape[i] = nest->shape[j];
    nest->x[i] = nest->x[j];
    nest->y[i] = nest->y[j];
    nest->shape[j] = extent;
    nest->x[j] = x;
    nest->y[j] = y;
}

void ct__nest_sort(struct ct__nest *nest)
{
    for (int i = 1; i < nest->rank; i++) // stable, and at most eight
        for (int j = i; j > 0 && is_inner(nest, j - 1, j); j--)
            swap_loops(nest, j - 1, j);
}

// Whether a step of an outer loop is the whole way of an inner one.
static bool continues(int64_t outer, int64_t inner, int64_t extent)
{
    int64_t way;
    return !__builtin_mul_overflow(inner, extent, &way) && way == outer;
}

void ct__nest_fuse(struct ct__nest *nest)
{
    int last = 0; // of the loops kept so far
    for (int i = 1; i < nest->rank; i++) {
        if (continues(nest->x[last], nest->x[i], nest->shape[i]) &&
            continues(nest->y[last], nest->y[i], nest->shape[i])) {
            nest->shape[last] *= nest->shape[i];
        } else {
            last++;
            nest->shape[last] = nest->shape[i];
        }
        nest->x[last] = nest->x[i];
        nest->y[last] = nest->y[i];
    }
    if (nest->rank > 0)
        nest->rank = last + 1;
}

void ct__walk_start(struct ct__walk *walk, const struct ct__nest *nest, int rank, size_t pass)
{
    walk->x = walk->y = 0;
    for (int i = rank - 1; i >= 0; i--) {
        int64_t index = (int64_t)(pass % (size_t)nest->shape[i]);
        pass /= (size_t)nest->shape[i];
        walk->index[i] = index;
        walk->x += index * nest->x[i];
        walk->y += index * nest->y[i];
    }
}

void ct__walk_next(struct ct__walk *walk, const struct ct__nest *nest, int rank)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (walk->index[i] + 1 < nest->shape[i]) {
            walk->index[i]++;
            walk->x += nest->x[i];
            walk->y += nest->y[i];
            return;
        }
        walk->x -= walk->index[i] * nest->x[i];
        walk->y -= walk->index[i] * nest->y[i];
        walk->index[i] = 0;
    }
}

size_t ct__nest_passes(const struct ct__nest *nest, int rank)
{
    size_t passes = 1;
    for (int i = 0; i < rank; i++)
        passes *= (size_t)nest->shape[i];
    return passes;
}
