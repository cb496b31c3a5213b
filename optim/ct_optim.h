/**
 * @file ct_optim.h
 * Optimisers: fused steps, in place, all or nothing.
 *
 * The arithmetic is that of PyTorch 1.13 on a CPU, rounding for rounding: `a.add_(b, alpha=k)` is
 * one fused multiply-add, `a.addcmul_(b, c, value=k)` is fma(k b, c, a), and options are rounded to
 * the type of the parameter where PyTorch does it. Bias corrections are made in f64, with powers by
 * multiplication in double length instead of the C library's pow. A step equals the composition of
 * these operations bit for bit, for any number of threads.
 *
 * State (momentum, moments) that falls below the smallest normal number is set to +0, since a
 * subnormal is many times slower. A NaN in a gradient reaches its own item alone.
 *
 * Thread safety: an optimiser belongs to one thread at a time.
 */
#ifndef CT_OPTIM_H
#define CT_OPTIM_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

typedef struct ct_optim ct_optim;

/**
 * Stochastic gradient descent (torch.optim.SGD). With g the gradient, p the parameter:
 *
 *     g += weight_decay p
 *     b = momentum b + (1 - dampening) g     (the first step: b = g)
 *     p -= lr (g + momentum b) with nesterov, lr b with momentum, else lr g
 */
struct ct_sgd_options {
    size_t size;         /**< sizeof of this struct as the caller knows it */
    double lr;           /**< 0.01; >= 0 */
    double momentum;     /**< 0; >= 0 */
    double dampening;    /**< 0; any finite number */
    double weight_decay; /**< 0; >= 0, added to the gradient */
    bool nesterov;       /**< needs momentum > 0 and dampening = 0 */
};
CT_API struct ct_sgd_options ct_sgd_options_init(void);

/**
 * Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), as torch.optim, at step
 * t = 1, 2, ...:
 *
 *     Adam: g += weight_decay p        AdamW: p *= 1 - lr weight_decay
 *     m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g g
 *     p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 *
 * With eps = 0, an item whose gradients were all 0 is 0 / 0 = NaN.
 */
struct ct_adam_options {
    size_t size;
    double lr;           /**< 0.001; >= 0 */
    double beta1, beta2; /**< 0.9, 0.999; in [0, 1) */
    double eps;          /**< 1e-8; >= 0, added after the bias-corrected root */
    double weight_decay; /**< 0; Adam adds it to the gradient, AdamW shrinks the parameter first */
    bool decoupled;      /**< true for AdamW */
    bool amsgrad;        /**< keep the maximum of the second moments */
};
CT_API struct ct_adam_options ct_adam_options_init(void);
CT_API struct ct_adam_options ct_adamw_options_init(void); /**< decoupled, weight_decay 0.01 */

/**
 * An optimiser without parameters: its first step binds them. NULL options mean the defaults, and so
 * do the fields that a shorter struct lacks.
 *
 * @return NULL with
 *         CT_EDOMAIN  an option is out of range; the message names it;
 *         CT_EINVAL   the size of the options is impossible: begin with ct_sgd_options_init();
 *         CT_ENOMEM   no memory.
 */
CT_API ct_optim *ct_sgd_new(const struct ct_sgd_options *options);
/** As ct_sgd_new(), with options that begin with ct_adam_options_init() or
 *  ct_adamw_options_init(). */
CT_API ct_optim *ct_adam_new(const struct ct_adam_options *options);
/** Frees the optimiser and its state; NULL is accepted. */
CT_API void ct_optim_free(ct_optim *optim);
/** Another learning rate from the next step on. */
CT_API ct_status ct_optim_set_lr(ct_optim *optim, double lr);
/** How many steps were taken. */
CT_API uint64_t ct_optim_steps(const ct_optim *optim);

/**
 * One step: params[i] moves against grads[i]; same shapes and scalar type (f32 or f64), the same
 * n parameters in the same order at every call. Each parameter is written in place when it is dense
 * and its storage has one owner, else first copied; gradients may have any layout and may share
 * storage with parameters. All or nothing: on failure no value, no state and no counter has
 * changed. Allocates nothing after the first step where all gradients are dense.
 *
 * @retval CT_OK       done.
 * @retval CT_EINVAL   NULL, no parameters, another number of them than before, one of them twice.
 * @retval CT_ESHAPE   a gradient has another shape than its parameter, or this than before.
 * @retval CT_EDTYPE   a parameter is neither f32 nor f64, or its gradient is of another type.
 * @retval CT_EDOMAIN  a coefficient of the step does not fit f32.
 * @retval CT_ENOMEM   no memory.
 */
CT_API ct_status ct_optim_step(ct_optim *optim, size_t n, ct_tensor *const *params,
                               const ct_tensor *const *grads);

/**
 * One step from a tape: gradients are the values of grads[i]; the tape's shares of leaves[i] are
 * released first (ct_tape_release()), so that no parameter is copied. A tape in error cannot step:
 * CT_EINVAL, with its message. Otherwise as ct_optim_step(), except that memory may run out after
 * the release; the parameters are then as they were, and the tape has to be rewound.
 */
CT_API ct_status ct_optim_step_tape(ct_optim *optim, size_t n, ct_tensor *const *params,
                                    const ct_var *leaves, const ct_var *grads);

/**
 * Clips by the global norm (Pascanu, Mikolov, Bengio 2013): where the Euclidean norm of all items together is above
 * @p most, each item is multiplied by most / norm. The norm is taken in f64 and scaled, so that it neither overflows
 * nor underflows: [1e30, 1e30] of f32 is clipped, not zeroed.
 *
 * @param grads  f32 and f64, of any shapes and layouts; written in place, all or none
 * @param most   above 0; infinity measures alone
 * @param norm   gets the norm before clipping (infinity where f64 cannot hold it), or NULL
 *
 * @retval CT_OK       done; zeros stay zeros.
 * @retval CT_EDOMAIN  @p most is 0, negative or NaN; or an item is not finite, which the message names, and
 *                     @p norm is infinite or NaN. Nothing has changed.
 * @retval CT_EDTYPE   a gradient is neither f32 nor f64.
 * @retval CT_EINVAL   NULL, or one tensor twice.
 * @retval CT_ENOMEM   no memory: nothing has changed.
 */
CT_API ct_status ct_clip_by_norm(size_t n, ct_tensor *const *grads, double most, double *norm);

CT_END_DECLS
#endif
