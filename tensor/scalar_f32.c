#include "tensor/ct_scalar.h"

#include "tensor/kernels/kern_table.h"
#include "tensor/scalar_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rounding to a float is meant; becoming infinite is not.
static bool fits_float(double value) {
    return isinf(value) || !isinf((float)value);
}

#define REAL    float
#define SLOT(x) f32_##x
#define KERNELS f32
#define PARSE   strtof
#define DIGITS  FLT_DIG
#define FITS(v) fits_float(v)
#include "tensor/scalar_real.inc"

const ct_scalar ct_scalar_f32 = {.name = "f32", REAL_SLOTS};
