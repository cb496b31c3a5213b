#ifndef CT_VSLEEF_H
#define CT_VSLEEF_H

/*
 * The vector functions that come from SLEEF: its deterministic FMA family (finz), which makes the
 * same bits at width 1 (purecfma), for AVX2 and for AVX-512. Names as in vec.h: f32v_sin(x) and so
 * on. Where the release in Debian (3.5.1) leaves its range, vsleef_core.inc repairs it, identically
 * on each lane.
 */

#include "vmath_f32.h"
#include "vmath_f64.h"

#include <sleef.h>

// SLEEF's name of a function: its name, item type with lanes, ulp bound and instruction set.
#if CT_ISA_LEVEL == 0
#define CT_SLEEF_F32(name, bound) Sleef_finz_##name##f1_##bound##purecfma
#define CT_SLEEF_F64(name, bound) Sleef_finz_##name##d1_##bound##purecfma
#elif CT_ISA_LEVEL == 1
#define CT_SLEEF_F32(name, bound) Sleef_finz_##name##f8_##bound##avx2
#define CT_SLEEF_F64(name, bound) Sleef_finz_##name##d4_##bound##avx2
#else
#define CT_SLEEF_F32(name, bound) Sleef_finz_##name##f16_##bound##avx512f
#define CT_SLEEF_F64(name, bound) Sleef_finz_##name##d8_##bound##avx512f
#endif

#define VV              f32v
#define VI              f32i
#define VM              f32m
#define VF(name)        CT_CAT(f32v_, name)
#define VS(name, bound) CT_SLEEF_F32(name, bound)
#define VS_TINY         0x1p-14f
#define VS_FAR          0x1p60f
#include "vsleef_core.inc"
#undef VV
#undef VI
#undef VM
#undef VF
#undef VS
#undef VS_TINY
#undef VS_FAR

#define VV              f64v
#define VI              f64i
#define VM              f64m
#define VF(name)        CT_CAT(f64v_, name)
#define VS(name, bound) CT_SLEEF_F64(name, bound)
#define VS_TINY         0x1p-28
#define VS_FAR          0x1p500
#include "vsleef_core.inc"
#undef VV
#undef VI
#undef VM
#undef VF
#undef VS
#undef VS_TINY
#undef VS_FAR

#endif
