/**
 * @file
 * @brief All of Cotangent: strided tensors, tapes, gradients, small networks, optimisers, files.
 *
 * Each header can also be included alone.
 */
#ifndef COTANGENT_H
#define COTANGENT_H

#define CT_VERSION "0.1.0"

#include "tensor/ct_alloc.h"
#include "tensor/ct_api.h"
#include "tensor/ct_convert.h"
#include "tensor/ct_dense.h"
#include "tensor/ct_dlpack.h"
#include "tensor/ct_error.h"
#include "tensor/ct_factor.h"
#include "tensor/ct_index.h"
#include "tensor/ct_format.h"
#include "tensor/ct_iterate.h"
#include "tensor/ct_names.h"
#include "tensor/ct_make.h"
#include "tensor/ct_linalg.h"
#include "tensor/ct_op.h"
#include "tensor/ct_ops.h"
#include "tensor/ct_platform.h"
#include "tensor/ct_random.h"
#include "tensor/ct_reduce.h"
#include "tensor/ct_scalar.h"
#include "tensor/ct_tensor.h"
#include "tensor/ct_write.h"

#include "fixed/ct_fixed.h"

#include "dual/ct_dual.h"

#include "autodiff/ct_anomaly.h"
#include "autodiff/ct_check.h"
#include "autodiff/ct_custom.h"
#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_dot.h"
#include "autodiff/ct_network.h"
#include "autodiff/ct_sparse.h"
#include "autodiff/ct_tape.h"
#include "autodiff/ct_var_factor.h"
#include "autodiff/ct_var_ops.h"

#include "nn/ct_nn.h"
#include "optim/ct_optim.h"

#include "io/ct_digest.h"
#include "io/ct_safetensors.h"

#endif
