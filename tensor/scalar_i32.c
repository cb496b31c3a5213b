#include "tensor/alloc.h"
#include "tensor/blocks.h"
#include "tensor/parallel.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define INT     int32_t
#define UINT    uint32_t
#define SLOT(x) i32_##x
#define LOWEST  INT32_MIN
#define FORMAT  PRId32
#include "tensor/scalar_int.inc"

const ct_scalar ct_scalar_i32 = {.name = "i32", INT_SLOTS};
