/* Numerical derivatives with an estimate of their error.

   The five-point rule and its error follow deriv.c of the GNU Scientific Library: the difference
   between the three- and the five-point rule estimates the truncation, the size of the values the
   rounding. Where GSL moves the step once, to where the two balance, a short ladder of steps is
   tried here and the least estimate kept: it also finds the way out of a kink beside x. */

#include "autodiff/check_impl.h"

#include <float.h>
#include <math.h>

/* The changes at -h, -h/2, h/2 and h. */
struct stencil {
    double h;
    struct ct__change at[4];
};

static ct_status sample(ct__change_fn *f, void *context, double h, struct stencil *s) {
    static const double where[] = {-1, -0.5, 0.5, 1};
    s->h = h;
    for (int i = 0; i < 4; i++) {
        ct_status status = f(context, where[i] * h, &s->at[i]);
        if (status != CT_OK)
            return status;
    }
    return CT_OK;
}

static void central(const struct stencil *s, double x, struct ct__slope *slope) {
    double h = s->h;
    double three = 0.5 * (s->at[3].value - s->at[0].value);
    double five = 4.0 / 3 * (s->at[2].value - s->at[1].value) - three / 3;
    double noise =
        4.0 / 3 * (s->at[1].noise + s->at[2].noise) + (s->at[0].noise + s->at[3].noise) / 6;
    // x + h is itself rounded
    double inexact = fmax(fabs(three), fabs(five)) / h * (fabs(x) / h) * DBL_EPSILON;
    slope->value = five / h;
    slope->error = fabs(five - three) / h + noise / h + inexact;
}

/* The slope on one side by three points, and the distance to that by two. */
static double one_sided(struct ct__change half, struct ct__change whole, double h, double *error) {
    double three = (4 * half.value - whole.value) / h;
    *error += fabs(three - 2 * half.value / h) + (4 * half.noise + whole.noise) / fabs(h);
    return three;
}

/* Whether the two sides differ beyond what their errors explain. */
static bool sides_differ(const struct stencil *s, double rtol, double atol,
                         struct ct__slope *slope) {
    double error = 0;
    slope->right = one_sided(s->at[2], s->at[3], s->h, &error);
    slope->left = one_sided(s->at[1], s->at[0], -s->h, &error);
    double size = fmax(fabs(slope->left), fabs(slope->right));
    return fabs(slope->right - slope->left) > 4 * error + atol + rtol * size;
}

/* Whether the change on a side is the same at h and h/2: f jumps between x and there. */
static bool jumps(struct ct__change half, struct ct__change whole) {
    return fabs(half.value - whole.value) < 0.1 * fabs(whole.value) &&
           fabs(whole.value) > 100 * whole.noise;
}

/* Whether a step (or a gap in slope) is still there on the finer stencil. A smooth function that
   only bends sharply on the scale of the coarse one shows less of it. */
static bool stays(double fine, double coarse) {
    return fabs(fine) > 0.75 * fabs(coarse);
}

static ct_status find_kink(ct__change_fn *f, void *context, const struct stencil *coarse,
                           double rtol, double atol, struct ct__slope *slope) {
    bool differ = sides_differ(coarse, rtol, atol, slope);
    bool left = jumps(coarse->at[1], coarse->at[0]), right = jumps(coarse->at[2], coarse->at[3]);
    if (!differ && !left && !right)
        return CT_OK;
    struct stencil fine;
    ct_status status = sample(f, context, coarse->h / 16, &fine);
    if (status != CT_OK)
        return status;
    struct ct__slope closer;
    bool gap = differ && sides_differ(&fine, rtol, atol, &closer) &&
               stays(closer.right - closer.left, slope->right - slope->left);
    bool step = (left && stays(fine.at[0].value, coarse->at[0].value)) ||
                (right && stays(fine.at[3].value, coarse->at[3].value));
    slope->is_kink = gap || step;
    return CT_OK;
}

/* The steps to try, in this order: fractions of max(|x|, 1), and then of a small x itself, beside which
   f may change on the scale of x (log, 1 / x). Powers of two, so that x + h loses little. */
enum { FIXED_STEPS = 6, MOST_STEPS = FIXED_STEPS + 4 };

static int steps_for(double x, double step[MOST_STEPS]) {
    static const double fixed[FIXED_STEPS] = {1, 16, 1.0 / 16, 256, 1.0 / 256, 1.0 / 4096};
    static const double relative[] = {1, 16, 1.0 / 16, 256};
    double first = exp2(floor(log2(cbrt(DBL_EPSILON) * fmax(fabs(x), 1))));
    double near = exp2(floor(log2(cbrt(DBL_EPSILON) * fabs(x))));
    int n = 0;
    for (int i = 0; i < FIXED_STEPS; i++)
        step[n++] = fixed[i] * first;
    for (int i = 0; fabs(x) < 1 && near > 16 * DBL_MIN && n < MOST_STEPS; i++)
        step[n++] = relative[i] * near;
    return n;
}

ct_status ct__slope(ct__change_fn *f, void *context, double x, double rtol, double atol,
                    struct ct__slope *slope) {
    double step[MOST_STEPS];
    int steps = steps_for(x, step);
    struct stencil best = {0};
    double least = (double)
        INFINITY; // error in units of what is accepted: beside a pole the slopes differ by decades
    *slope = (struct ct__slope){.value = (double)NAN, .error = (double)INFINITY};
    for (int i = 0; i < steps; i++) {
        struct stencil s;
        struct ct__slope found = {0};
        ct_status status = sample(f, context, step[i], &s);
        if (status != CT_OK)
            return status;
        central(&s, x, &found);
        double error = found.error / (atol + rtol * fabs(found.value));
        if (isfinite(found.value) && error < least) {
            *slope = found;
            best = s;
            least = error;
        }
        if (least <= 0.25)
            break;
    }
    if (!isfinite(slope->value))
        return CT_OK;
    return find_kink(f, context, &best, rtol, atol, slope);
}
