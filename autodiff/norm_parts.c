/* The pulls of norms with scale and shift, and what flows back through them. */

#include "autodiff/layer_norm_rules.h"

/* So many items of a vector in a shape. */
static ct_var piece(ct_var vector, size_t from, const ct_tensor *like) {
    int64_t start = (int64_t)from, stop = start + (int64_t)ct_count(like);
    ct_var items = ct_var_slice(vector, 0, start, stop, 1);
    return ct_var_reshape(items, ct_rank(like), ct_shape(like));
}

ct_var ct__norm_part(const struct ct__pull *P, enum ct_op op, int argument) {
    if (ct_var_is_null(*P->kept)) {
        const ct_var in[] = {P->x[0], P->g, P->x[1]};
        struct ct__attr attr = {.axis = P->attr->axis, .eps = P->attr->eps};
        *P->kept = ct__record(op, 3, in, &attr);
    }
    const ct_tensor *x = ct__value_of(P->x[0]), *scale = ct__value_of(P->x[1]);
    if (argument == 0)
        return piece(*P->kept, 0, x);
    return piece(*P->kept, ct_count(x) + (argument == 2 ? ct_count(scale) : 0), scale);
}

void ct__split_parts(const struct ct__pull *P, struct ct__norm_parts *s) {
    const ct_tensor *x = ct__value_of(P->x[0]), *scale = ct__value_of(P->x[2]);
    s->u = piece(P->g, 0, x);
    s->a = piece(P->g, ct_count(x), scale);
    s->b = piece(P->g, ct_count(x) + ct_count(scale), scale);
}

/* The vector is linear in the cotangent g and, but for the shift's part, in g and the scale; L(x, v), the pull of
   layer_norm without scale, is a symmetric map of v. With h = layer_norm(x), what comes back is
     to x      the curve of L(x, g scale) for u, and L(x, g a)
     to g      scale L(x, u) + a h + b
     to scale  the sum of g L(x, u). */
ct_var ct__norm_parts_pull(const struct ct__pull *P, const struct ct__norm_parts *s, int argument) {
    if (argument == 0) {
        ct_var z = SMUL(s->g, s->scale);
        const struct ct__pull Q = {.tape = P->tape, .attr = s->norm, .x = {s->x, z}, .g = s->u};
        ct_var curve = ct__layer_norm_curve(&Q), along = SMUL(s->g, s->a);
        return ADD(curve, ct__layer_norm_grad_var(s->x, along, s->norm));
    }
    ct_var pulled = ct__layer_norm_grad_var(s->x, s->u, s->norm);
    if (argument == 2)
        return SMUL(s->g, pulled);
    ct_var scaled = SMUL(s->scale, pulled);
    ct_var normal = SMUL(s->a, ct__layer_norm_var(s->x, s->norm));
    ct_var both = ADD(scaled, normal);
    return ADD(both, s->b);
}

/* --- channels as rows --- */

/* Axes 0 and 1 exchanged, and exchanged back. */
static ct_var exchange(ct_var x) {
    int order[CT_MAX_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    const ct_tensor *t = ct__operand(x);
    return t ? ct_var_permute(x, ct_rank(t), order) : ct__null_of(x);
}

ct_var ct__channel_rows(ct_var x) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    int64_t items = ct_shape(t)[0];
    for (int i = 2; i < ct_rank(t); i++)
        items *= ct_shape(t)[i];
    int64_t shape[] = {ct_shape(t)[1], items};
    return ct_var_reshape(exchange(x), 2, shape);
}

ct_var ct__from_channel_rows(ct_var rows, ct_var like) {
    const ct_tensor *t = ct__operand(rows) ? ct__operand(like) : NULL;
    int64_t shape[CT_MAX_RANK];
    if (!t)
        return ct__null_of(rows);
    for (int i = 0; i < ct_rank(t); i++)
        shape[i] = ct_shape(t)[i < 2 ? 1 - i : i];
    return exchange(ct_var_reshape(rows, ct_rank(t), shape));
}
