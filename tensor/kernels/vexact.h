#ifndef CT_VEXACT_H
#define CT_VEXACT_H

/*
 * Remainders: f32v_fmod(x, z), f32v_mod(x, z), f32v_floor_div(x, z) and so on, in vexact_core.inc.
 */

#include "vec.h"

#define VV         f32v
#define VM         f32m
#define VT         float
#define VLANES     F32V_LANES
#define VF(name)   CT_CAT(f32v_, name)
#define VX_FMOD    __builtin_fmodf
#define VX_LONGEST 0x1p22f
#define VX_INF     __builtin_inff()
#include "vexact_core.inc"
#undef VV
#undef VM
#undef VT
#undef VLANES
#undef VF
#undef VX_FMOD
#undef VX_LONGEST
#undef VX_INF

#define VV         f64v
#define VM         f64m
#define VT         double
#define VLANES     F64V_LANES
#define VF(name)   CT_CAT(f64v_, name)
#define VX_FMOD    __builtin_fmod
#define VX_LONGEST 0x1p51
#define VX_INF     __builtin_inf()
#include "vexact_core.inc"
#undef VV
#undef VM
#undef VT
#undef VLANES
#undef VF
#undef VX_FMOD
#undef VX_LONGEST
#undef VX_INF

#endif
