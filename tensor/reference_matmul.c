/* The matrix product as its contract says it: item by item, the specification of the kernels. */

#include "tensor/linalg_impl.h"

#include <inttypes.h>
#include <math.h>

enum { INNER = 256 }; // the contract

struct sides {
    const ct_tensor *a, *b;
    size_t k;
};

static const char *item_of(const ct_tensor *t, int64_t i, int64_t j) {
    return ct__first(t) + (i * t->strides[0] + j * t->strides[1]) * (ptrdiff_t)t->scalar->size;
}

// --- f32 and f64: chains of fused multiply-adds

static ct_status item_f32(const struct sides *s, int64_t i, int64_t j, char *to) {
    float total = 0;
    for (size_t first = 0; first < s->k; first += INNER) {
        float acc = 0;
        for (size_t k = first; k < s->k && k < first + INNER; k++) {
            float x, y;
            memcpy(&x, item_of(s->a, i, (int64_t)k), sizeof x);
            memcpy(&y, item_of(s->b, (int64_t)k, j), sizeof y);
            acc = fmaf(x, y, acc);
        }
        total = first == 0 ? acc : total + acc;
    }
    memcpy(to, &total, sizeof total);
    return CT_OK;
}

static ct_status item_f64(const struct sides *s, int64_t i, int64_t j, char *to) {
    double total = 0;
    for (size_t first = 0; first < s->k; first += INNER) {
        double acc = 0;
        for (size_t k = first; k < s->k && k < first + INNER; k++) {
            double x, y;
            memcpy(&x, item_of(s->a, i, (int64_t)k), sizeof x);
            memcpy(&y, item_of(s->b, (int64_t)k, j), sizeof y);
            acc = fma(x, y, acc);
        }
        total = first == 0 ? acc : total + acc;
    }
    memcpy(to, &total, sizeof total);
    return CT_OK;
}

// --- integers: exact, in 192 bits

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static ct_status item_integer(const struct sides *s, int64_t i, int64_t j, char *to) {
    const ct_scalar *scalar = s->a->scalar;
    unsigned_wide low = 0; // of the total in two's complement
    int64_t high = 0;
    for (size_t k = 0; k < s->k; k++) {
        int64_t x = 0, y = 0;
        scalar->to_i64(scalar, item_of(s->a, i, (int64_t)k), &x);
        scalar->to_i64(scalar, item_of(s->b, (int64_t)k, j), &y);
        wide product = (wide)x * y;
        low += (unsigned_wide)product;
        high += (low < (unsigned_wide)product) - (product < 0);
    }
    wide total = (wide)low;
    bool fits = high == (total < 0 ? -1 : 0) && total >= INT64_MIN && total <= INT64_MAX;
    return fits && scalar->from_i64(scalar, to, (int64_t)total) ? CT_OK : CT_EOVERFLOW;
}

// --- other types: a product and a sum, rounded apart

static bool apply_two(const ct_scalar *scalar, enum ct_op op, const char *x, const char *y,
                      char *to) {
    ptrdiff_t size = (ptrdiff_t)scalar->size;
    char *ptr[] = {(char *)(uintptr_t)x, (char *)(uintptr_t)y, to};
    return ct_scalar_loop(scalar, op)(scalar, op, 1, ptr, (ptrdiff_t[]){size, size, size}) == 1;
}

enum { LARGEST = 1024 }; // bytes of an item

static ct_status item_generic(const struct sides *s, int64_t i, int64_t j, char *to) {
    const ct_scalar *scalar = s->a->scalar;
    _Alignas(64) char acc[LARGEST], term[LARGEST];
    bool fits = scalar->from_double(scalar, to, 0);
    for (size_t k = 0; k < s->k && fits; k++) {
        if (k % INNER == 0)
            fits = scalar->from_double(scalar, acc, 0);
        fits = fits && apply_two(scalar, CT_OP_mul, item_of(s->a, i, (int64_t)k),
                                 item_of(s->b, (int64_t)k, j), term);
        fits = fits && apply_two(scalar, CT_OP_add, acc, term, acc);
        if (fits && k < INNER && (k + 1 == INNER || k + 1 == s->k))
            memcpy(to, acc, scalar->size);
        else if (fits && ((k + 1) % INNER == 0 || k + 1 == s->k))
            fits = apply_two(scalar, CT_OP_add, to, acc, to);
    }
    return fits ? CT_OK : CT_EOVERFLOW;
}

// --- the whole

typedef ct_status item_fn(const struct sides *s, int64_t i, int64_t j, char *to);

static item_fn *item_function(const ct_scalar *scalar) {
    if (scalar == CT_F32)
        return item_f32;
    if (scalar == CT_F64)
        return item_f64;
    if (scalar->traits & CT_INTEGER && scalar->to_i64 && scalar->from_i64)
        return item_integer;
    bool generic = !scalar->matmul && scalar->size <= LARGEST &&
                   ct_scalar_loop(scalar, CT_OP_mul) && ct_scalar_loop(scalar, CT_OP_add);
    return generic ? item_generic : NULL;
}

static item_fn *check(const char *who, const ct_tensor *a, const ct_tensor *b) {
    char left[CT__SHAPE_TEXT_BYTES], right[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(left, sizeof left, a->rank, a->shape);
    ct__format_shape(right, sizeof right, b->rank, b->shape);
    item_fn *item = item_function(a->scalar);
    if (a->scalar != b->scalar)
        ct__fail(CT_EDTYPE, who, "matmul needs one scalar type: %s and %s were given",
                 a->scalar->name, b->scalar->name);
    else if (!item)
        ct__fail(CT_EDTYPE, who, "%s has no reference matmul", a->scalar->name);
    else if (a->rank != 2 || b->rank != 2)
        ct__fail(CT_ESHAPE, who, "the reference matmul needs operands of rank 2: %s times %s", left,
                 right);
    else if (a->shape[1] != b->shape[0])
        ct__fail(CT_ESHAPE, who,
                 "matmul needs the inner extents to agree: %s times %s, %" PRId64
                 " against %" PRId64,
                 left, right, a->shape[1], b->shape[0]);
    else
        return item;
    return NULL;
}

ct_tensor *ct_matmul_reference(const ct_tensor *a, const ct_tensor *b) {
    if (!a || !b)
        return ct__null(__func__);
    item_fn *item = check(__func__, a, b);
    if (!item)
        return NULL;
    int64_t m = a->shape[0], n = b->shape[1];
    ct_tensor *c = ct__empty(__func__, a->scalar, 2, (int64_t[]){m, n});
    if (!c)
        return NULL;
    struct sides sides = {a, b, (size_t)a->shape[1]};
    char *to = ct__first(c);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++, to += a->scalar->size)
            if (item(&sides, i, j, to)) {
                ct__fail(CT_EOVERFLOW, __func__,
                         "the item at index [%" PRId64 ", %" PRId64
                         "] of the product does not fit %s",
                         i, j, a->scalar->name);
                ct_free(c);
                return NULL;
            }
    return c;
}
