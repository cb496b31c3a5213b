// The fused steps, written in the vector vocabulary of the elementwise kernels and compiled once per
// instruction set.

#include "optim/optim_impl.h"

#include "tensor/kernels/vec.h"

#include <float.h>

#define T      float
#define V      f32v
#define LANES  F32V_LANES
#define NORMAL FLT_MIN
#define VF(x)  CT_CAT(f32v_, x)
#define TF(x)  CT_CAT(x, _f32)
#include "optim/kernels/kern_step.inc"
#undef T
#undef V
#undef LANES
#undef NORMAL
#undef VF
#undef TF

#define T      double
#define V      f64v
#define LANES  F64V_LANES
#define NORMAL DBL_MIN
#define VF(x)  CT_CAT(f64v_, x)
#define TF(x)  CT_CAT(x, _f64)
#include "optim/kernels/kern_step.inc"

#if CT_ISA_LEVEL == 0
const struct ct__step_set ct__steps_scalar =
#elif CT_ISA_LEVEL == 1
const struct ct__step_set ct__steps_avx2 =
#else
const struct ct__step_set ct__steps_avx512 =
#endif
    {.f32 = {sgd_f32, adam_f32}, .f64 = {sgd_f64, adam_f64}};
