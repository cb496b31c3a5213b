#ifndef CT_VEC_H
#define CT_VEC_H

/*
 * The vector vocabulary: the only place where kernels meet an instruction set.
 *
 * A kernel source is compiled once per CT_ISA_LEVEL (0 width 1, 1 AVX2 + FMA, 2 AVX-512 F/DQ/BW/VL)
 * and spells its arithmetic with the names below. Every arithmetic name is one correctly rounded
 * IEEE operation on each lane, so that a kernel makes the same bits at every level, as long as no
 * lane looks at another one. Compile with -ffp-contract=off: a fused step exists where it is
 * written (fma, fms, fnma) and nowhere else.
 *
 * For each item type T in {f32, f64} there are Tv (items), Ti (signed integers of the same width),
 * Tm (a mask) and TV_LANES. The names, shown for T = f32 as NAME in f32v_NAME:
 *
 *   memory       load(p) store(p, v), unaligned; load_n(p, n, fill) store_n(p, v, n): the first
 *                n <= lanes items, no byte beyond them is touched; gather(base, i) = base[i]
 *   constants    set1(x) zero() iset1(k) mset1(bool)
 *   arithmetic   add sub mul div sqrt neg abs; fma(a, b, c) = a*b + c, fms(a, b, c) = a*b - c,
 *                fnma(a, b, c) = c - a*b, each rounded once; rint (ties to even) floor ceil trunc
 *   order        min_ieee max_ieee: IEEE 754-2019 minimum and maximum (a NaN wins, -0 < +0);
 *                lesser(a, b) = a < b ? a : b, greater(a, b) = a > b ? a : b: one instruction, the
 *                second operand wins a tie and whenever an operand is NaN
 *   bits         and or xor; andnot(a, b) = ~a & b; copysign(magnitude, sign)
 *   masks        lt le gt ge eq ne (NaN: all false but ne) isnan; mand mor mxor mnot
 *                mandnot(a, b) = !a && b; any all; select(m, a, b) = m ? a : b
 *   mask bytes   mask_load_bytes(p) (nonzero is true) mask_store_bytes(p, m) (0 or 1), and _n
 *                versions with a count as in load_n; absent lanes are false
 *   integers     iload istore iadd isub iand ior ixor ishl(v, n) ishr(v, n) (arithmetic)
 *                ishr_logical(v, n) icmpeq icmpgt iselect (wrap-around; n is a constant < width)
 *   conversion   as_int as_float: bit casts; cvt_int: to the nearest integer, ties to even, for
 *                |v| <= 2^22 (f32) or 2^51 (f64), elsewhere some integer, the same at each level;
 *                cvt_float: exact for |i| < 2^24 (f32) or 2^31 (f64)
 *   tables       lookup16(table, i): table[i mod 16], table aligned to 64 bytes
 *   scaling      scale2(v, n) = v * 2^n rounded once, for 1/4 <= |v| <= 4 and integral |n| up to
 *                250 (f32) or 2000 (f64); v = NaN gives NaN whatever n is
 *
 * AVX-512 alone has inverse14(v), 1 / v within 2^-14, whose bits differ between processors: for steps
 * that end in a correctly rounded quotient.
 *
 * NaN results carry no promised sign or payload.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef CT_ISA_LEVEL
#error "CT_ISA_LEVEL: 0 width 1, 1 AVX2 + FMA, 2 AVX-512"
#endif

#ifndef CT_CAT
#define CT_CAT_(a, b) a##b
#define CT_CAT(a, b)  CT_CAT_(a, b)
#endif

#define CT_VEC_INLINE static inline __attribute__((always_inline))

#if CT_ISA_LEVEL == 0
#include "vec_scalar.h"
#elif CT_ISA_LEVEL == 1
#include "vec_avx2.h"
#elif CT_ISA_LEVEL == 2
#include "vec_avx512.h"
#else
#error "CT_ISA_LEVEL: 0 width 1, 1 AVX2 + FMA, 2 AVX-512"
#endif

#endif
