#include "tensor/kernels/kern_table.h"

#include "tensor/isa.h"
#include "tensor/kernels/kern_fold.h"
#include "tensor/kernels/kern_map.h"
#include "tensor/kernels/kern_matmul.h"
#include "tensor/kernels/kern_rows.h"
#include "tensor/kernels/kern_taps.h"

#include <stdatomic.h>

#define REAL(type, isa)                                                                            \
    {                                                                                              \
        ct__##type##_loops_##isa, ct__##type##_plane_##isa,                                        \
            {ct__##type##_sum_##isa,  ct__##type##_max_##isa,    ct__##type##_min_##isa,           \
             ct__##type##_prod_##isa, ct__##type##_argmax_##isa, ct__##type##_argmin_##isa},       \
            ct__##type##_squares_##isa, ct__##type##_sizes_##isa, ct__##type##_spread_##isa,       \
            ct__##type##_dot_##isa, ct__##type##_matmul_##isa, ct__##type##_matmul_then_##isa,     \
            ct__##type##_rows_##isa, &ct__##type##_factor_##isa, &ct__##type##_taps_##isa          \
    }

static const struct ct__kernels tables[] = {
    [CT__ISA_SCALAR] = {REAL(f32, scalar), REAL(f64, scalar)},
    [CT__ISA_AVX2] = {REAL(f32, avx2), REAL(f64, avx2)},
    [CT__ISA_AVX512] = {REAL(f32, avx512), REAL(f64, avx512)},
};

const struct ct__kernels *ct__kernels(void) {
    static const struct ct__kernels *_Atomic known; // every call of an op asks
    const struct ct__kernels *table = atomic_load_explicit(&known, memory_order_relaxed);
    if (!table) {
        table = &tables[ct__isa_current()]; // whoever comes first: it never changes
        atomic_store_explicit(&known, table, memory_order_relaxed);
    }
    return table;
}

const struct ct__real_kernels *ct__kernels_of(const ct_scalar *scalar) {
    return scalar == CT_F32 ? &ct__kernels()->f32 : scalar == CT_F64 ? &ct__kernels()->f64 : NULL;
}
