/* joined: two tensors one after the other along an axis; its transposes are slices. */

#include "autodiff/pull_words.h"

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/fail.h"
#include "tensor/ct_index.h"

#include <string.h>

static ct_tensor *run(const ct_tensor *const in[], const struct ct__attr *attr) {
    return ct_concat(2, in, attr->axis);
}

static ct_var pull(const struct ct__pull *p, int argument) {
    int64_t first = ct_extent(ct__value_of(p->x[0]), p->attr->axis);
    int64_t both = ct_extent(ct__value_of(p->g), p->attr->axis);
    return argument == 0 ? ct_var_slice(p->g, p->attr->axis, 0, first, 1)
                         : ct_var_slice(p->g, p->attr->axis, first, both, 1);
}

static ct_var join(ct_var a, ct_var b, int axis) {
    const ct_var in[] = {a, b};
    struct ct__attr attr = {.axis = axis};
    return ct__record(CT_OP_joined, 2, in, &attr);
}

static ct_var fail_none(const char *who) {
    ct__fail(CT_EINVAL, who, "there is nothing to join");
    return ct_var_null();
}

/* One is joined with nothing, but for its axis. */
static ct_var alone(ct_var x, int axis) {
    const ct_tensor *t = ct__operand(x);
    if (!t)
        return ct__null_of(x);
    if (ct_can_concat(1, &t, axis))
        return x;
    ct_free(ct_concat(1, &t, axis)); // for its error
    return ct__fail_op(x.tape, CT_OP_joined, 1, &t);
}

/* Pairs, and pairs of these: an item is copied as often as there are rounds. */
ct_var ct_var_concat(size_t n, const ct_var *x, int axis) {
    size_t bytes;
    if (n == 0 || !x)
        return fail_none(__func__);
    if (n == 1)
        return alone(x[0], axis);
    ct_var *parts = ct__mul_size(n, sizeof *parts, &bytes) ? ct__alloc(bytes) : NULL;
    if (!parts)
        return x[0].tape ? ct__tape_fail(x[0].tape, CT_ENOMEM, "out of memory") : ct_var_null();
    memcpy(parts, x, bytes);
    for (; n > 1; n = (n + 1) / 2) {
        for (size_t i = 0; i + 1 < n; i += 2)
            parts[i / 2] = join(parts[i], parts[i + 1], axis);
        if (n % 2)
            parts[n / 2] = parts[n - 1];
    }
    ct_var all = parts[0];
    ct__free(parts);
    return all;
}

/* Each with a new axis, one after the other along it. */
ct_var ct_var_stack(size_t n, const ct_var *x, int axis) {
    size_t bytes;
    if (n == 0 || !x)
        return fail_none(__func__);
    ct_var *parts = ct__mul_size(n, sizeof *parts, &bytes) ? ct__alloc(bytes) : NULL;
    if (!parts)
        return x[0].tape ? ct__tape_fail(x[0].tape, CT_ENOMEM, "out of memory") : ct_var_null();
    for (size_t i = 0; i < n; i++)
        parts[i] = ct_var_expand_dims(x[i], axis);
    ct_var all = ct_var_concat(n, parts, axis);
    ct__free(parts);
    return all;
}

static const struct ct__sample samples[] = {
    {2, {1, 1}, {{2}, {3}}, 0, {.axis = 0}},
    {2, {2, 2}, {{2, 3}, {2, 1}}, 0, {.axis = -1}},
    {2, {2, 2}, {{0, 3}, {2, 3}}, 0, {.axis = 0}},
};
static const struct ct__error_sample errors[] = {
    {{2, {2, 2}, {{2, 3}, {3, 3}}, 0, {.axis = 1}}, CT_ESHAPE, "[3, 3]"},
    {{2, {1, 1}, {{2}, {3}}, 0, {.axis = 1}}, CT_EAXIS, "axis 1 is out of range"},
};

const struct ct__op_record ct__op_joined = {
    .verb = "concat",
    .inputs = 2,
    .run = run,
    .pull = pull,
    .pull_text = {"the first part of G", "the second part of G"},
    .samples = samples,
    .sample_count = sizeof samples / sizeof *samples,
    .errors = errors,
    .error_count = sizeof errors / sizeof *errors,
};
