// Clipping by the global norm.

#include "optim/ct_optim.h"

#include "tensor/alloc.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_reduce.h"
#include "tensor/ct_write.h"
#include "tensor/fail.h"

#include <float.h>
#include <math.h>

static const char who[] = "ct_clip_by_norm";

// f64 and dense, items times 2^-shift: f32 cannot overflow in it.
static ct_tensor *widened(const ct_tensor *t, int shift) {
    ct_tensor *wide = ct_astype(t, CT_F64);
    ct_tensor *scaled = wide && shift ? ct_scale(wide, ldexp(1, -shift)) : ct_copy(wide);
    ct_tensor *dense = scaled ? ct_compact(scaled) : NULL;
    ct_free(wide);
    ct_free(scaled);
    return dense;
}

// The norm of everything, in units of 2^shift.
static ct_status global_norm(size_t n, ct_tensor *const *grads, int shift, double *norm) {
    ct_tensor *norms = ct_zeros(CT_F64, 1, (int64_t[]){(int64_t)n});
    double *each = norms ? ct_data_for_write(norms) : NULL;
    ct_status status = each ? CT_OK : ct_error()->code;
    for (size_t i = 0; i < n && !status; i++) {
        ct_tensor *wide = widened(grads[i], shift);
        ct_tensor *one = wide ? ct_norm(wide, CT_ALL, 2, false) : NULL;
        status = one ? CT_OK : ct_error()->code;
        each[i] = one ? ct_item(one) : 0;
        ct_free(wide);
        ct_free(one);
    }
    ct_tensor *all = status ? NULL : ct_norm(norms, CT_ALL, 2, false);
    if (all)
        *norm = ct_item(all);
    else if (!status)
        status = ct_error()->code;
    ct_free(norms);
    ct_free(all);
    return status;
}

// CT_EDOMAIN, with its place, where an item is not finite.
static ct_status check_items(size_t n, ct_tensor *const *grads) {
    for (size_t i = 0; i < n; i++) {
        ct_tensor *wide = widened(grads[i], 0);
        if (!wide)
            return ct_error()->code;
        const double *items = ct_data(wide);
        size_t count = ct_count(wide), k = 0;
        while (k < count && isfinite(items[k]))
            k++;
        double item = k < count ? items[k] : 0;
        ct_free(wide);
        if (k < count)
            return ct__fail(CT_EDOMAIN, who,
                            "gradient %zu is %s at item %zu of %zu: nothing was clipped", i,
                            isnan(item) ? "nan"
                            : item > 0  ? "inf"
                                        : "-inf",
                            k, count);
    }
    return CT_OK;
}

static ct_status check(size_t n, ct_tensor *const *grads, double most) {
    if (n > 0 && !grads)
        return ct__fail_null_operand(who);
    if (!(most > 0)) {
        char text[64];
        CT_F64->format(CT_F64, &most, text, sizeof text);
        return ct__fail(CT_EDOMAIN, who,
                        "the largest norm has to be above 0, not %s; infinity clips nothing", text);
    }
    for (size_t i = 0; i < n; i++) {
        if (!grads[i])
            return ct__fail_null_operand(who);
        if (ct_dtype(grads[i]) != CT_F32 && ct_dtype(grads[i]) != CT_F64)
            return ct__fail(CT_EDTYPE, who, "gradient %zu is of %s and not of f32 or f64", i,
                            ct_dtype(grads[i])->name);
        for (size_t k = 0; k < i; k++)
            if (grads[k] == grads[i])
                return ct__fail(CT_EINVAL, who, "gradients %zu and %zu are the same tensor", k, i);
    }
    return CT_OK;
}

// t times factor 2^-shift, by steps where the product would not be a normal number of the type.
static ct_status shrink(ct_tensor *t, double factor, int shift) {
    const int step = 100;
    const double least = ct_dtype(t) == CT_F32 ? (double)FLT_MIN : DBL_MIN;
    ct_status status = CT_OK;
    for (; shift > 0 && !status; shift -= step)
        status = ct_scale_into(t, ldexp(1, -step));
    for (; factor < least && !status; factor *= ldexp(1, step))
        status = ct_scale_into(t, ldexp(1, -step));
    return status ? status : ct_scale_into(t, factor);
}

ct_status ct_clip_by_norm(size_t n, ct_tensor *const *grads, double most, double *norm) {
    double whole = 0, measured;
    int shift = 0;
    ct_status status = check(n, grads, most);
    if (!status)
        status = global_norm(n, grads, 0, &whole);
    if (status)
        return status;
    measured = whole;
    if (!isfinite(whole)) {
        status = check_items(n, grads);
        shift = 100; // all items are finite: it is their norm that no f64 holds
        if (!status)
            status = global_norm(n, grads, shift, &measured);
    }
    for (size_t i = 0; i < n && !status && whole > most; i++)
        if (!ct_data_for_write(grads[i]) &&
            ct_count(grads[i]) > 0) // nothing fails after the first is written
            status = ct_error()->code;
    for (size_t i = 0; i < n && !status && whole > most; i++)
        status = shrink(grads[i], most / measured, shift);
    if (norm && (!status || status == CT_EDOMAIN))
        *norm = whole;
    return status;
}
