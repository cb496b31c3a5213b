#include "tensor/ct_scalar.h"

#include "tensor/kernels/kern_table.h"
#include "tensor/scalar_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REAL    double
#define SLOT(x) f64_##x
#define KERNELS f64
#define PARSE   strtod
#define DIGITS  DBL_DIG
#define FITS(v) ((void)(v), true)
#include "tensor/scalar_real.inc"

const ct_scalar ct_scalar_f64 = {.name = "f64", REAL_SLOTS};
