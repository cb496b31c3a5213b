/* Public functions of axis names. */

#include "tensor/ct_names.h"

#include "tensor/fail.h"
#include "tensor/names.h"
#include "tensor/view_impl.h"

#include <inttypes.h>

static void names_of(const ct_tensor *t, const char *name[CT_MAX_RANK]) {
    for (int i = 0; i < t->rank; i++)
        name[i] = ct__name_of(t, i);
}

/* A view with these names in place of its own. */
static ct_tensor *renamed(const char *who, const ct_tensor *t, const char *const name[]) {
    ct_tensor bare = *t; /* borrows t's share */
    bare.names = NULL;
    ct_tensor *view = ct__share(who, &bare);
    if (view && ct__names_set(who, view, name)) {
        ct_free(view);
        return NULL;
    }
    return view;
}

static ct_status check_names(const char *who, int n, const char *const names[]) {
    if (n > 0 && !names)
        return who ? ct__fail(CT_EINVAL, who, "the %d names are NULL", n) : CT_EINVAL;
    ct_status status = CT_OK;
    for (int i = 0; i < n && !status; i++)
        if (names[i])
            status = ct__check_name(who, i, names[i]);
    return status;
}

ct_tensor *ct_name_axes(const ct_tensor *t, int n, const char *const names[]) {
    if (!t)
        return ct__null(__func__);
    if (n != t->rank)
        return ct__fail_null(CT_EAXIS, __func__,
                             "a tensor of rank %d has %d name%s and %d %s given", t->rank, t->rank,
                             t->rank == 1 ? "" : "s", n, n == 1 ? "was" : "were");
    if (check_names(__func__, n, names))
        return NULL;
    return renamed(__func__, t, names);
}

ct_tensor *ct_rename_axis(const ct_tensor *t, int axis, const char *name) {
    const char *names[CT_MAX_RANK];
    if (!t)
        return ct__null(__func__);
    if (ct__check_axis(__func__, t->rank, axis, &axis) ||
        (name && ct__check_name(__func__, axis, name)))
        return NULL;
    names_of(t, names);
    names[axis] = name;
    return renamed(__func__, t, names);
}

ct_tensor *ct_drop_names(const ct_tensor *t) {
    const char *none[CT_MAX_RANK] = {NULL};
    return t ? renamed(__func__, t, none) : ct__null(__func__);
}

/* --- looking --- */

const char *ct_axis_name(const ct_tensor *t, int axis) {
    if (!t)
        ct__fail_null_operand(__func__);
    if (!t || ct__check_axis(__func__, t->rank, axis, &axis))
        return NULL;
    return ct__name_of(t, axis);
}

static int find_axis(const ct_tensor *t, const char *name) {
    for (int i = 0; i < t->rank && t->names; i++) {
        const char *own = ct__name_of(t, i);
        if (own && strcmp(own, name) == 0)
            return i;
    }
    return CT_NO_AXIS;
}

static int axis_of(const char *who, const ct_tensor *t, const char *name) {
    int axis = find_axis(t, name);
    if (axis != CT_NO_AXIS)
        return axis;
    char names[CT__NAMES_TEXT_BYTES];
    ct__format_names(names, t);
    if (!ct_is_axis_name(name))
        ct__fail(CT_EAXIS, who,
                 "no axis can have a name that is empty, longer than %d bytes or not "
                 "plain UTF-8",
                 CT_MAX_NAME);
    else if (!t->names)
        ct__fail(CT_EAXIS, who, "no axis is named '%s': the %d %s no names", name, t->rank,
                 t->rank == 1 ? "axis has" : "axes have");
    else
        ct__fail(CT_EAXIS, who, "no axis is named '%s': the axes are %s", name, names);
    return CT_NO_AXIS;
}

int ct_axis_of(const ct_tensor *t, const char *name) {
    if (!t || !name) {
        ct__fail_null_operand(__func__);
        return CT_NO_AXIS;
    }
    return axis_of(__func__, t, name);
}

static ct_status axes_of(const char *who, const ct_tensor *t, int n, const char *const names[],
                         int axes[]) {
    int found[CT_MAX_RANK];
    for (int i = 0; i < n; i++) {
        if (!names[i])
            return ct__fail(CT_EINVAL, who, "name %d of %d is NULL", i, n);
        found[i] = axis_of(who, t, names[i]);
        if (found[i] == CT_NO_AXIS)
            return ct_error()->code;
    }
    for (int i = 0; i < n; i++)
        axes[i] = found[i];
    return CT_OK;
}

ct_status ct_axes_of(const ct_tensor *t, int n, const char *const names[], int axes[]) {
    if (!t)
        return ct__fail_null_operand(__func__);
    if (n < 0 || n > t->rank)
        return ct__fail(CT_EAXIS, __func__, "%d names were given and the tensor has %d ax%s", n,
                        t->rank, t->rank == 1 ? "is" : "es");
    if (n > 0 && (!names || !axes))
        return ct__fail(CT_EINVAL, __func__,
                        names ? "the place for %d axes is NULL" : "the %d names are NULL", n);
    return axes_of(__func__, t, n, names, axes);
}

bool ct_has_names(const ct_tensor *t) {
    return t && t->names;
}

bool ct_has_axis(const ct_tensor *t, const char *name) {
    return t && name && find_axis(t, name) != CT_NO_AXIS;
}

/* --- arranging --- */

ct_tensor *ct_transpose_named(const ct_tensor *t, const char *name, const char *other) {
    int axes[2];
    if (!t || !name || !other)
        return ct__null(__func__);
    if (axes_of(__func__, t, 2, (const char *[]){name, other}, axes))
        return NULL;
    ct_tensor *view = ct__share(__func__, t);
    if (!view)
        return NULL;
    ct__axis_from(view, axes[0], t, axes[1]);
    ct__axis_from(view, axes[1], t, axes[0]);
    return ct__view_end(view);
}

/* Where in `names` each axis of t is; `who` may be NULL. */
static ct_status check_align(const char *who, const ct_tensor *t, int n, const char *const names[],
                             int place[CT_MAX_RANK]) {
    if (n < 0 || n > CT_MAX_RANK)
        return !who ? CT_EAXIS
                    : ct__fail(CT_EAXIS, who, "a tensor has 0 to %d axes and %d names were given",
                               CT_MAX_RANK, n);
    ct_status status = check_names(who, n, names);
    if (status)
        return status;
    for (int i = 0; i < n; i++)
        if (!names[i])
            return who ? ct__fail(CT_EINVAL, who, "name %d of %d is NULL", i, n) : CT_EINVAL;
    if (ct__check_distinct(who, n, names))
        return CT_EAXIS;
    for (int i = 0; i < t->rank; i++) {
        const char *name = ct__name_of(t, i);
        if (!name)
            return !who ? CT_EAXIS
                        : ct__fail(CT_EAXIS, who, "axis %d has no name to be aligned by", i);
        place[i] = -1;
        for (int k = 0; k < n; k++)
            if (strcmp(name, names[k]) == 0)
                place[i] = k;
        if (place[i] < 0)
            return !who ? CT_EAXIS
                        : ct__fail(CT_EAXIS, who,
                                   "axis %d ('%s') is not among the %d names to "
                                   "align to",
                                   i, name, n);
    }
    return CT_OK;
}

static ct_tensor *aligned(const char *who, const ct_tensor *t, int n, const char *const names[]) {
    int place[CT_MAX_RANK];
    if (check_align(who, t, n, names, place))
        return NULL;
    ct_tensor *view = renamed(who, t, (const char *[CT_MAX_RANK]){NULL});
    if (!view)
        return NULL;
    view->rank = n;
    for (int i = 0; i < n; i++)
        ct__set_axis(view, i, 1, 0);
    for (int i = 0; i < t->rank; i++)
        ct__set_axis(view, place[i], t->shape[i], t->strides[i]);
    if (ct__names_set(who, view, names)) {
        ct_free(view);
        return NULL;
    }
    return ct__view_end(view);
}

ct_tensor *ct_align_to(const ct_tensor *t, int n, const char *const names[]) {
    return t ? aligned(__func__, t, n, names) : ct__null(__func__);
}

ct_tensor *ct_align_as(const ct_tensor *t, const ct_tensor *other) {
    const char *names[CT_MAX_RANK];
    if (!t || !other)
        return ct__null(__func__);
    names_of(other, names);
    for (int i = 0; i < other->rank; i++)
        if (!names[i])
            return ct__fail_null(CT_EAXIS, __func__,
                                 "axis %d of the tensor to align to has no name", i);
    return aligned(__func__, t, other->rank, names);
}

bool ct_can_align_to(const ct_tensor *t, int n, const char *const names[]) {
    int place[CT_MAX_RANK];
    return t && !check_align(NULL, t, n, names, place);
}
