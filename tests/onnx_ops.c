#include "onnx_ops.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "cotangent.h"
#include "tensor/ct_linalg.h"

enum { MOST_NUMBERS = 64 };

/* ---- short ways */

static ct_tensor *number(const ct_tensor *like, double value) {
    return ct_from_double(ct_dtype(like), value);
}

/* f(x, z) with a number for z, which is freed. */
static ct_tensor *with_number(ct_tensor *(*f)(const ct_tensor *, const ct_tensor *),
                              const ct_tensor *x, double value) {
    ct_tensor *z = number(x, value), *y = z ? f(x, z) : NULL;
    ct_free(z);
    return y;
}

static ct_tensor *then(ct_tensor *x, ct_tensor *(*f)(const ct_tensor *)) {
    ct_tensor *y = f(x);
    ct_free(x);
    return y;
}

static int axes_of(const struct onnx_case *c, int input, int axes[CT_MAX_RANK]) {
    int64_t list[MOST_NUMBERS];
    int n = onnx_list(c, "axes", input, list);
    for (int i = 0; i < n; i++)
        axes[i] = (int)list[i];
    if (n > 0)
        return n;
    axes[0] = CT_ALL;
    return 1;
}

/* ---- elementwise */

#define UNARY(name, f)                                                                             \
    static void run_##name(const struct onnx_case *c, ct_tensor *out[]) {                          \
        out[0] = f(c->in[0]);                                                                      \
    }
#define BINARY(name, f)                                                                            \
    static void run_##name(const struct onnx_case *c, ct_tensor *out[]) {                          \
        out[0] = f(c->in[0], c->in[1]);                                                            \
    }
/* A second argument from an attribute. */
#define WITH(name, f, attribute, otherwise)                                                        \
    static void run_##name(const struct onnx_case *c, ct_tensor *out[]) {                          \
        out[0] = with_number(f, c->in[0], onnx_real(c, attribute, otherwise));                     \
    }
/* One operand after the other. */
#define EVERY(name, f)                                                                             \
    static void run_##name(const struct onnx_case *c, ct_tensor *out[]) {                          \
        out[0] = ct_copy(c->in[0]);                                                                \
        for (int i = 1; i < c->inputs; i++) {                                                      \
            ct_tensor *next = f(out[0], c->in[i]);                                                 \
            ct_free(out[0]);                                                                       \
            out[0] = next;                                                                         \
        }                                                                                          \
    }

UNARY(Abs, ct_abs)
UNARY(Acos, ct_acos)
UNARY(Acosh, ct_acosh)
UNARY(Asin, ct_asin)
UNARY(Asinh, ct_asinh)
UNARY(Atan, ct_atan)
UNARY(Atanh, ct_atanh)
UNARY(Ceil, ct_ceil)
UNARY(Cos, ct_cos)
UNARY(Cosh, ct_cosh)
UNARY(Erf, ct_erf)
UNARY(Exp, ct_exp)
UNARY(Floor, ct_floor)
UNARY(Identity, ct_copy)
UNARY(IsNaN, ct_isnan)
UNARY(Log, ct_log)
UNARY(Neg, ct_neg)
UNARY(Not, ct_logical_not)
UNARY(Reciprocal, ct_reciprocal)
UNARY(Relu, ct_relu)
UNARY(Round, ct_round)
UNARY(Sigmoid, ct_sigmoid)
UNARY(Sign, ct_sign)
UNARY(Sin, ct_sin)
UNARY(Sinh, ct_sinh)
UNARY(Softplus, ct_softplus)
UNARY(Softsign, ct_softsign)
UNARY(HardSwish, ct_hard_swish)
UNARY(Sqrt, ct_sqrt)
UNARY(Tan, ct_tan)
UNARY(Tanh, ct_tanh)
BINARY(Add, ct_add)
BINARY(And, ct_logical_and)
BINARY(Div, ct_div)
BINARY(Equal, ct_equal)
BINARY(Greater, ct_greater)
BINARY(GreaterOrEqual, ct_greater_equal)
BINARY(Less, ct_less)
BINARY(LessOrEqual, ct_less_equal)
BINARY(MatMul, ct_matmul)
BINARY(Mul, ct_mul)
BINARY(Or, ct_logical_or)
BINARY(PRelu, ct_leaky_relu)
BINARY(Sub, ct_sub)
BINARY(Xor, ct_logical_xor)
WITH(LeakyRelu, ct_leaky_relu, "alpha", 0.01)
WITH(Celu, ct_celu, "alpha", 1)
WITH(ThresholdedRelu, ct_thresholded_relu, "alpha", 1)
EVERY(Max, ct_maximum)
EVERY(Min, ct_minimum)
EVERY(Sum, ct_add)

static void run_Mean(const struct onnx_case *c, ct_tensor *out[]) {
    run_Sum(c, out);
    ct_tensor *mean = with_number(ct_div, out[0], c->inputs);
    ct_free(out[0]);
    out[0] = mean;
}

/* x - trunc(x / y) y has the sign of x; ours has the sign of y. */
static void run_Mod(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_mod(c->in[0], c->in[1]);
    if (!onnx_int(c, "fmod", 0) || !out[0])
        return;
    ct_tensor *magnitude = ct_abs(c->in[0]), *by = ct_abs(c->in[1]);
    ct_tensor *rest = ct_mod(magnitude, by), *minus = ct_neg(rest);
    ct_tensor *below = with_number(ct_less, c->in[0], 0);
    ct_free(out[0]);
    out[0] = ct_where(below, minus, rest);
    ct_free(magnitude);
    ct_free(by);
    ct_free(rest);
    ct_free(minus);
    ct_free(below);
}

static void run_Clip(const struct onnx_case *c, ct_tensor *out[]) {
    const ct_tensor *x = c->in[0];
    bool has_min = c->inputs > 1 && c->in[1], has_max = c->inputs > 2 && c->in[2];
    ct_tensor *low = has_min ? ct_maximum(x, c->in[1]) : ct_copy(x);
    out[0] = has_max ? ct_minimum(low, c->in[2]) : ct_copy(low);
    ct_free(low);
}

/* x where x > 0, else alpha (e^x - 1), times gamma. */
static void run_elu(const struct onnx_case *c, double alpha, double gamma, ct_tensor *out[]) {
    ct_tensor *bent = then(ct_copy(c->in[0]), ct_expm1), *low = with_number(ct_mul, bent, alpha);
    ct_tensor *above = with_number(ct_greater, c->in[0], 0);
    ct_tensor *y = ct_where(above, c->in[0], low);
    out[0] = with_number(ct_mul, y, gamma);
    ct_free(bent);
    ct_free(low);
    ct_free(above);
    ct_free(y);
}

static void run_Elu(const struct onnx_case *c, ct_tensor *out[]) {
    double alpha = onnx_real(c, "alpha", 1);
    if (alpha == 1)
        out[0] = ct_elu(c->in[0]);
    else
        run_elu(c, alpha, 1, out);
}

static void run_Selu(const struct onnx_case *c, ct_tensor *out[]) {
    if (json_object_size(c->attrs) == 0)
        out[0] = ct_selu(c->in[0]);
    else
        run_elu(c, onnx_real(c, "alpha", 1.67326), onnx_real(c, "gamma", 1.0507), out);
}

static void run_HardSigmoid(const struct onnx_case *c, ct_tensor *out[]) {
    ct_tensor *scaled = with_number(ct_mul, c->in[0], onnx_real(c, "alpha", 0.2));
    ct_tensor *shifted = with_number(ct_add, scaled, onnx_real(c, "beta", 0.5));
    ct_tensor *low = with_number(ct_maximum, shifted, 0);
    out[0] = with_number(ct_minimum, low, 1);
    ct_free(scaled);
    ct_free(shifted);
    ct_free(low);
}

static void run_IsInf(const struct onnx_case *c, ct_tensor *out[]) {
    ct_tensor *infinite = ct_isinf(c->in[0]), *sign = NULL;
    if (!onnx_int(c, "detect_negative", 1))
        sign = with_number(ct_greater, c->in[0], 0);
    else if (!onnx_int(c, "detect_positive", 1))
        sign = with_number(ct_less, c->in[0], 0);
    out[0] = sign ? ct_logical_and(infinite, sign) : ct_copy(infinite);
    ct_free(infinite);
    ct_free(sign);
}

static void run_Cast(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_astype(c->in[0], ct_dtype(c->wanted[0]));
}

/* ---- reductions */

#define REDUCE(name, f)                                                                            \
    static void run_##name(const struct onnx_case *c, ct_tensor *out[]) {                          \
        int axes[CT_MAX_RANK], n = axes_of(c, 1, axes);                                            \
        out[0] = f(c->in[0], n, axes, onnx_int(c, "keepdims", 1) != 0);                            \
    }
REDUCE(ReduceMax, ct_max_axes)
REDUCE(ReduceMin, ct_min_axes)
REDUCE(ReduceMean, ct_mean_axes)
REDUCE(ReduceProd, ct_prod_axes)

static void run_ReduceSum(const struct onnx_case *c, ct_tensor *out[]) {
    int axes[CT_MAX_RANK], n = axes_of(c, 1, axes);
    if (axes[0] == CT_ALL && onnx_int(c, "noop_with_empty_axes", 0))
        n = 0;
    out[0] = ct_sum_axes(c->in[0], n, axes, onnx_int(c, "keepdims", 1) != 0);
}

static void run_norm(const struct onnx_case *c, double p, ct_tensor *out[]) {
    int axes[CT_MAX_RANK], n = axes_of(c, 1, axes);
    out[0] = ct_norm_axes(c->in[0], n, axes, p, onnx_int(c, "keepdims", 1) != 0);
}

static void run_ReduceL1(const struct onnx_case *c, ct_tensor *out[]) {
    run_norm(c, 1, out);
}

static void run_ReduceL2(const struct onnx_case *c, ct_tensor *out[]) {
    run_norm(c, 2, out);
}

static void run_ReduceLogSum(const struct onnx_case *c, ct_tensor *out[]) {
    run_ReduceSum(c, out);
    out[0] = then(out[0], ct_log);
}

static void run_ReduceSumSquare(const struct onnx_case *c, ct_tensor *out[]) {
    int axes[CT_MAX_RANK], n = axes_of(c, 1, axes);
    ct_tensor *square = ct_square(c->in[0]);
    out[0] = ct_sum_axes(square, n, axes, onnx_int(c, "keepdims", 1) != 0);
    ct_free(square);
}

/* The last of equal ones is the first from behind. */
static void run_arg(const struct onnx_case *c,
                    ct_tensor *(*f)(const ct_tensor *, int axis, bool keepdims), ct_tensor *out[]) {
    int axis = (int)onnx_int(c, "axis", 0);
    bool keep = onnx_int(c, "keepdims", 1) != 0;
    if (!onnx_int(c, "select_last_index", 0)) {
        out[0] = f(c->in[0], axis, keep);
        return;
    }
    ct_tensor *flipped = ct_flip(c->in[0], axis), *from_end = f(flipped, axis, keep);
    ct_tensor *last = number(from_end, (double)ct_extent(c->in[0], axis) - 1);
    out[0] = ct_sub(last, from_end);
    ct_free(flipped);
    ct_free(from_end);
    ct_free(last);
}

static void run_ArgMax(const struct onnx_case *c, ct_tensor *out[]) {
    run_arg(c, ct_argmax, out);
}

static void run_ArgMin(const struct onnx_case *c, ct_tensor *out[]) {
    run_arg(c, ct_argmin, out);
}

static void run_Softmax(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_softmax(c->in[0], (int)onnx_int(c, "axis", -1));
}

/* The other outputs are the mean and 1 / sqrt(variance + epsilon) of the rows. */
static void run_LayerNormalization(const struct onnx_case *c, ct_tensor *out[]) {
    int axis = (int)onnx_int(c, "axis", -1), n = 0, rank = ct_rank(c->in[0]), axes[CT_MAX_RANK];
    double eps = onnx_real(c, "epsilon", 1e-5);
    for (int i = axis < 0 ? axis + rank : axis; i < rank; i++)
        axes[n++] = i;
    out[0] = ct_layer_norm(c->in[0], axis, c->in[1], c->inputs > 2 ? c->in[2] : NULL, eps);
    out[1] = ct_mean_axes(c->in[0], n, axes, true);
    ct_tensor *variance = ct_variance_axes(c->in[0], n, axes, 0, true);
    ct_tensor *small = number(variance, eps), *sum = ct_add(variance, small);
    out[2] = ct_rsqrt(sum);
    ct_free(variance);
    ct_free(small);
    ct_free(sum);
}

/* ---- shapes and views */

static void run_Expand(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t list[MOST_NUMBERS], shape[CT_MAX_RANK];
    int n = onnx_list(c, NULL, 1, list); /* the shapes broadcast to each other */
    int rank = ct_broadcast_shape(ct_rank(c->in[0]), ct_shape(c->in[0]), n, list, shape);
    out[0] = ct_broadcast_to(c->in[0], rank, shape);
}

static void run_Flatten(const struct onnx_case *c, ct_tensor *out[]) {
    int axis = (int)onnx_int(c, "axis", 1), rank = ct_rank(c->in[0]);
    int64_t shape[2] = {1, 1};
    axis = axis < 0 ? axis + rank : axis;
    for (int i = 0; i < rank; i++)
        shape[i >= axis] *= ct_shape(c->in[0])[i];
    out[0] = ct_reshape(c->in[0], 2, shape);
}

static void run_Reshape(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t shape[MOST_NUMBERS];
    int n = onnx_list(c, NULL, 1, shape);
    for (int i = 0; i < n && !onnx_int(c, "allowzero", 0); i++)
        if (shape[i] == 0) /* the extent of the input */
            shape[i] = ct_shape(c->in[0])[i];
    out[0] = ct_reshape(c->in[0], n, shape);
}

static void run_Shape(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t rank = ct_rank(c->in[0]);
    ct_tensor *shape = ct_from_items(CT_I64, 1, &rank, (size_t)rank, ct_shape(c->in[0]));
    out[0] = ct_slice(shape, 0, onnx_int(c, "start", 0), onnx_int(c, "end", rank), 1);
    ct_free(shape);
}

static void run_Size(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_from_double(CT_I64, (double)ct_count(c->in[0]));
}

static void run_Slice(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t start[MOST_NUMBERS], stop[MOST_NUMBERS], axes[MOST_NUMBERS], step[MOST_NUMBERS];
    int n = onnx_list(c, NULL, 1, start), named = onnx_list(c, NULL, 3, axes);
    int stepped = onnx_list(c, NULL, 4, step);
    onnx_list(c, NULL, 2, stop);
    out[0] = ct_copy(c->in[0]);
    for (int i = 0; i < n; i++) {
        int axis = named > 0 ? (int)axes[i] : i;
        ct_tensor *next = ct_slice(out[0], axis, start[i], stop[i], stepped > 0 ? step[i] : 1);
        ct_free(out[0]);
        out[0] = next;
    }
}

static void run_Split(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t sizes[MOST_NUMBERS];
    int axis = (int)onnx_int(c, "axis", 0), n = onnx_list(c, "split", 1, sizes);
    if (n < 0) {
        n = c->outputs;
        for (int i = 0; i < n; i++)
            sizes[i] = ct_extent(c->in[0], axis) / n;
    }
    ct_split_sizes(c->in[0], axis, n, sizes, out);
}

static void run_Squeeze(const struct onnx_case *c, ct_tensor *out[]) {
    int axes[CT_MAX_RANK], n = axes_of(c, 1, axes);
    out[0] = ct_squeeze_axes(c->in[0], n, axes);
}

static void run_Unsqueeze(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t list[MOST_NUMBERS];
    int n = onnx_list(c, "axes", 1, list), rank = ct_rank(c->in[0]) + n;
    bool added[CT_MAX_RANK] = {false};
    for (int i = 0; i < n; i++)
        added[list[i] < 0 ? list[i] + rank : list[i]] = true;
    out[0] = ct_copy(c->in[0]);
    for (int i = 0; i < rank; i++)
        if (added[i]) {
            ct_tensor *next = ct_expand_dims(out[0], i);
            ct_free(out[0]);
            out[0] = next;
        }
}

static void run_Transpose(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t list[MOST_NUMBERS];
    int rank = ct_rank(c->in[0]), n = onnx_list(c, "perm", -1, list), axes[CT_MAX_RANK];
    for (int i = 0; i < rank; i++)
        axes[i] = n > 0 ? (int)list[i] : rank - 1 - i;
    out[0] = ct_permute(c->in[0], rank, axes);
}

/* ---- made of numbers */

static void run_EyeLike(const struct onnx_case *c, ct_tensor *out[]) {
    const int64_t *shape = ct_shape(c->in[0]);
    out[0] = ct_eye(ct_dtype(c->wanted[0]), shape[0], shape[1], onnx_int(c, "k", 0));
}

static void run_Range(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] =
        ct_arange(ct_dtype(c->wanted[0]), ct_item(c->in[0]), ct_item(c->in[1]), ct_item(c->in[2]));
}

/* Indices beyond the depth, which ours refuses, are rows of zeros there: none is among the cases. */
static void run_OneHot(const struct onnx_case *c, ct_tensor *out[]) {
    double values[2];
    int64_t depth = (int64_t)ct_item(c->in[1]);
    ct_to_doubles(c->in[2], 2, values);
    ct_tensor *index = ct_astype(c->in[0], CT_I64), *hot = ct_one_hot(index, depth, CT_BOOL);
    ct_tensor *moved = ct_move_axis(hot, -1, (int)onnx_int(c, "axis", -1));
    ct_tensor *on = number(c->wanted[0], values[1]), *off = number(c->wanted[0], values[0]);
    out[0] = ct_where(moved, on, off);
    ct_free(index);
    ct_free(hot);
    ct_free(moved);
    ct_free(on);
    ct_free(off);
}

/* ---- choosing and joining */

static void run_Concat(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_concat(c->inputs, (const ct_tensor *const *)c->in, (int)onnx_int(c, "axis", 0));
}

static void run_Gather(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_take(c->in[0], (int)onnx_int(c, "axis", 0), c->in[1]);
}

static void run_GatherElements(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_gather(c->in[0], (int)onnx_int(c, "axis", 0), c->in[1]);
}

static void run_Scatter(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_scatter(c->in[0], (int)onnx_int(c, "axis", 0), c->in[1], c->in[2]);
}

static void run_ScatterND(const struct onnx_case *c, ct_tensor *out[]) {
    const char *how = onnx_text(c, "reduction", "none");
    if (strcmp(how, "none") == 0)
        out[0] = ct_scatter_nd(c->in[0], c->in[1], c->in[2]);
    else
        out[0] = ct_scatter_nd_reduce(c->in[0], c->in[1], c->in[2], ct_op_by_name(how));
}

static void run_NonZero(const struct onnx_case *c, ct_tensor *out[]) {
    ct_tensor *places = ct_nonzero(c->in[0]);
    out[0] = ct_transpose(places);
    ct_free(places);
}

static void run_Pad(const struct onnx_case *c, ct_tensor *out[]) {
    static const struct {
        const char *name;
        enum ct_pad_mode mode;
    } modes[] = {{"constant", CT_PAD_CONSTANT}, {"edge", CT_PAD_EDGE}, {"reflect", CT_PAD_REFLECT}};
    int64_t pads[MOST_NUMBERS];
    int n = onnx_list(c, NULL, 1, pads) / 2;
    double value = c->inputs > 2 && c->in[2] ? ct_item(c->in[2]) : 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, onnx_text(c, "mode", "constant")) == 0)
            out[0] = ct_pad(c->in[0], n, pads, pads + n, modes[i].mode, value);
}

static void run_Tile(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t reps[MOST_NUMBERS];
    int n = onnx_list(c, NULL, 1, reps);
    out[0] = ct_tile(c->in[0], n, reps);
}

static void run_TopK(const struct onnx_case *c, ct_tensor *out[]) {
    ct_topk(c->in[0], (int64_t)ct_item(c->in[1]), (int)onnx_int(c, "axis", -1),
            onnx_int(c, "largest", 1) != 0, &out[0], &out[1]);
}

static void run_Trilu(const struct onnx_case *c, ct_tensor *out[]) {
    int64_t k = c->inputs > 1 && c->in[1] ? (int64_t)ct_item(c->in[1]) : 0;
    out[0] = onnx_int(c, "upper", 1) ? ct_triu(c->in[0], k) : ct_tril(c->in[0], k);
}

static void run_Einsum(const struct onnx_case *c, ct_tensor *out[]) {
    out[0] = ct_einsum(onnx_text(c, "equation", ""), c->inputs, (const ct_tensor *const *)c->in);
}

/* ---- the tables */

#define MOVES(name)                                                                                \
    { #name, run_##name, 0 }
#define COMES(name)                                                                                \
    { #name, run_##name, 2e-6 } /* computed in f32 by both */

static const struct onnx_op ops[] = {
    COMES(Abs),         COMES(Acos),
    COMES(Acosh),       MOVES(Add),
    MOVES(And),         MOVES(ArgMax),
    MOVES(ArgMin),      COMES(Asin),
    COMES(Asinh),       COMES(Atan),
    COMES(Atanh),       MOVES(Cast),
    MOVES(Ceil),        COMES(Celu),
    MOVES(Clip),        MOVES(Concat),
    COMES(Cos),         COMES(Cosh),
    MOVES(Div),         COMES(Einsum),
    COMES(Elu),         MOVES(Equal),
    COMES(Erf),         COMES(Exp),
    MOVES(Expand),      MOVES(EyeLike),
    MOVES(Flatten),     MOVES(Floor),
    MOVES(Gather),      MOVES(GatherElements),
    MOVES(Greater),     MOVES(GreaterOrEqual),
    COMES(HardSigmoid), COMES(HardSwish),
    MOVES(Identity),    MOVES(IsInf),
    MOVES(IsNaN),       COMES(LayerNormalization),
    COMES(LeakyRelu),   MOVES(Less),
    MOVES(LessOrEqual), COMES(Log),
    COMES(MatMul),      MOVES(Max),
    COMES(Mean),        MOVES(Min),
    COMES(Mod),         MOVES(Mul),
    MOVES(Neg),         MOVES(NonZero),
    MOVES(Not),         MOVES(OneHot),
    MOVES(Or),          COMES(PRelu),
    MOVES(Pad),         MOVES(Range),
    COMES(Reciprocal),  COMES(ReduceL1),
    COMES(ReduceL2),    COMES(ReduceLogSum),
    MOVES(ReduceMax),   COMES(ReduceMean),
    MOVES(ReduceMin),   COMES(ReduceProd),
    COMES(ReduceSum),   COMES(ReduceSumSquare),
    MOVES(Relu),        MOVES(Reshape),
    MOVES(Round),       MOVES(Scatter),
    MOVES(ScatterND),   COMES(Selu),
    MOVES(Shape),       COMES(Sigmoid),
    MOVES(Sign),        COMES(Sin),
    COMES(Sinh),        MOVES(Size),
    MOVES(Slice),       COMES(Softmax),
    COMES(Softplus),    COMES(Softsign),
    MOVES(Split),       MOVES(Sqrt),
    MOVES(Squeeze),     MOVES(Sub),
    COMES(Sum),         COMES(Tan),
    COMES(Tanh),        MOVES(ThresholdedRelu),
    MOVES(Tile),        MOVES(TopK),
    MOVES(Transpose),   MOVES(Trilu),
    MOVES(Unsqueeze),   MOVES(Xor),
};

static const struct {
    const char *op, *why;
} outs[] = {
    {"Adagrad", "no such optimiser"},
    {"Adam", "an optimiser's step: compared with PyTorch's in the suite optim_steps"},
    {"Momentum", "an optimiser's step: compared with PyTorch's in the suite optim_steps"},
    {"Constant", "an op of a graph without inputs"},
};

const struct onnx_op *onnx_op_of(const char *name) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return onnx_network_op(name);
}

const char *onnx_why_out(const struct onnx_case *c) {
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++)
        if (strcmp(outs[i].op, c->op) == 0)
            return outs[i].why;
    return onnx_draws(c);
}
