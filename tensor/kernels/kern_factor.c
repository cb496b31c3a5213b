/* Steps of factorisations and of substitution. */

#include "tensor/kernels/kern_factor.h"

#include <string.h>

#include "tensor/kernels/vec.h"
#include "tensor/kernels/vec_lanes.h"

static void swap_bytes(char *a, char *b, size_t n) {
    char room[512];
    for (size_t here; n > 0; n -= here, a += here, b += here) {
        here = n < sizeof room ? n : sizeof room;
        memcpy(room, a, here);
        memcpy(a, b, here);
        memcpy(b, room, here);
    }
}

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
