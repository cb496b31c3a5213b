/**
 * @file ct_names.h
 * Axis names: "batch", "feature".
 *
 * An axis may have a name: 1 to 31 bytes of UTF-8 without control characters, no two axes of a
 * tensor alike. Names never change a number, and ct_tensor_equal() does not look at them. They
 * follow the axes:
 *
 * - Views and copies keep them; an axis that a view adds has none. A reshape keeps those of the
 *   leading and trailing axes that it does not change.
 * - Elementwise functions align axes from the right. Where several operands name an axis they must
 *   agree (CT_EAXIS); an unnamed axis takes the other's name.
 * - A reduction keeps the names of the axes that stay, those of extent 1 by `keepdims` included.
 * - A matrix product has the merged names of the leading axes, the name of a's rows and of b's
 *   columns; the contracted axes may be named in any way.
 * - Gradients have none: a rule never looks at a name. Neither does ct_einsum(); the selecting
 *   functions (ct_take(), ct_gather(), ct_scatter_add(), ...) go by extents and keep the names of
 *   the tensor's other axes.
 * - A result that would name two axes alike, such as a table times its own transpose, is CT_EAXIS:
 *   rename one of them first.
 *
 * Every function that takes an axis works by name: `ct_sum(t, ct_axis_of(t, "batch"), false)`.
 * Names are shared by tensors and cost no memory in views; a tensor without names pays one
 * comparison.
 */
#ifndef CT_NAMES_H
#define CT_NAMES_H

#include "tensor/ct_tensor.h"

CT_BEGIN_DECLS

/** Bytes of the longest name, without its NUL. */
enum { CT_MAX_NAME = 31 };

/** What ct_axis_of() returns for a name that no axis has. A function that is given it as an axis
 *  fails and keeps the error that is pending, as for a NULL operand. */
#define CT_NO_AXIS INT32_MIN

/** @name Naming: views, O(rank) @{ */
/** The axes named anew, all of them; a NULL entry leaves one without a name. @p n must be the rank.
 *  CT_EAXIS for a wrong number, a name that is none, and one given twice. */
CT_API ct_tensor *ct_name_axes(const ct_tensor *t, int n, const char *const names[]);
/** One axis with another name, or none where @p name is NULL. */
CT_API ct_tensor *ct_rename_axis(const ct_tensor *t, int axis, const char *name);
/** No axis has a name. */
CT_API ct_tensor *ct_drop_names(const ct_tensor *t);
/** @} */

/** @name Looking @{ */
/** The name of an axis, valid as long as the tensor is not freed; NULL where it has none (no error)
 *  or there is no such axis (an error). */
CT_API const char *ct_axis_name(const ct_tensor *t, int axis);
/** The axis of this name, counted from the front; #CT_NO_AXIS, with an error that lists the names,
 *  where none has it. */
CT_API int ct_axis_of(const ct_tensor *t, const char *name);
/** The axes of @p n names, for functions that take several; nothing is written on failure. */
CT_API ct_status ct_axes_of(const ct_tensor *t, int n, const char *const names[], int axes[]);
/** @} */

/** @name Arranging by name: views, O(rank) @{ */
/** Swaps two axes. */
CT_API ct_tensor *ct_transpose_named(const ct_tensor *t, const char *name, const char *other);
/** The axes in the order of @p names, which must hold those of all axes of @p t; a name that @p t
 *  does not have becomes an axis of extent 1. What is aligned broadcasts by name. CT_EAXIS where an
 *  axis of @p t has no name or is not among @p names. */
CT_API ct_tensor *ct_align_to(const ct_tensor *t, int n, const char *const names[]);
/** ct_align_to() the names of another tensor, whose axes must all have one. */
CT_API ct_tensor *ct_align_as(const ct_tensor *t, const ct_tensor *other);
/** @} */

/** @name Predicates: what would fail, without allocating or setting an error @{ */
/** Whether some axis has a name; false for NULL. */
CT_API bool ct_has_names(const ct_tensor *t);
/** Whether an axis of this name is there. */
CT_API bool ct_has_axis(const ct_tensor *t, const char *name);
/** Whether a text can be the name of an axis. */
CT_API bool ct_is_axis_name(const char *name);
/** Whether the names of two tensors agree as an elementwise function needs them to. */
CT_API bool ct_names_agree(const ct_tensor *a, const ct_tensor *b);
CT_API bool ct_can_align_to(const ct_tensor *t, int n, const char *const names[]);
/** @} */

CT_END_DECLS
#endif
