/* What elimination and substitution are made of, for any scalar type. */

#include "tensor/factor_impl.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/kernels/kern_table.h"

enum { STEP = 64 }; // products of a row at a time, where the type has no kernel

bool ct__factor_start(struct ct__factor *f, const ct_scalar *scalar) {
    const struct ct__real_kernels *kernels = ct__kernels_of(scalar);
    *f = (struct ct__factor){
        .scalar = scalar,
        .mul = ct_scalar_loop(scalar, CT_OP_mul),
        .sub = ct_scalar_loop(scalar, CT_OP_sub),
        .div = ct_scalar_loop(scalar, CT_OP_div),
        .sqrt = ct_scalar_loop(scalar, CT_OP_sqrt),
        .matmul = ct_scalar_matmul(scalar),
        .kernels = kernels ? kernels->factor : NULL,
    };
    return !(scalar->traits & CT_INTEGER) && f->mul && f->sub && f->div && f->matmul;
}

bool ct__factor_enter(const struct ct__factor *f, size_t products, struct ct__factor_room *room) {
    size_t bytes, size = f->scalar->size;
    *room = (struct ct__factor_room){NULL, NULL};
    if (!ct__mul_size(products, size, &bytes))
        return false;
    room->products = ct__alloc(bytes);
    room->step = room->products ? ct__alloc((STEP + CT__FACTOR_BLOCK) * size) : NULL;
    return room->step != NULL;
}

void ct__factor_leave(struct ct__factor_room *room) {
    ct__free(room->step);
    ct__free(room->products);
}

// One row, by the type's own loops.
static ct_status subtract_row(const struct ct__factor *f, char *products, size_t n,
                              const char *factor, const char *u, ptrdiff_t u_step, char *a) {
    const ct_scalar *scalar = f->scalar;
    const ptrdiff_t size = (ptrdiff_t)scalar->size;
    for (size_t j = 0; j < n; j += STEP, u += STEP * u_step, a += STEP * size) {
        size_t here = n - j < STEP ? n - j : STEP;
        char *const in[] = {(char *)(uintptr_t)factor, (char *)(uintptr_t)u, products};
        char *const to[] = {a, products, a};
        if (f->mul(scalar, CT_OP_mul, here, in, (ptrdiff_t[]){0, u_step, size}) < here ||
            f->sub(scalar, CT_OP_sub, here, to, (ptrdiff_t[]){size, size, size}) < here)
            return CT_EOVERFLOW;
    }
    return CT_OK;
}

ct_status ct__subtract_step(const struct ct__factor *f, struct ct__factor_room *room, size_t rows,
                            size_t n, const char *column, ptrdiff_t column_step, const char *u,
                            ptrdiff_t u_step, char *a, ptrdiff_t a_row) {
    const size_t size = f->scalar->size;
    ct_status status = CT_OK;
    if (!f->kernels) {
        for (size_t i = 0; i < rows && !status; i++, column += column_step, a += a_row)
            status = subtract_row(f, room->step, n, column, u, u_step, a);
        return status;
    }
    if (u_step != (ptrdiff_t)size) { // of a block, which is short
        char *packed = room->step + STEP * size;
        ct__copy_row(size, n, u, u_step, packed, (ptrdiff_t)size);
        u = packed;
    }
    f->kernels->rank_one(rows, n, column, column_step, u, a, a_row);
    return status;
}

ct_status ct__subtract_product(const struct ct__factor *f, struct ct__factor_room *room, size_t m,
                               size_t n, size_t k, struct ct__matrix l, struct ct__matrix u,
                               struct ct__matrix a) {
    const ct_scalar *scalar = f->scalar;
    const ptrdiff_t size = (ptrdiff_t)scalar->size, row = (ptrdiff_t)n * size;
    if (m == 0 || n == 0)
        return CT_OK;
    const struct ct_matmul_job job = {
        .m = m,
        .n = n,
        .k = k,
        .a = l.at,
        .a_row = l.row,
        .a_col = l.col,
        .b = u.at,
        .b_row = u.row,
        .b_col = u.col,
        .c = room->products,
        .c_row = row,
        .c_col = size,
    };
    ct_status status = f->matmul(scalar, &job);
    const ptrdiff_t step[] = {size, size, size};
    for (size_t i = 0; i < m && !status; i++) {
        char *to = a.at + (ptrdiff_t)i * a.row;
        char *const ptr[] = {to, room->products + (ptrdiff_t)i * row, to};
        status = f->sub(scalar, CT_OP_sub, n, ptr, step) < n ? CT_EOVERFLOW : CT_OK;
    }
    return status;
}

ct_status ct__divide(const struct ct__factor *f, size_t n, char *x, ptrdiff_t step,
                     const char *by) {
    char *const ptr[] = {x, (char *)(uintptr_t)by, x};
    if (n == 0)
        return CT_OK;
    size_t done = f->div(f->scalar, CT_OP_div, n, ptr, (ptrdiff_t[]){step, 0, step});
    return done < n ? CT_EOVERFLOW : CT_OK;
}
