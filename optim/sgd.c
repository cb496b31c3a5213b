// Stochastic gradient descent with momentum: B. T. Polyak, 1964. Nesterov's form: I. Sutskever,
// J. Martens, G. Dahl and G. Hinton, "On the importance of initialization and momentum in deep
// learning", ICML 2013.

#include "optim/optim_impl.h"

#include "tensor/fail.h"
#include "tensor/options.h"

#include <math.h>

static double prepare(const ct_optim *optim, uint64_t t, union ct__step *step) {
    const struct ct_sgd_options *o = &optim->options.sgd;
    step->sgd = (struct ct__sgd_step){
        .lr = optim->lr,
        .momentum = o->momentum,
        .decay = o->weight_decay,
        .one_minus_dampening = 1 - o->dampening,
        .nesterov = o->nesterov,
        .first = t == 1,
    };
    double largest = optim->lr;
    if (o->momentum > largest)
        largest = o->momentum;
    if (o->weight_decay > largest)
        largest = o->weight_decay;
    double dampened = fabs(step->sgd.one_minus_dampening);
    return dampened > largest ? dampened : largest;
}

static const struct ct__rule rule = {CT__SGD, prepare};

struct ct_sgd_options ct_sgd_options_init(void) {
    return (struct ct_sgd_options){.size = sizeof(struct ct_sgd_options), .lr = 0.01};
}

static ct_status check(const char *who, const struct ct_sgd_options *o) {
    ct_status status = ct__check_option(who, "learning rate lr", o->lr, 0, HUGE_VAL);
    if (!status)
        status = ct__check_option(who, "momentum", o->momentum, 0, HUGE_VAL);
    if (!status)
        status = ct__check_option(who, "dampening", o->dampening, -HUGE_VAL, HUGE_VAL);
    if (!status)
        status = ct__check_option(who, "weight_decay", o->weight_decay, 0, HUGE_VAL);
    char a[CT__VALUE_BYTES], b[CT__VALUE_BYTES];
    if (!status && o->nesterov && !(o->momentum > 0 && o->dampening == 0))
        status = ct__fail(CT_EDOMAIN, who,
                          "nesterov needs momentum > 0 and dampening = 0, not %s and %s",
                          ct__value_text(a, o->momentum), ct__value_text(b, o->dampening));
    return status;
}

ct_optim *ct_sgd_new(const struct ct_sgd_options *options) {
    static const char who[] = "ct_sgd_new";
    struct ct_sgd_options o = ct_sgd_options_init();
    if (ct__take_options(who, "ct_sgd_options_init", &o, sizeof o, options) || check(who, &o))
        return NULL;
    ct_optim *optim = ct__optim_new(who, &rule, o.lr);
    if (optim) {
        optim->options.sgd = o;
        optim->slots = o.momentum != 0;
    }
    return optim;
}
