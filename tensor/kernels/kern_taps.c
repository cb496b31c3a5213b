/* Tiles of products at listed places: see kern_taps.h for what they are and kern_taps.inc for the loops. */

#include "tensor/kernels/kern_taps.h"

#include <stdint.h>

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"

// As many accumulators as registers allow beside a vector of b each.
#if CT_ISA_LEVEL == 2
enum { TAP_ROWS = 8 };
#define TAP_EACH_ROW(XX, v) XX(1, v) XX(2, v) XX(3, v) XX(4, v) XX(5, v) XX(6, v) XX(7, v) XX(8, v)
#else
enum { TAP_ROWS = 4 };
#define TAP_EACH_ROW(XX, v) XX(1, v) XX(2, v) XX(3, v) XX(4, v)
#endif
#define TAP_EACH(XX) TAP_EACH_ROW(XX, 1) TAP_EACH_ROW(XX, 2) TAP_EACH_ROW(XX, 3)

#define TAP_INLINE static inline __attribute__((always_inline))

// Sanitizers put so many checks into unrolled loops that clang compiles them for minutes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define TAP_SANITIZED 1
#endif
#endif

#ifdef TAP_SANITIZED
#define TAP_UNROLL
#elif defined(__clang__)
#define TAP_UNROLL _Pragma("unroll")
#else
#define TAP_UNROLL _Pragma("GCC unroll 8")
#endif

#define ITEM     float
#define VEC      f32v
#define LANES    F32V_LANES
#define VF(name) f32v_##name
#define FN(name) CT_CAT(f32_, name)
#include "kern_taps.inc"
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
#include "kern_taps.inc"
