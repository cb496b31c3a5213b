// The fused steps, written in the vector vocabulary of the elementwise kernels. They are bound by
// memory or by the divider, so one width is enough: no choice among instruction sets at run time.

#include "optim/optim_impl.h"

#if defined(__AVX2__) && defined(__FMA__)
#define CT_ISA_LEVEL 1
#else
#define CT_ISA_LEVEL 0
#endif
#include "tensor/kernels/vec.h"

#include <float.h>

#define T      float
#define V      f32v
#define LANES  F32V_LANES
#define NORMAL FLT_MIN
#define VF(x)  CT_CAT(f32v_, x)
#define TF(x)  CT_CAT(x, _f32)
#include "optim/step_kernels.inc"
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
#include "optim/step_kernels.inc"
