/**
 * @file
 * @brief Which instruction set the kernels use (internal).
 */
#ifndef CT_ISA_H
#define CT_ISA_H

/** In increasing order; each includes those before it. All of them may use fused multiply-adds. */
enum ct__isa { CT__ISA_SCALAR, CT__ISA_AVX2, CT__ISA_AVX512 };

/**
 * @brief The instruction set in use: what CT_ISA names, else the best that the CPU and the system support.
 *
 * A value of CT_ISA that cannot be used counts as absent; ct_isa_check() says so. #CT__ISA_AVX2 needs AVX2, FMA, BMI and
 * BMI2; #CT__ISA_AVX512 needs F, BW, CD, DQ and VL besides. Frozen at first use.
 *
 * @par Thread safety  Any thread.
 * @par Cost           One atomic load after the first call.
 */
enum ct__isa ct__isa_current(void);

#endif
