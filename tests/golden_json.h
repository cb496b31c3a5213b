/* Tensors out of the JSON of CT_CASES/golden, for the suites that compare with PyTorch's answers.
   */
#ifndef CT_GOLDEN_JSON_H
#define CT_GOLDEN_JSON_H

#include <jansson.h>

#include "autodiff/ct_tape.h"

/* The folder of the outside cases: CT_CASES, or ../shared/cases. */
const char *golden_cases(void);

/* A number, or "nan", "inf", "-inf", "-0.0". */
double golden_number(const json_t *value);

/* A tensor of {"dtype" (f64 where absent), "shape", "data" or "v"}. */
ct_tensor *golden_tensor(const json_t *object);

/* Test fails unless t has the shape and, within the tolerance of expect_items(), the values. Does
   not free t. */
void golden_expect(const char *what, const ct_tensor *t, const json_t *object, double tolerance);

/* A parameter of a case, as an int or a bool. */
int golden_int(const json_t *params, const char *key);

#endif
