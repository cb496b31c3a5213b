/* Scalar types made of equal parts: views of a part, and items put together from parts. */

#include "tensor/fail.h"
#include "tensor/tensor_impl.h"

ct_tensor *ct_component(const ct_tensor *t, const ct_scalar *part, size_t byte_offset) {
    if (!t || !part)
        return ct__null("ct_component");
    size_t ratio = t->scalar->size / part->size;
    if (ratio * part->size != t->scalar->size || byte_offset % part->size != 0 ||
        byte_offset >= t->scalar->size)
        return ct__fail_null(CT_EDTYPE, "ct_component", "%s has no part of type %s at byte %zu",
                             t->scalar->name, part->name, byte_offset);
    ct_tensor *view = ct__share("ct_component", t);
    if (!view)
        return NULL;
    /* No overflow: the storage's bytes, which bound every reachable stride, fit ptrdiff_t. An axis
       of extent <= 1 has no reachable neighbour; its stride is set to one that cannot overflow. */
    view->scalar = part;
    view->offset = t->offset * (int64_t)ratio + (int64_t)(byte_offset / part->size);
    for (int i = 0; i < t->rank; i++)
        view->strides[i] = t->shape[i] > 1 && t->count > 0 ? t->strides[i] * (int64_t)ratio : 1;
    return view;
}

/* A part written through the strides of a component of a fresh tensor, which nobody else sees. */
static ct_status write_part(ct_tensor *out, const ct_scalar *part, size_t byte_offset,
                            const ct_tensor *from) {
    ct_tensor *view = ct_component(out, part, byte_offset);
    if (!view)
        return ct_error()->code;
    ct__copy_items(part->size, out->rank, out->shape, ct__first(from), from->strides,
                   ct__first(view), view->strides);
    ct_free(view);
    return CT_OK;
}

static const ct_tensor *first_part(const char *who, const ct_scalar *scalar, size_t n,
                                   const ct_tensor *const parts[]) {
    const ct_tensor *first = NULL;
    if (n == 0 || n > scalar->size) // before as many parts are looked at
        return ct__fail_null(CT_EDTYPE, who, "%s is not made of %zu parts", scalar->name, n);
    for (size_t i = 0; i < n; i++) {
        if (!parts[i])
            continue;
        if (!first)
            first = parts[i];
        if (parts[i]->scalar != first->scalar)
            return ct__fail_null(CT_EDTYPE, who, "parts need one scalar type: %s and %s were given",
                                 first->scalar->name, parts[i]->scalar->name);
        if (!ct_same_shape(parts[i], first)) {
            char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
            ct__format_shape(a, sizeof a, first->rank, first->shape);
            ct__format_shape(b, sizeof b, parts[i]->rank, parts[i]->shape);
            return ct__fail_null(CT_ESHAPE, who, "parts need one shape: %s and %s were given", a,
                                 b);
        }
    }
    if (!first)
        return ct__null(who);
    if (first->scalar->size * n != scalar->size)
        return ct__fail_null(CT_EDTYPE, who, "%s is not made of %zu items of %s", scalar->name, n,
                             first->scalar->name);
    return first;
}

ct_tensor *ct_from_components(const ct_scalar *scalar, size_t n, const ct_tensor *const parts[]) {
    const char *who = "ct_from_components";
    if (!scalar || !parts)
        return ct__null(who);
    const ct_tensor *first = first_part(who, scalar, n, parts);
    if (!first)
        return NULL;
    ct_tensor *out = ct_zeros(scalar, first->rank, first->shape);
    if (!out)
        return NULL;
    ct__names_like(out, first);
    for (size_t i = 0; i < n; i++) {
        if (!parts[i])
            continue;
        if (write_part(out, first->scalar, i * first->scalar->size, parts[i]) != CT_OK) {
            ct_free(out);
            return NULL;
        }
    }
    return out;
}
