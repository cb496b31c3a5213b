/* dense: the product of rows and a matrix, a bias for each column, an activation. */

#include "autodiff/pull_words.h"

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_dense(in[0], in[1], in[2], attr->activation);
}

/* Whether the derivative can be told from the result: others need the sum, which it no longer shows. */
static bool shows_slope(enum ct_activation activation) {
    return activation == CT_IDENTITY || activation == CT_RELU || activation == CT_TANH;
}

/* The cotangent of x w + b. */
static ct_var of_sum(const struct ct__pull *p) {
    enum ct_activation activation = p->attr->activation;
    if (activation == CT_IDENTITY)
        return p->g;
    if (ct_var_is_null(*p->kept)) {
        struct ct__pull q = {.tape = p->tape, .x = {p->y}, .y = p->y, .g = p->g};
        if (!shows_slope(activation))
            q.x[0] = ct_var_dense(p->x[0], p->x[1], p->x[2], CT_IDENTITY);
        *p->kept = ct__elementwise_pull(ct_activation_op(activation), &q, 0);
    }
    return *p->kept;
}

/* As a matrix: all axes but the last are rows. */
static ct_var rows_of(ct_var v) {
    const ct_tensor *t = ct__value_of(v);
    if (ct_rank(t) == 2)
        return v;
    int64_t columns = ct_extent(t, -1), rows = 1;
    for (int i = 0; i < ct_rank(t) - 1; i++)
        rows *= ct_shape(t)[i];
    return ct_var_reshape(v, 2, (int64_t[]){rows, columns});
}

/* G the cotangent of the sum: dX = G W', dW = X' G, db = the sum of G over the rows. */
static ct_var pull(const struct ct__pull *p, int argument) {
    ct_var g = of_sum(p);
    if (ct_var_is_null(g))
        return g;
    g = rows_of(g);
    if (argument == 2)
        return ct_var_sum(g, 0, false);
    if (argument == 1) {
        ct_var x = rows_of(p->x[0]);
        return ct_var_matmul(ct_var_transpose(x), g);
    }
    const ct_tensor *x = ct__value_of(p->x[0]);
    int rank = ct_rank(x);
    int64_t shape[CT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        shape[i] = ct_shape(x)[i];
    ct_var dx = ct_var_matmul(g, ct_var_transpose(p->x[1]));
    return rank == 2 ? dx : ct_var_reshape(dx, rank, shape);
}

/* Without a bias the product is all that there is. */
static ct_var without_bias(ct_var x, ct_var w, enum ct_op activation) {
    if (!x.tape || !w.tape) // which the op itself says
        return ct__record(CT_OP_dense, 2, (ct_var[]){x, w}, &(struct ct__attr){0});
    const ct_tensor *t = ct__operand(x), *m = t ? ct__operand(w) : NULL;
    if (!m)
        return ct__null_of(x);
    if (ct_rank(m) != 2)
        return ct__tape_fail_in("ct_var_dense", x.tape, CT_ESHAPE,
                                "the weights are [in, out]: rank %d was given", ct_rank(m));
    ct_var y = ct_var_matmul(x, w);
    return activation == CT_OP_COUNT ? y : ct__record_elementwise(activation, 1, &y);
}

ct_var ct_var_dense(ct_var x, ct_var w, ct_var b, enum ct_activation activation) {
    const ct_var in[] = {x, w, b};
    enum ct_op op = ct_activation_op(activation);
    if (op == CT_OP_COUNT && activation != CT_IDENTITY)
        return ct__tape_fail(x.tape, CT_EINVAL, "ct_var_dense: there is no activation %d",
                             (int)activation);
    if (!b.tape)
        return without_bias(x, w, op);
    bool fused = shows_slope(activation);
    struct ct__attr attr = {.activation = fused ? activation : CT_IDENTITY};
    ct_var y = ct__record(CT_OP_dense, 3, in, &attr);
    return fused ? y : ct__record_elementwise(op, 1, &y);
}

static const struct ct__sample samples[] = {
    {3, {2, 2, 1}, {{2, 3}, {3, 4}, {4}}, 0, {.activation = CT_IDENTITY}},
    {3, {2, 2, 1}, {{3, 2}, {2, 3}, {3}}, 0, {.activation = CT_RELU}},
    {3, {2, 2, 1}, {{2, 3}, {3, 2}, {2}}, 0, {.activation = CT_TANH}},
    {3, {2, 2, 1}, {{2, 2}, {2, 2}, {2}}, 0, {.activation = CT_SIGMOID}},
    {3, {2, 2, 1}, {{2, 2}, {2, 2}, {2}}, 0, {.activation = CT_SILU}},
    {3, {1, 2, 1}, {{3}, {3, 2}, {2}}, 0, {.activation = CT_GELU}},
    {3, {3, 2, 1}, {{2, 1, 3}, {3, 2}, {2}}, 0, {.activation = CT_GELU_TANH}},
    {3, {2, 2, 1}, {{2, 0}, {0, 3}, {3}}, 0, {.activation = CT_TANH}},
    {3, {2, 2, 1}, {{0, 2}, {2, 3}, {3}}, 0, {.activation = CT_RELU}},
};
static const struct ct__error_sample errors[] = {
    {{3, {2, 2, 1}, {{2, 3}, {4, 2}, {2}}, 0, {0}},
     CT_ESHAPE,
     "matmul needs the inner extents to agree: [2, 3] times [4, 2], 3 against 4"},
    {{3, {2, 2, 1}, {{2, 3}, {3, 4}, {3}}, 0, {0}},
     CT_ESHAPE,
     "the bias needs the shape [4], one item for each column of the weights, not [3]"},
    {{3, {2, 3, 1}, {{2, 3}, {1, 3, 4}, {4}}, 0, {0}},
     CT_ESHAPE,
     "the weights of a dense layer have the axes in and out, not the shape [1, 3, 4]"},
};

const struct ct__op_record ct__op_dense = {
    .verb = "dense",
    .inputs = 3,
    .run = run,
    .pull = pull,
    .pull_text = {"H matmul transposed Z, H the pull of the activation", "transposed X matmul H",
                  "the sum of H over the rows"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
