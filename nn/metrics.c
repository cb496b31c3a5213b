// How well a classifier does.

#include "nn/nn_impl.h"

#include "tensor/fail.h"

#include <inttypes.h>
#include <math.h>

struct rows {
    const ct_scalar *scalar;
    const char *logits;
    ptrdiff_t row, column; // bytes
    int64_t classes;
};

// The largest of a row: the first NaN, else the first maximum.
static int64_t best(const struct rows *r, int64_t i) {
    const char *item = r->logits + i * r->row;
    double largest = r->scalar->to_double(r->scalar, item);
    int64_t at = 0;
    for (int64_t j = 1; j < r->classes && !isnan(largest); j++) {
        double x = r->scalar->to_double(r->scalar, item + j * r->column);
        if (x > largest || isnan(x)) {
            largest = x;
            at = j;
        }
    }
    return at;
}

static ct_status check(const char *who, const ct_tensor *logits, const ct_tensor *labels) {
    if (!logits || !labels)
        return ct__fail_null_operand(who);
    if (!(ct_dtype(logits)->traits & CT_REAL) || ct_dtype(labels) != CT_I64)
        return ct__fail(CT_EDTYPE, who, "logits are real and labels i64, not %s and %s",
                        ct_dtype(logits)->name, ct_dtype(labels)->name);
    if (ct_rank(logits) == 2 && ct_rank(labels) == 1 &&
        ct_shape(logits)[0] == ct_shape(labels)[0] && ct_shape(logits)[1] > 0)
        return CT_OK;
    char a[CT__SHAPE_TEXT_BYTES], b[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(a, sizeof a, ct_rank(logits), ct_shape(logits));
    ct__format_shape(b, sizeof b, ct_rank(labels), ct_shape(labels));
    return ct__fail(CT_ESHAPE, who, "logits are [n, classes] and labels [n], not %s and %s", a, b);
}

ct_status ct__hits(const char *who, const ct_tensor *logits, const ct_tensor *labels,
                   int64_t *hits) {
    ct_status status = check(who, logits, labels);
    if (status)
        return status;
    ptrdiff_t size = (ptrdiff_t)ct_dtype(logits)->size;
    struct rows rows = {ct_dtype(logits), ct_data(logits), ct_strides(logits)[0] * size,
                        ct_strides(logits)[1] * size, ct_shape(logits)[1]};
    int64_t n = ct_shape(labels)[0], found = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = ((const int64_t *)ct_data(labels))[i * ct_strides(labels)[0]];
        if (label < 0 || label >= rows.classes)
            return ct__fail(CT_EINDEX, who,
                            "the label %" PRId64 " of row %" PRId64 " is not in [0, %" PRId64 ")",
                            label, i, rows.classes);
        found += best(&rows, i) == label;
    }
    *hits = found;
    return CT_OK;
}

double ct_accuracy(const ct_tensor *logits, const ct_tensor *labels) {
    static const char who[] = "ct_accuracy";
    int64_t hits;
    if (ct__hits(who, logits, labels, &hits))
        return (double)NAN;
    if (ct_count(labels) == 0) {
        ct__fail(CT_EDOMAIN, who, "there is no accuracy of no rows");
        return (double)NAN;
    }
    return (double)hits / (double)ct_count(labels);
}
