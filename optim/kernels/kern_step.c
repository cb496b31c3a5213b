// The fused steps, written in the vector vocabulary of the elementwise kernels and compiled once per
// instruction set.

#include "optim/optim_impl.h"

#include "tensor/kernels/vec.h"

#include <float.h>

enum { STEP_FETCHED = 2048 }; // bytes ahead in each array: measured

#define T       float
#define V       f32v
#define M       f32m
#define LANES   F32V_LANES
#define NORMAL  FLT_MIN
#define LEAST_A 0x1p-100f
#define MOST_A  0x1p60f
#define LEAST_D 0x1p-60f
#define MOST_D  0x1p20f
#define VF(x)   CT_CAT(f32v_, x)
#define TF(x)   CT_CAT(x, _f32)
#include "optim/kernels/kern_step.inc"
#include "optim/kernels/kern_adam.inc"
#undef T
#undef V
#undef M
#undef LANES
#undef NORMAL
#undef LEAST_A
#undef MOST_A
#undef LEAST_D
#undef MOST_D
#undef VF
#undef TF

#define T       double
#define V       f64v
#define M       f64m
#define LANES   F64V_LANES
#define NORMAL  DBL_MIN
#define LEAST_A 0x1p-900
#define MOST_A  0x1p400
#define LEAST_D 0x1p-400
#define MOST_D  0x1p100
#define VF(x)   CT_CAT(f64v_, x)
#define TF(x)   CT_CAT(x, _f64)
#include "optim/kernels/kern_step.inc"
#include "optim/kernels/kern_adam.inc"

#if CT_ISA_LEVEL == 0
const struct ct__step_set ct__steps_scalar =
#elif CT_ISA_LEVEL == 1
const struct ct__step_set ct__steps_avx2 =
#else
const struct ct__step_set ct__steps_avx512 =
#endif
    {.f32 = {sgd_f32, adam_step_f32}, .f64 = {sgd_f64, adam_step_f64}};
