/* The step of factorisations and of substitution: a product of a column and a row, subtracted. */

#include "tensor/kernels/kern_factor.h"

#include <string.h>

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"

#define ITEM     float
#define VEC      f32v
#define LANES    F32V_LANES
#define VF(name) f32v_##name
#define FN(name) CT_CAT(f32_, name)
#include "kern_factor.inc"
#undef ITEM
#undef VEC
#undef LANES
#undef VF
#undef FN

#define ITEM     double
#define VEC      f64v
#define LANES    F64V_LANES
#define VF(name) f64v_##name
#define FN(name) CT_CAT(f64_, name)
#include "kern_factor.inc"
