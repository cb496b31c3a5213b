// Adam: D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
// AdamW: I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
// amsgrad: S. J. Reddi, S. Kale and S. Kumar, "On the convergence of Adam and beyond", ICLR 2018.

#include "optim/optim_impl.h"

#include "tensor/fail.h"
#include "tensor/options.h"

#include <math.h>

// A number as the unevaluated sum of two (T. J. Dekker, "A floating-point technique for extending
// the available precision", 1971), with fma for the exact product.
struct pair {
    double high, low;
};

static struct pair product(struct pair a, struct pair b) {
    double high = a.high * b.high, low = fma(a.high, b.high, -high);
    low += a.high * b.low + a.low * b.high;
    double sum = high + low;
    return (struct pair){sum, low - (sum - high)};
}

// Not the C library's pow: its last bit is nobody's promise.
double ct__power(double beta, uint64_t t) {
    struct pair result = {1, 0}, square = {beta, 0};
    for (; t > 0; t >>= 1) {
        if (t & 1)
            result = product(result, square);
        square = product(square, square);
    }
    return result.high;
}

static double prepare(const ct_optim *optim, uint64_t t, union ct__step *step) {
    const struct ct_adam_options *o = &optim->options.adam;
    step->adam = (struct ct__adam_step){
        .rate = optim->lr / (1 - ct__power(o->beta1, t)),
        .beta1 = o->beta1,
        .one_minus_beta1 = 1 - o->beta1,
        .beta2 = o->beta2,
        .one_minus_beta2 = 1 - o->beta2,
        .root = sqrt(1 - ct__power(o->beta2, t)),
        .eps = o->eps,
        .decay = o->decoupled ? 0 : o->weight_decay,
        .decay_factor = o->decoupled ? 1 - optim->lr * o->weight_decay : 1,
        .amsgrad = o->amsgrad,
    };
    const struct ct__adam_step *s = &step->adam;
    double largest = s->rate;
    if (s->eps > largest)
        largest = s->eps;
    if (s->decay > largest)
        largest = s->decay;
    return fabs(s->decay_factor) > largest ? fabs(s->decay_factor) : largest;
}

static const struct ct__rule rule = {CT__ADAM, prepare};

struct ct_adam_options ct_adam_options_init(void) {
    return (struct ct_adam_options){.size = sizeof(struct ct_adam_options),
                                    .lr = 0.001,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .eps = 1e-8};
}

struct ct_adam_options ct_adamw_options_init(void) {
    struct ct_adam_options o = ct_adam_options_init();
    o.decoupled = true;
    o.weight_decay = 0.01;
    return o;
}

static ct_status check(const char *who, const struct ct_adam_options *o) {
    ct_status status = ct__check_option(who, "learning rate lr", o->lr, 0, HUGE_VAL);
    if (!status)
        status = ct__check_option(who, "beta1", o->beta1, 0, 1);
    if (!status)
        status = ct__check_option(who, "beta2", o->beta2, 0, 1);
    if (!status)
        status = ct__check_option(who, "eps", o->eps, 0, HUGE_VAL);
    if (!status)
        status = ct__check_option(who, "weight_decay", o->weight_decay, 0, HUGE_VAL);
    return status;
}

ct_optim *ct_adam_new(const struct ct_adam_options *options) {
    static const char who[] = "ct_adam_new";
    struct ct_adam_options o = ct_adam_options_init();
    if (ct__take_options(who, "ct_adam_options_init", &o, sizeof o, options) || check(who, &o))
        return NULL;
    ct_optim *optim = ct__optim_new(who, &rule, o.lr);
    if (optim) {
        optim->options.adam = o;
        optim->slots = o.amsgrad ? 3 : 2;
    }
    return optim;
}
