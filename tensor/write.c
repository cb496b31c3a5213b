/* Writing into tensors: in place where nobody else sees it, else into storage of their own. */

#include "tensor/ct_write.h"

#include "tensor/elementwise.h"
#include "tensor/fail.h"
#include "tensor/matmul.h"
#include "tensor/storage.h"
#include "tensor/view_impl.h"

// --- checks

// Names of operands and target must agree, as those of operands do elsewhere. `who` may be NULL.
static ct_status check_names(const char *who, const ct_tensor *target, int n,
                             const ct_tensor *const in[]) {
    const ct_tensor *all[CT__MAX_OPERANDS] = {target};
    for (int i = 0; i < n; i++)
        all[i + 1] = in[i];
    return ct__names_check(who, target->rank, n + 1, all);
}

// Whether a shape broadcasts to the target's without changing it.
static bool broadcasts_to(const ct_tensor *from, const ct_tensor *target) {
    int64_t shape[CT_MAX_RANK];
    int rank;
    if (from->rank > target->rank || ct__broadcast_fault(target->rank, target->shape, from->rank,
                                                         from->shape, &rank, shape) >= 0)
        return false;
    for (int i = 0; i < rank; i++)
        if (shape[i] != target->shape[i])
            return false;
    return true;
}

static ct_status check_assign(const char *who, const ct_tensor *target, const ct_tensor *from) {
    if (from->scalar != target->scalar)
        return ct__fail(CT_EDTYPE, who, "items of %s cannot replace items of %s",
                        from->scalar->name, target->scalar->name);
    if (!broadcasts_to(from, target)) {
        char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
        ct__format_shape(a, sizeof a, from->rank, from->shape);
        ct__format_shape(b, sizeof b, target->rank, target->shape);
        return ct__fail(CT_ESHAPE, who, "a tensor of shape %s does not broadcast to the target %s",
                        a, b);
    }
    return check_names(who, target, 1, &from);
}

bool ct_can_assign(const ct_tensor *t, const ct_tensor *from) {
    return t && from && t->scalar == from->scalar && broadcasts_to(from, t) &&
           !check_names(NULL, t, 1, &from);
}

// --- replacing

// Copies `from`, broadcast, to where the region lies; the two do not overlap.
static void copy_broadcast(const ct_tensor *region, const ct_tensor *from) {
    int64_t strides[CT_MAX_RANK];
    for (int i = 0; i < region->rank; i++)
        strides[i] = ct__stride_at(region->rank, i, from->rank, from->shape, from->strides);
    ct__copy_items(region->scalar->size, region->rank, region->shape, ct__first(from), strides,
                   ct__first(region), region->strides);
}

ct_status ct_assign(ct_tensor *t, const ct_tensor *from) {
    if (!t || !from)
        return ct__fail_null_operand(__func__);
    ct_status status = check_assign(__func__, t, from);
    if (status || t == from)
        return status;
    if (!ct__is_writable(t)) {
        struct ct__storage *s = ct__detached(__func__, t, false);
        if (!s)
            return CT_ENOMEM;
        ct_tensor fresh = *t; // a descriptor of the new storage; t itself may lie in from's
        ct__set_dense(&fresh, s);
        copy_broadcast(&fresh, from);
        ct__adopt(t, s);
    } else {
        copy_broadcast(t, from);
    }
    return CT_OK;
}

// Slices of the first n axes, all checked.
struct region {
    int n;
    int64_t first[CT_MAX_RANK], count[CT_MAX_RANK], step[CT_MAX_RANK];
    int dropped; // an axis that a single index leaves out, or -1
};

// The region as a descriptor on the stack, without a share.
static ct_tensor seen_through(const ct_tensor *t, const struct region *r) {
    ct_tensor view = *t;
    for (int i = 0; i < r->n; i++)
        ct__cut_axis(&view, i, r->first[i], r->count[i], r->step[i]);
    if (r->dropped >= 0)
        ct__remove_axis(&view, r->dropped);
    ct__count_items(view.scalar->size, view.rank, view.shape, &view.count);
    return view;
}

static ct_status make_own(const char *who, ct_tensor *t) {
    if (ct__is_writable(t))
        return CT_OK;
    struct ct__storage *s = ct__detached(who, t, true);
    if (!s)
        return CT_ENOMEM;
    ct__adopt(t, s);
    return CT_OK;
}

static ct_status assign_region(const char *who, ct_tensor *t, const struct region *r,
                               const ct_tensor *from) {
    ct_tensor region = seen_through(t, r), *held = NULL;
    ct_status status = check_assign(who, &region, from);
    if (status || region.count == 0)
        return status;
    if (from == t) { // a share keeps the items that are read from being written
        from = held = ct__share(who, t);
        if (!held)
            return CT_ENOMEM;
    }
    status = make_own(who, t);
    if (!status) {
        region = seen_through(t, r);
        copy_broadcast(&region, from);
    }
    ct_free(held);
    return status;
}

static void whole_axes(struct region *r, const ct_tensor *t, int n) {
    r->n = n;
    r->dropped = -1;
    for (int i = 0; i < n; i++) {
        r->first[i] = 0;
        r->count[i] = t->shape[i];
        r->step[i] = 1;
    }
}

ct_status ct_assign_slice(ct_tensor *t, int axis, int64_t start, int64_t stop, int64_t step,
                          const ct_tensor *from) {
    struct region r;
    if (!t || !from)
        return ct__fail_null_operand(__func__);
    ct_status status = ct__check_slice(__func__, t, axis, step, &axis);
    if (status)
        return status;
    whole_axes(&r, t, axis + 1);
    ct_slice_range(t->shape[axis], start, stop, step, &r.first[axis], &r.count[axis]);
    r.step[axis] = step;
    return assign_region(__func__, t, &r, from);
}

ct_status ct_assign_slice_all(ct_tensor *t, int n, const int64_t *starts, const int64_t *stops,
                              const int64_t *steps, const ct_tensor *from) {
    struct region r;
    if (!t || !from)
        return ct__fail_null_operand(__func__);
    ct_status status = ct__check_slice_all(__func__, t, n, steps);
    if (status)
        return status;
    whole_axes(&r, t, n);
    for (int i = 0; i < n; i++)
        r.step[i] = ct__slice_of_axis(t, i, starts, stops, steps, &r.first[i], &r.count[i]);
    return assign_region(__func__, t, &r, from);
}

ct_status ct_assign_select(ct_tensor *t, int axis, int64_t index, const ct_tensor *from) {
    struct region r;
    if (!t || !from)
        return ct__fail_null_operand(__func__);
    ct_status status = ct__check_select(__func__, t, axis, index, &axis, &index);
    if (status)
        return status;
    whole_axes(&r, t, axis + 1);
    r.first[axis] = index;
    r.count[axis] = 1;
    r.dropped = axis;
    return assign_region(__func__, t, &r, from);
}

// --- elementwise

ct_status ct__check_target(const char *who, const char *verb, const ct_scalar *scalar, int rank,
                           const int64_t *shape, const ct_tensor *target) {
    char given[CT__SHAPE_TEXT_BYTES], wanted[CT__SHAPE_TEXT_BYTES];
    if (target->scalar != scalar)
        return ct__fail(CT_EDTYPE, who, "%s gives %s and the target is %s", verb, scalar->name,
                        target->scalar->name);
    if (target->rank == rank && memcmp(target->shape, shape, sizeof *shape * (size_t)rank) == 0)
        return CT_OK;
    ct__format_shape(given, sizeof given, rank, shape);
    ct__format_shape(wanted, sizeof wanted, target->rank, target->shape);
    return ct__fail(CT_ESHAPE, who, "%s gives the shape %s and the target has %s", verb, given,
                    wanted);
}

// target = op of the operands, which are not NULL; see ct_apply_into().
static ct_status apply_into(const char *who, ct_tensor *target, enum ct_op op, int n,
                            const ct_tensor *const in[]) {
    struct ct__elementwise e;
    ct_status status = ct__elementwise_plan(who, op, n, in, &e);
    if (!status)
        status = ct__check_target(who, ct_op_name(op), e.result, e.rank, e.shape, target);
    if (!status)
        status = check_names(who, target, n, in);
    if (status)
        return status;
    if (ct__is_writable(target) && !ct__elementwise_may_fail(&e))
        return ct__elementwise_run(who, &e, in, target->count, ct__first(target));
    struct ct__storage *s = ct__detached(who, target, false);
    if (!s)
        return CT_ENOMEM;
    status = ct__elementwise_run(who, &e, in, target->count, s->data);
    if (status)
        ct__drop_share(s);
    else
        ct__adopt(target, s);
    return status;
}

ct_status ct_apply_into(ct_tensor *target, enum ct_op op, int n, const ct_tensor *const in[]) {
    ct_status status = ct__check_op(__func__, op, n);
    if (status)
        return status;
    if (!target || !in)
        return ct__fail_null_operand(__func__);
    for (int i = 0; i < n; i++)
        if (!in[i])
            return ct__fail_null_operand(__func__);
    return apply_into(__func__, target, op, n, in);
}

ct_status ct_map_into(enum ct_op op, ct_tensor *t) {
    ct_status status = ct__check_op(__func__, op, 1);
    if (status)
        return status;
    if (!t)
        return ct__fail_null_operand(__func__);
    return apply_into(__func__, t, op, 1, (const ct_tensor *[]){t});
}

ct_status ct__check_growth(const char *who, const ct_tensor *target, const ct_tensor *other) {
    char from[CT__SHAPE_TEXT_BYTES], to[CT__SHAPE_TEXT_BYTES];
    int64_t shape[CT_MAX_RANK];
    int rank;
    if (broadcasts_to(other, target))
        return check_names(who, target, 1, &other);
    ct_status status =
        ct__broadcast(who, target->rank, target->shape, other->rank, other->shape, &rank, shape);
    if (status)
        return status;
    ct__format_shape(from, sizeof from, target->rank, target->shape);
    ct__format_shape(to, sizeof to, rank, shape);
    const char *verb = who + strlen("ct_");
    return ct__fail(CT_ESHAPE, who, "%s would grow the target %s to %s", verb, from, to);
}

ct_status ct__combine(const char *who, enum ct_op op, ct_tensor *t, const ct_tensor *other) {
    if (!t || !other)
        return ct__fail_null_operand(who);
    ct_status status = ct__check_growth(who, t, other);
    return status ? status : apply_into(who, t, op, 2, (const ct_tensor *[]){t, other});
}

ct_status ct_combine(enum ct_op op, ct_tensor *t, const ct_tensor *other) {
    ct_status status = ct__check_op(__func__, op, 2);
    return status ? status : ct__combine(__func__, op, t, other);
}

ct_status ct_accumulate(ct_tensor *t, const ct_tensor *other) {
    return ct__combine(__func__, CT_OP_add, t, other);
}

bool ct_can_combine(enum ct_op op, const ct_tensor *t, const ct_tensor *other) {
    struct ct__elementwise e;
    return (unsigned)op < CT_OP_COUNT && ct_op_arity(op) == 2 && t && other &&
           !ct__elementwise_plan(NULL, op, 2, (const ct_tensor *[]){t, other}, &e) &&
           e.result == t->scalar && broadcasts_to(other, t) && !check_names(NULL, t, 1, &other);
}
