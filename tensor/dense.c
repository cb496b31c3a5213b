/* The dense layer: where there are kernels, bias and activation ride on the product's epilogue; else it is the three
   functions one after the other. The bits are the same. */

#include "tensor/ct_dense.h"

#include "tensor/ct_names.h"
#include "tensor/fail.h"
#include "tensor/matmul.h"
#include "tensor/peek.h"
#include "tensor/storage.h"

#include <inttypes.h>
#include <string.h>

enum { GROUP_BYTES = 1 << 14 }; // of rows that get their bias and then their activation while in L1

enum ct_op ct_activation_op(enum ct_activation activation) {
    static const enum ct_op ops[] = {CT_OP_COUNT, CT_OP_relu, CT_OP_tanh,     CT_OP_sigmoid,
                                     CT_OP_silu,  CT_OP_gelu, CT_OP_gelu_tanh};
    size_t i = (size_t)activation;
    return i < sizeof ops / sizeof *ops ? ops[i] : CT_OP_COUNT;
}

// --- checks: where `who` is NULL no error is set

static ct_status check_activation(const char *who, enum ct_activation activation) {
    if (activation == CT_IDENTITY || ct_activation_op(activation) != CT_OP_COUNT)
        return CT_OK;
    return who ? ct__fail(CT_EINVAL, who, "there is no activation %d", (int)activation) : CT_EINVAL;
}

static ct_status check_weights(const char *who, const ct_tensor *w) {
    char text[CT__SHAPE_TEXT_BYTES];
    if (w->rank == 2)
        return CT_OK;
    if (!who)
        return CT_ESHAPE;
    ct__format_shape(text, sizeof text, w->rank, w->shape);
    return ct__fail(CT_ESHAPE, who,
                    "the weights of a dense layer have the axes in and out, not the shape %s",
                    text);
}

static ct_status check_bias(const char *who, const ct_tensor *w, const ct_tensor *b) {
    char text[CT__SHAPE_TEXT_BYTES];
    if (b->scalar != w->scalar)
        return who ? ct__fail(CT_EDTYPE, who, "the weights are of %s and the bias of %s",
                              w->scalar->name, b->scalar->name)
                   : CT_EDTYPE;
    if (b->rank == 1 && b->shape[0] == w->shape[1])
        return CT_OK;
    if (!who)
        return CT_ESHAPE;
    ct__format_shape(text, sizeof text, b->rank, b->shape);
    return ct__fail(CT_ESHAPE, who,
                    "the bias needs the shape [%" PRId64
                    "], one item for each column of the weights, not %s",
                    w->shape[1], text);
}

static ct_status check(const char *who, const ct_tensor *w, const ct_tensor *b,
                       enum ct_activation activation) {
    ct_status status = check_activation(who, activation);
    if (!status)
        status = check_weights(who, w);
    return status || !b ? status : check_bias(who, w, b);
}

// Whether the name of b can be that of the last axis.
static bool names_fit(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b) {
    const char *name = b->names ? ct_axis_name(b, 0) : NULL;
    const char *own = name && w->names ? ct_axis_name(w, 1) : NULL;
    if (!name || own)
        return !name || strcmp(name, own) == 0;
    for (int i = 0; x->names && i < x->rank - 1; i++) {
        const char *other = ct_axis_name(x, i);
        if (other && strcmp(other, name) == 0)
            return false;
    }
    return true;
}

bool ct_can_dense(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                  enum ct_activation activation) {
    if (!x || !w || check(NULL, w, b, activation) || !ct_can_matmul(x, w))
        return false;
    enum ct_op op = ct_activation_op(activation);
    return (!b || (ct_scalar_has(w->scalar, CT_OP_add) && names_fit(x, w, b))) &&
           (op == CT_OP_COUNT || ct_scalar_has(w->scalar, op));
}

// --- one after the other

static ct_tensor *then(const char *who, enum ct_op op, ct_tensor *t, const ct_tensor *other) {
    ct_tensor *result =
        t ? ct__apply(who, op, other ? 2 : 1, (const ct_tensor *[]){t, other}) : NULL;
    ct_free(t);
    return result;
}

static ct_tensor *in_parts(const char *who, const ct_tensor *x, const ct_tensor *w,
                           const ct_tensor *b, enum ct_activation activation) {
    ct_tensor *t = ct__matmul(who, x, w);
    if (b)
        t = then(who, CT_OP_add, t, b);
    enum ct_op op = ct_activation_op(activation);
    return op == CT_OP_COUNT ? t : then(who, op, t, NULL);
}

// --- in one pass

struct layer {
    const ct_scalar *scalar;
    ct_loop_fn *add, *activate; // or NULL
    enum ct_op op;
    char *bias;
    ptrdiff_t bias_step;
};

// Only for types whose loops cannot fail; a named bias has names to merge.
static bool is_fused(const ct_tensor *w, const ct_tensor *b) {
    return (w->scalar == CT_F32 || w->scalar == CT_F64) && !(b && b->names);
}

static struct layer layer_of(const ct_tensor *w, const ct_tensor *b,
                             enum ct_activation activation) {
    struct layer layer = {.scalar = w->scalar, .op = ct_activation_op(activation)};
    if (b) {
        layer.add = ct_scalar_loop(w->scalar, CT_OP_add);
        layer.bias = ct__first(b);
        layer.bias_step = (ptrdiff_t)b->strides[0] * (ptrdiff_t)w->scalar->size;
    }
    if (layer.op != CT_OP_COUNT)
        layer.activate = ct_scalar_loop(w->scalar, layer.op);
    return layer;
}

static void add_bias(const struct layer *l, char *c, size_t column, size_t n) {
    ptrdiff_t size = (ptrdiff_t)l->scalar->size;
    char *ptr[] = {c, l->bias + (ptrdiff_t)column * l->bias_step, c};
    l->add(l->scalar, CT_OP_add, n, ptr, (ptrdiff_t[]){size, l->bias_step, size});
}

static void activate(const struct layer *l, char *c, size_t n) {
    ptrdiff_t size = (ptrdiff_t)l->scalar->size;
    l->activate(l->scalar, l->op, n, (char *[]){c, c}, (ptrdiff_t[]){size, size});
}

// Some rows, a few at a time; those that follow each other are activated by one call.
static void finish(void *ctx, char *c, ptrdiff_t c_row, size_t row, size_t column, size_t rows,
                   size_t columns) {
    const struct layer *l = ctx;
    (void)row;
    size_t bytes = columns * l->scalar->size, group = GROUP_BYTES / bytes + 1;
    bool joined = c_row == (ptrdiff_t)bytes;
    for (size_t i = 0; i < rows; i += group) {
        size_t end = rows - i < group ? rows : i + group;
        for (size_t j = i; l->add && j < end; j++)
            add_bias(l, c + (ptrdiff_t)j * c_row, column, columns);
        if (l->activate && joined)
            activate(l, c + (ptrdiff_t)i * c_row, (end - i) * columns);
        for (size_t j = i; l->activate && !joined && j < end; j++)
            activate(l, c + (ptrdiff_t)j * c_row, columns);
    }
}

ct_tensor *ct_dense(const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                    enum ct_activation activation) {
    if (!x || !w)
        return ct__null(__func__);
    if (check(__func__, w, b, activation))
        return NULL;
    if (!is_fused(w, b))
        return in_parts(__func__, x, w, b, activation);
    struct layer layer = layer_of(w, b, activation);
    return ct__matmul_then(__func__, x, w, &(struct ct__finish){finish, &layer, 0});
}

// --- into a target

static ct_status check_target(const char *who, ct_tensor *y, const ct_tensor *result) {
    ct_tensor merged = {.rank = y->rank};
    ct_status status =
        ct__check_target(who, "dense", result->scalar, result->rank, result->shape, y);
    if (!status)
        status = ct__names_merge(who, &merged, 2, (const ct_tensor *[]){y, result});
    ct__names_drop(merged.names);
    return status;
}

// y takes the items of a result that nobody else sees.
static ct_status take(const char *who, ct_tensor *y, const ct_tensor *result) {
    ct_status status = check_target(who, y, result);
    if (status)
        return status;
    struct ct__storage *s = NULL;
    if (!ct__is_writable(y) && !(s = ct__detached(who, y, false)))
        return CT_ENOMEM;
    if (y->count > 0)
        memcpy(s ? s->data : ct__first(y), ct__first(result), y->count * y->scalar->size);
    if (s)
        ct__adopt(y, s);
    return CT_OK;
}

ct_status ct_dense_into(ct_tensor *y, const ct_tensor *x, const ct_tensor *w, const ct_tensor *b,
                        enum ct_activation activation) {
    if (!y || !x || !w)
        return ct__fail_null_operand(__func__);
    ct_status status = check(__func__, w, b, activation);
    if (status)
        return status;
    if (is_fused(w, b) && b != y) {
        struct layer layer = layer_of(w, b, activation);
        return ct__matmul_into_then(__func__, y, x, w, &(struct ct__finish){finish, &layer, 0});
    }
    ct_tensor *result = in_parts(__func__, x, w, b, activation);
    status = result ? take(__func__, y, result) : ct_error()->code;
    ct_free(result);
    return status;
}
