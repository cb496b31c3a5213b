/* Products with matrices made of Jacobians: Gauss-Newton and the empirical Fisher matrix. */

#include "autodiff/derivatives_impl.h"

#include "tensor/fail.h"
#include "tensor/ct_ops.h"

/* An error of a function called on the way, under the name of the one that was asked for. */
static ct_status pass_on(const char *who) {
    return ct__fail(ct_error()->code, who, "%s", ct_error()->message);
}

ct_status ct_gauss_newton_product(ct_function *model, void *model_context, ct_function *loss,
                                  void *loss_context, size_t n, const ct_tensor *const *inputs,
                                  const ct_tensor *const *vectors, ct_tensor **products) {
    ct_tensor *value = NULL, *moved = NULL, *curved = NULL;
    ct_status status = ct_jvp(model, model_context, n, inputs, vectors, &value, &moved);
    if (status == CT_OK)
        status = ct_hvp(loss, loss_context, 1, (const ct_tensor *[]){value},
                        (const ct_tensor *[]){moved}, NULL, &curved);
    if (status == CT_OK)
        status = ct_vjp(model, model_context, n, inputs, curved, NULL, products);
    ct_free(value);
    ct_free(moved);
    ct_free(curved);
    return status == CT_OK ? CT_OK : pass_on(__func__);
}

ct_status ct_fisher_product(ct_function *log_likelihoods, void *context, size_t n,
                            const ct_tensor *const *inputs, const ct_tensor *const *vectors,
                            ct_tensor **products) {
    ct_tensor *along = NULL, *share = NULL, *weights = NULL;
    ct_status status = ct_jvp(log_likelihoods, context, n, inputs, vectors, NULL, &along);
    if (status == CT_OK) {
        share = ct_full(ct_dtype(along), 0, NULL,
                        1.0 / (double)(ct_count(along) ? ct_count(along) : 1));
        weights = ct_mul(along, share);
        status = weights ? CT_OK : ct_error()->code;
    }
    if (status == CT_OK)
        status = ct_vjp(log_likelihoods, context, n, inputs, weights, NULL, products);
    ct_free(along);
    ct_free(share);
    ct_free(weights);
    return status == CT_OK ? CT_OK : pass_on(__func__);
}
