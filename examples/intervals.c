/* A scalar type of one's own: intervals, which bound what rounding does to a result.

   An item is a pair of doubles that enclose a real number. A function of one item is all the library
   needs: sums, matrix products and the ops that follow from add, mul and div (square, reciprocal) are
   its own defaults. Ends are rounded outwards, where they round at all. A comparison is true where it
   holds for all numbers of both intervals: a partial order, so the type does not claim CT_ORDERED. */

#include "cotangent.h"

#include <math.h>
#include <stdio.h>

struct interval {
    double low, high;
};

/* `error` is the exact value less the rounded one, or NaN where nobody knows. */
static double outward(double value, double error, double side) {
    return error * side <= 0 ? value : nextafter(value, side * HUGE_VAL);
}

static double sum_error(double a, double b, double sum) {
    double other = sum - a;
    return (a - (sum - other)) + (b - other);
}

static double product_error(double a, double b, double product) {
    bool may_underflow = a != 0 && b != 0 && fabs(product) < 0x1p-960;
    return may_underflow ? (double)NAN : fma(a, b, -product);
}

/* The ops: false where there is no result. One of a single operand has it twice. */
typedef bool interval_op(struct interval x, struct interval z, void *out);

static bool put(void *out, double low, double high) {
    *(struct interval *)out = (struct interval){low, high};
    return true;
}

static bool neg(struct interval x, struct interval z, void *out) {
    return put(out, -x.high, -z.low);
}

static bool add(struct interval x, struct interval z, void *out) {
    double low = x.low + z.low, high = x.high + z.high;
    return put(out, outward(low, sum_error(x.low, z.low, low), -1),
               outward(high, sum_error(x.high, z.high, high), 1));
}

static bool sub(struct interval x, struct interval z, void *out) {
    return add(x, (struct interval){-z.high, -z.low}, out);
}

/* The extremes of the results at the ends. */
static bool of_ends(struct interval x, struct interval z, bool divide, void *out) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int i = 0; i < 4; i++) {
        double a = i & 1 ? x.low : x.high, b = i & 2 ? z.low : z.high;
        double value = divide ? a / b : a == 0 || b == 0 ? 0 : a * b;
        double error = divide ? (double)NAN : product_error(a, b, value);
        low = fmin(low, outward(value, error, -1));
        high = fmax(high, outward(value, error, 1));
    }
    return put(out, low, high);
}

static bool mul(struct interval x, struct interval z, void *out) {
    return of_ends(x, z, false, out);
}

static bool divide(struct interval x, struct interval z, void *out) {
    return (z.low > 0 || z.high < 0) && of_ends(x, z, true, out);
}

static bool root(struct interval x, struct interval z, void *out) {
    return x.low >= 0 && put(out, fmax(0, outward(sqrt(x.low), (double)NAN, -1)),
                             outward(sqrt(z.high), (double)NAN, 1));
}

static bool less(struct interval x, struct interval z, void *out) {
    *(bool *)out = x.high < z.low;
    return true;
}

static interval_op *const ops[CT_OP_COUNT] = {
    [CT_OP_neg] = neg,    [CT_OP_add] = add,   [CT_OP_sub] = sub,  [CT_OP_mul] = mul,
    [CT_OP_div] = divide, [CT_OP_sqrt] = root, [CT_OP_less] = less};

static bool run(const ct_scalar *self, enum ct_op op, const void *const in[], void *out) {
    (void)self;
    const struct interval *x = in[0], *z = in[ct_op_arity(op) - 1];
    return ops[op](*x, *z, out);
}

static ct_item_fn *item_of(const ct_scalar *self, enum ct_op op) {
    (void)self;
    return ops[op] ? run : NULL;
}

static double middle(const ct_scalar *self, const void *item) {
    const struct interval *x = item;
    (void)self;
    return x->low / 2 + x->high / 2;
}

static bool point(const ct_scalar *self, void *item, double value) {
    (void)self;
    if (!isnan(value))
        *(struct interval *)item = (struct interval){value, value};
    return !isnan(value);
}

static int format(const ct_scalar *self, const void *item, char *text, size_t size) {
    const struct interval *x = item;
    (void)self;
    return snprintf(text, size, "[%.17g, %.17g]", x->low, x->high);
}

static bool equal(const ct_scalar *self, const void *a, const void *b) {
    const struct interval *x = a, *y = b;
    (void)self;
    return x->low == y->low && x->high == y->high;
}

// clang-format off
static const ct_scalar intervals = {
    .name = "interval", .size = sizeof(struct interval), .align = _Alignof(struct interval),
    .traits = CT_NUMERIC | CT_REAL | CT_CHECKED, .to_double = middle, .from_double = point,
    .format = format, .equal = equal, .item = item_of,
};
// clang-format on

static void show(const char *what, const ct_tensor *t) {
    char text[1000];
    printf("%s\n%s\n", what, ct_format(t, text, sizeof text) < 0 ? ct_error()->message : text);
}

int main(void) {
    ct_tensor *ten = ct_from_double(&intervals, 10);
    ct_tensor *tenth = ct_reciprocal(ten); /* it is no double, but lies between two */
    ct_tensor *tenths = ct_broadcast_to(tenth, 2, (int64_t[]){2, 5});
    ct_tensor *sum = ct_sum(tenths, CT_ALL, false), *turned = ct_transpose(tenths);
    ct_tensor *product = ct_matmul(tenths, turned), *length = ct_sqrt(product);
    show("ten times 1/10, summed:", sum);
    show("rows of tenths times columns of tenths:", product);
    show("the root of each item of it:", length);
    ct_free(ten), ct_free(tenth), ct_free(tenths);
    ct_free(sum), ct_free(turned), ct_free(product), ct_free(length);
    return 0;
}
