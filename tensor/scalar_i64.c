#include "tensor/alloc.h"
#include "tensor/blocks.h"
#include "tensor/parallel.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define INT     int64_t
#define UINT    uint64_t
#define SLOT(x) i64_##x
#define LOWEST  INT64_MIN
#define FORMAT  PRId64
#include "tensor/scalar_int.inc"

const ct_scalar ct_scalar_i64 = {.name = "i64", INT_SLOTS};
