/**
 * @file ct_derivatives.h
 * Derivatives of a function of one's own: products with its Jacobian and Hessian, and both whole.
 *
 * A function records its computation on the tape that it is given, and works for any differentiable
 * scalar type: so one recording gives reverse mode (ct_grad() on the tape), forward mode (the tape
 * over dual numbers) and second order (ct_grad() on a tape over dual numbers), exact to rounding.
 *
 * Common to all of them: inputs of integer or bool type are passed on as constants and have no
 * derivative. Inputs may themselves be duals: the derivative is then taken one level up, which is how
 * third and mixed orders are had, and no tangent is mistaken for another's. Results are new, dense tensors of the
 * inputs' scalar type, owned by the caller. On failure outputs are untouched; an error of the
 * function's tape is passed on with its message. Nothing is kept between calls. What a function makes of values by
 * other means than recording (ct_value(), these functions called inside it) is a constant to its derivative;
 * ct_grad() on its tape is not, nor a custom op. A function reads variables through its inputs alone: one of another tape
 * beside them is CT_EINVAL, on both tapes, and the message says which operand of which op it is.
 */
#ifndef CT_DERIVATIVES_H
#define CT_DERIVATIVES_H

#include "autodiff/ct_tape.h"

CT_BEGIN_DECLS

/**
 * The product of the Jacobian with a vector, in forward mode: sum_i J_i tangents[i], J_i = d f / d x_i.
 *
 * @param tangents  one per input, of its shape and type; a NULL one is zero. Those of integer inputs
 *                  must be NULL.
 * @param value     receives f(inputs); may be NULL
 * @param product   receives the product, of the shape of the value
 * Cost: about three times the function's.
 */
CT_API ct_status ct_jvp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                        const ct_tensor *const *tangents, ct_tensor **value, ct_tensor **product);

/**
 * The product of a vector with the Jacobian, in reverse mode: products[i] = cotangent^T J_i. For a
 * function with one item and without a cotangent this is its gradient.
 *
 * @param cotangent  of the shape and type of the value; NULL means ones
 * @param value      receives f(inputs); may be NULL
 * @param products   receives n tensors of the shapes of the inputs, NULL for integer inputs
 * Cost: a small multiple of the function's, whatever the number of items.
 */
CT_API ct_status ct_vjp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                        const ct_tensor *cotangent, ct_tensor **value, ct_tensor **products);

/**
 * The product of the Hessian of a function with one item and a vector, forward over reverse: exact, and never forming the
 * matrix (Pearlmutter, Fast exact multiplication by the Hessian, 1994). products[i] = sum_j H_ij vectors[j].
 *
 * @param vectors   one per input, of its shape and type; a NULL one is zero
 * @param gradient  receives n gradients, which cost nothing more; may be NULL
 * @param products  receives n tensors of the shapes of the inputs, NULL for integer inputs
 * CT_ESHAPE where the value has more items than one or none.
 */
CT_API ct_status ct_hvp(ct_function *fn, void *context, size_t n, const ct_tensor *const *inputs,
                        const ct_tensor *const *vectors, ct_tensor **gradient,
                        ct_tensor **products);

/** How a Jacobian is computed; the numbers agree to rounding. */
enum ct_mode {
    CT_MODE_AUTO, /**< by rows where the value has at most as many items as the input, else by columns */
    CT_MODE_REVERSE, /**< a row at a time: one backward pass per item of the value */
    CT_MODE_FORWARD /**< columns, up to eight at a time: one evaluation over duals with 8 tangents each */
};

/**
 * The Jacobian for one input: J[a..., b...] = d f[a...] / d x[b...], of the shape of the value followed
 * by that of the input. NULL on failure; CT_ESHAPE where the ranks together pass CT_MAX_RANK.
 *
 * @param which  the input to differentiate for
 */
CT_API ct_tensor *ct_jacobian(ct_function *fn, void *context, size_t n,
                              const ct_tensor *const *inputs, size_t which, enum ct_mode mode);

/**
 * A block of the Hessian of a function with one item: H[a..., b...] = d^2 f / d x_i[a...] d x_j[b...], of the
 * shape of input @p i followed by that of input @p j. Forward over reverse, up to eight columns at a time.
 */
CT_API ct_tensor *ct_hessian(ct_function *fn, void *context, size_t n,
                             const ct_tensor *const *inputs, size_t i, size_t j);

/**
 * The product of a vector with the generalised Gauss-Newton matrix of loss(model(inputs)):
 * products[i] = J_i^T H sum_j J_j vectors[j], J the Jacobian of the model and H the Hessian of the loss
 * at its value (Schraudolph, Fast curvature matrix-vector products, 2002). Positive semi-definite where the loss is
 * convex. For the negative log-likelihood of a natural parameter (cross entropy of logits) it is the
 * product with the Fisher matrix.
 *
 * @param loss  a function of one input, the model's value, with one item
 */
CT_API ct_status ct_gauss_newton_product(ct_function *model, void *model_context, ct_function *loss,
                                         void *loss_context, size_t n,
                                         const ct_tensor *const *inputs,
                                         const ct_tensor *const *vectors, ct_tensor **products);

/**
 * The product of a vector with the empirical Fisher matrix: products = (1 / m) sum_k g_k <g_k, vectors>,
 * g_k the gradient of the k-th of the m items of the function, one log-likelihood (or loss) per example.
 */
CT_API ct_status ct_fisher_product(ct_function *log_likelihoods, void *context, size_t n,
                                   const ct_tensor *const *inputs, const ct_tensor *const *vectors,
                                   ct_tensor **products);

CT_END_DECLS
#endif
