/* A scalar type of dependences: the value, computed as f64 does, and the set of inputs that reach
   it by a path on which every op has a derivative. */

#include "autodiff/sparse_impl.h"

#include <string.h>

static double to_double(const ct_scalar *self, const void *item) {
    (void)self;
    return ((const struct ct__marked *)item)->value;
}

static bool from_double(const ct_scalar *self, void *item, double value) {
    (void)self;
    *(struct ct__marked *)item = (struct ct__marked){.value = value};
    return true;
}

static int format(const ct_scalar *self, const void *item, char *text, size_t size) {
    (void)self;
    return CT_F64->format(CT_F64, &((const struct ct__marked *)item)->value, text, size);
}

static bool equal(const ct_scalar *self, const void *a, const void *b) {
    const struct ct__marked *x = a, *y = b;
    (void)self;
    return CT_F64->equal(CT_F64, &x->value, &y->value) &&
           memcmp(x->marks, y->marks, sizeof x->marks) == 0;
}

static bool carries(enum ct_op op, int argument) {
    const char *pull = ct_op_pull_text(op, argument);
    return !ct_op_takes_mask(op, argument) && !(pull && strcmp(pull, "FLAT") == 0);
}

static void join_marks(enum ct_op op, size_t n, char *const ptr[], const ptrdiff_t step[]) {
    int arity = ct_op_arity(op), from[3], used = 0;
    for (int k = 0; k < arity; k++)
        if (carries(op, k))
            from[used++] = k;
    for (size_t i = 0; i < n; i++) {
        uint64_t marks[CT__MARK_WORDS] = {0};
        for (int k = 0; k < used; k++) {
            const struct ct__marked *x =
                (const void *)(ptr[from[k]] + (ptrdiff_t)i * step[from[k]]);
            for (int w = 0; w < CT__MARK_WORDS; w++)
                marks[w] |= x->marks[w];
        }
        struct ct__marked *y = (void *)(ptr[arity] + (ptrdiff_t)i * step[arity]);
        memcpy(y->marks, marks, sizeof marks);
    }
}

/* A value is the first member, so that the loop of f64 finds it by the same steps. */
static size_t run(const ct_scalar *self, enum ct_op op, size_t n, char *const ptr[],
                  const ptrdiff_t step[]) {
    (void)self;
    if (!ct_op_gives_mask(op))
        join_marks(op, n, ptr, step);
    return ct_scalar_loop(CT_F64, op)(CT_F64, op, n, ptr, step);
}

static ct_loop_fn *loop(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return ct_scalar_has(CT_F64, op) ? run : NULL;
}

const ct_scalar ct__scalar_marked = {
    .name = "marked",
    .size = sizeof(struct ct__marked),
    .align = _Alignof(struct ct__marked),
    .traits = CT_NUMERIC | CT_REAL | CT_ORDERED | CT_DIFFERENTIABLE,
    .to_double = to_double,
    .from_double = from_double,
    .format = format,
    .equal = equal,
    .loop = loop,
};
