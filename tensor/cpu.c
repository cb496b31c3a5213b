// Compiled for the baseline CPU and without link-time optimisation: it runs before we know what the CPU can do.

#include "tensor/isa.h"

#include <fenv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ct_platform.h"
#include "tensor/fail.h"

#if defined(__x86_64__) || defined(__i386__)
#define ON_X86 1
#include <xmmintrin.h>
#else
#define ON_X86 0
#endif

static const char *const isa_names[] = {
    [CT__ISA_SCALAR] = "scalar",
    [CT__ISA_AVX2] = "avx2",
    [CT__ISA_AVX512] = "avx512",
};

enum { ISA_COUNT = sizeof isa_names / sizeof *isa_names };

// ---- what the CPU and the system support

static bool has_avx2(void) {
#if ON_X86
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

static bool has_avx512(void) {
#if ON_X86
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static enum ct__isa best_isa(void) {
    return has_avx512() ? CT__ISA_AVX512 : has_avx2() ? CT__ISA_AVX2 : CT__ISA_SCALAR;
}

// ---- CT_ISA

/// The value of CT_ISA; NULL when it is absent or empty.
static const char *wanted_name(void) {
    const char *name = getenv("CT_ISA");
    return name && *name ? name : NULL;
}

/// The number of a name, or -1.
static int isa_of_name(const char *name) {
    for (int i = 0; i < ISA_COUNT; i++)
        if (strcmp(name, isa_names[i]) == 0)
            return i;
    return -1;
}

static int choose_isa(void) {
    const char *name = wanted_name();
    int wanted = name ? isa_of_name(name) : -1;
    int best = (int)best_isa();
    return wanted >= 0 && wanted <= best ? wanted : best;
}

enum ct__isa ct__isa_current(void) {
    static atomic_int frozen = -1;
    int isa = atomic_load_explicit(&frozen, memory_order_relaxed);
    if (isa < 0) {
        int chosen = choose_isa();
        if (atomic_compare_exchange_strong(&frozen, &isa, chosen)) // else isa is another thread's
            isa = chosen;
    }
    return (enum ct__isa)isa;
}

const char *ct_isa_name(void) {
    return isa_names[ct__isa_current()];
}

ct_status ct_isa_check(void) {
    const char *name = wanted_name();
    int wanted = name ? isa_of_name(name) : CT__ISA_SCALAR;
    if (wanted < 0)
        return ct__fail(CT_EINVAL, __func__, "CT_ISA is '%.40s'; it can be scalar, avx2 or avx512",
                        name);
    if (ON_X86 && !has_avx2())
        return ct__fail(CT_EUNSUPPORTED, __func__,
                        "this CPU lacks AVX2 or FMA; an x86-64-v3 CPU is needed");
    if (wanted > (int)best_isa())
        return ct__fail(CT_EINVAL, __func__, "CT_ISA is '%s' and this CPU supports only %s", name,
                        isa_names[best_isa()]);
    return CT_OK;
}

// ---- the floating-point environment

/// Whether subnormal results are flushed to zero.
static bool flushes_results(void) {
#if ON_X86
    return (_mm_getcsr() & 0x8000u) != 0;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (fpcr >> 24 & 1) != 0;
#else
    return false;
#endif
}

/// Whether subnormal operands are read as zero.
static bool flushes_operands(void) {
#if ON_X86
    return (_mm_getcsr() & 0x0040u) != 0;
#else
    return false; // aarch64 has one switch for both
#endif
}

/// Both of them: the x87 unit's, which fegetround() reads, and the vector unit's.
static bool rounds_to_nearest(void) {
#if ON_X86
    if (_mm_getcsr() & 0x6000u)
        return false;
#endif
    return fegetround() == FE_TONEAREST;
}

ct_status ct_fenv_check(void) {
    if (!rounds_to_nearest())
        return ct__fail(CT_EINVAL, __func__,
                        "this thread does not round to nearest; results would change");
    if (flushes_results())
        return ct__fail(
            CT_EINVAL, __func__,
            "this thread flushes subnormal results to zero (FTZ); results would change");
    if (flushes_operands())
        return ct__fail(CT_EINVAL, __func__,
                        "this thread reads subnormal numbers as zero (DAZ); results would change");
    return CT_OK;
}
