/* Elimination and substitution in blocks, on one matrix. */

#include "tensor/factor_impl.h"

#include "tensor/fail.h"

#include <math.h>

enum { BLOCK = CT__FACTOR_BLOCK };

static size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

static double value_of(const struct ct__factor *f, const char *item) {
    return f->scalar->to_double(f->scalar, item);
}

// --- Cholesky

/* Columns first to end - 1 of all rows from `first` on: what lies left of them has been subtracted. */
static ct_status cholesky_panel(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                                struct ct__matrix a, size_t first, size_t end, size_t *place) {
    if (f->kernels) {
        size_t width = end - first;
        size_t done = f->kernels->cholesky(n - first, width, ct__at(a, first, first), a.row);
        *place = first + done;
        return done < width ? CT_EDOMAIN : CT_OK;
    }
    for (size_t j = first; j < end; j++) {
        char *pivot = ct__at(a, j, j), *below = ct__at(a, j + 1, j);
        *place = j;
        if (!(value_of(f, pivot) > 0))
            return CT_EDOMAIN;
        char *const ptr[] = {pivot, pivot};
        if (f->sqrt(f->scalar, CT_OP_sqrt, 1, ptr, (ptrdiff_t[]){a.col, a.col}) < 1)
            return CT_EOVERFLOW;
        ct_status status = ct__divide(f, n - j - 1, below, a.row, pivot);
        if (!status && j + 1 < end)
            status = ct__subtract_step(f, room, n - j - 1, end - j - 1, below, a.row, below, a.row,
                                       ct__at(a, j + 1, j + 1), a.row);
        if (status)
            return status;
    }
    return CT_OK;
}

// Inside a block on the diagonal, zeros above it: steps take whole rows of the block.
static void clear_above(const struct ct__factor *f, struct ct__factor_room *room, size_t first,
                        size_t end, struct ct__matrix a) {
    f->scalar->from_double(f->scalar, room->step, 0);
    for (size_t i = first; i < end; i++)
        ct__copy_row(f->scalar->size, end - i - 1, room->step, 0, ct__at(a, i, i + 1), a.col);
}

/* Blocks above the diagonal are never touched. What lies above the diagonal inside a block starts at 0 as
   well, and so stays of the size of what lies below: it cannot be what leaves the range of a type. */
ct_status ct__cholesky_steps(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                             struct ct__matrix a, size_t *place) {
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t end = lesser(first + BLOCK, n);
        ct_status status = cholesky_panel(f, room, n, a, first, end, place);
        for (size_t j = end; j < n && !status; j += BLOCK) {
            struct ct__matrix l = ct__from(a, j, first), turned = {l.at, l.col, l.row};
            status = ct__subtract_product(f, room, n - j, lesser(BLOCK, n - j), end - first, l,
                                          turned, ct__from(a, j, j));
        }
        if (status)
            return status;
        clear_above(f, room, first, end, a);
    }
    return CT_OK;
}

// --- LU

// The row, from `row` on, with the largest item of a column: a NaN is larger, the first of equals.
static size_t find_pivot(const struct ct__factor *f, size_t n, struct ct__matrix a, size_t row) {
    double most = -1;
    size_t best = row;
    const char *item = ct__at(a, row, row);
    for (size_t i = row; i < n; i++, item += a.row) {
        double size = fabs(value_of(f, item));
        if (isnan(size))
            return i;
        if (size > most) {
            most = size;
            best = i;
        }
    }
    return best;
}

static void swap_bytes(char *a, char *b, size_t n) {
    char room[256];
    for (size_t here; n > 0; n -= here, a += here, b += here) {
        here = lesser(n, sizeof room);
        memcpy(room, a, here);
        memcpy(a, b, here);
        memcpy(b, room, here);
    }
}

static void swap_rows(const struct ct__factor *f, size_t n, struct ct__matrix a, size_t i, size_t k,
                      int64_t *order) {
    if (i == k)
        return;
    int64_t row = order[i];
    order[i] = order[k];
    order[k] = row;
    swap_bytes(ct__at(a, i, 0), ct__at(a, k, 0), n * f->scalar->size);
}

static ct_status lu_panel(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                          struct ct__matrix a, size_t first, size_t end, int64_t *order) {
    const size_t size = f->scalar->size;
    if (f->kernels) {
        f->kernels->lu(n - first, end - first, ct__at(a, first, first), a.row, first * size,
                       n * size, order + first);
        return CT_OK;
    }
    for (size_t j = first; j < end; j++) {
        swap_rows(f, n, a, j, find_pivot(f, n, a, j), order);
        char *pivot = ct__at(a, j, j), *below = ct__at(a, j + 1, j);
        if (value_of(f, pivot) == 0)
            continue; // so is what lies below
        ct_status status = ct__divide(f, n - j - 1, below, a.row, pivot);
        if (!status && j + 1 < end)
            status = ct__subtract_step(f, room, n - j - 1, end - j - 1, below, a.row,
                                       ct__at(a, j, j + 1), a.col, ct__at(a, j + 1, j + 1), a.row);
        if (status)
            return status;
    }
    return CT_OK;
}

// Rows first to end - 1 right of the panel: those of U.
static ct_status lu_rows(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                         struct ct__matrix a, size_t first, size_t end) {
    ct_status status = CT_OK;
    for (size_t j = first; j + 1 < end && !status; j++)
        status = ct__subtract_step(f, room, end - j - 1, n - end, ct__at(a, j + 1, j), a.row,
                                   ct__at(a, j, end), a.col, ct__at(a, j + 1, end), a.row);
    return status;
}

ct_status ct__lu_steps(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                       struct ct__matrix a, int64_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = (int64_t)i;
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t end = lesser(first + BLOCK, n), left = n - end;
        ct_status status = lu_panel(f, room, n, a, first, end, order);
        if (!status)
            status = lu_rows(f, room, n, a, first, end);
        if (!status)
            status = ct__subtract_product(f, room, left, left, end - first, ct__from(a, end, first),
                                          ct__from(a, first, end), ct__from(a, end, end));
        if (status)
            return status;
    }
    return CT_OK;
}

// --- substitution

void ct__as_lower(size_t n, unsigned triangle, struct ct__matrix *a, struct ct__matrix *x) {
    bool upper = triangle & CT_UPPER;
    if (triangle & CT_TRANSPOSED) {
        *a = (struct ct__matrix){a->at, a->col, a->row};
        upper = !upper;
    }
    if (!upper || n == 0)
        return;
    *a = (struct ct__matrix){ct__at(*a, n - 1, n - 1), -a->row, -a->col};
    *x = (struct ct__matrix){ct__at(*x, n - 1, 0), -x->row, x->col};
}

// The n <= BLOCK rows of a block.
static ct_status substitute_rows(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                                 size_t k, struct ct__matrix lower, bool unit,
                                 struct ct__matrix x) {
    ct_status status = CT_OK;
    for (size_t j = 0; j < n && !status; j++) {
        if (!unit)
            status = ct__divide(f, k, ct__at(x, j, 0), x.col, ct__at(lower, j, j));
        if (!status)
            status = ct__subtract_step(f, room, n - j - 1, k, ct__at(lower, j + 1, j), lower.row,
                                       ct__at(x, j, 0), x.col, ct__at(x, j + 1, 0), x.row);
    }
    return status;
}

/* The same of one column, x, which lies item by item: a step is one row of the triangle's column, not
   a column of rows of one item. Products commute. */
static ct_status substitute_items(const struct ct__factor *f, struct ct__factor_room *room,
                                  size_t n, struct ct__matrix lower, bool unit, char *x) {
    const ptrdiff_t size = (ptrdiff_t)f->scalar->size;
    ct_status status = CT_OK;
    if (f->kernels) {
        f->kernels->substitute(n, lower.at, lower.row, lower.col, unit, x);
        return CT_OK;
    }
    for (size_t j = 0; j < n && !status; j++, x += size) {
        if (!unit)
            status = ct__divide(f, 1, x, size, ct__at(lower, j, j));
        if (!status && j + 1 < n)
            status = ct__subtract_step(f, room, 1, n - j - 1, x, 0, ct__at(lower, j + 1, j),
                                       lower.row, x + size, 0);
    }
    return status;
}

static ct_status substitute_block(const struct ct__factor *f, struct ct__factor_room *room,
                                  size_t n, size_t k, struct ct__matrix lower, bool unit,
                                  struct ct__matrix x) {
    const size_t size = f->scalar->size;
    if (k > 1)
        return substitute_rows(f, room, n, k, lower, unit, x);
    char *column = room->products; // free until the next product
    ct__copy_row(size, n, x.at, x.row, column, (ptrdiff_t)size);
    ct_status status = substitute_items(f, room, n, lower, unit, column);
    ct__copy_row(size, n, column, (ptrdiff_t)size, x.at, x.row);
    return status;
}

ct_status ct__substitute(const struct ct__factor *f, struct ct__factor_room *room, size_t n,
                         size_t k, struct ct__matrix lower, bool unit, struct ct__matrix x) {
    for (size_t first = 0; first < n && k > 0; first += BLOCK) {
        size_t end = lesser(first + BLOCK, n);
        ct_status status = substitute_block(f, room, end - first, k, ct__from(lower, first, first),
                                            unit, ct__from(x, first, 0));
        if (!status)
            status =
                ct__subtract_product(f, room, n - end, k, end - first, ct__from(lower, end, first),
                                     ct__from(x, first, 0), ct__from(x, end, 0));
        if (status)
            return status;
    }
    return CT_OK;
}
