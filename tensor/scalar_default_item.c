/* Loops around functions of one item, for scalar types that are made from a handful of them. */

#include "tensor/scalar_default.h"

#include <string.h>

enum { MAX_ARITY = 3 };

static size_t result_bytes(const ct_scalar *self, enum ct_op op) {
    return ct_op_gives_mask(op) ? 1 : self->size;
}

/* The result goes to its place only when the item has one: that place may be an operand's. */
static size_t run_items(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                        const ptrdiff_t step[]) {
    _Alignas(CT__ITEM_ALIGN) char result[CT__DEFAULT_ITEM_BYTES];
    ct_item_fn *item = self->item(self, op);
    int arity = ct_op_arity(op);
    size_t bytes = result_bytes(self, op);
    for (size_t i = 0; i < n; i++) {
        const void *in[MAX_ARITY];
        for (int k = 0; k < arity; k++)
            in[k] = ptr[k] + (ptrdiff_t)i * step[k];
        if (!item(self, op, in, result))
            return i;
        memcpy(ptr[arity] + (ptrdiff_t)i * step[arity], result, bytes);
    }
    return n;
}

/* A choice looks at no item but copies it, so every type has it. */
static size_t run_choice(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                         const ptrdiff_t step[]) {
    (void)op;
    for (size_t i = 0; i < n; i++) {
        int chosen = ptr[0][(ptrdiff_t)i * step[0]] ? 1 : 2;
        memmove(ptr[3] + (ptrdiff_t)i * step[3], ptr[chosen] + (ptrdiff_t)i * step[chosen],
                self->size);
    }
    return n;
}

ct_loop_fn *ct__primitive_loop(const ct_scalar *scalar, enum ct_op op) {
    ct_loop_fn *loop = scalar->loop ? scalar->loop(scalar, op) : NULL;
    if (loop)
        return loop;
    if (scalar->item && scalar->size <= CT__DEFAULT_ITEM_BYTES && scalar->item(scalar, op))
        return run_items;
    return op == CT_OP_where ? run_choice : NULL;
}

bool ct__run_two(const ct_scalar *scalar, enum ct_op op, size_t n, const char *a, ptrdiff_t a_step,
                 const char *b, ptrdiff_t b_step, char *y, ptrdiff_t y_step) {
    char *ptr[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, y};
    ptrdiff_t step[] = {a_step, b_step, y_step};
    return ct__primitive_loop(scalar, op)(scalar, op, n, ptr, step) == n;
}
