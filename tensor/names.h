/* What the files about axis names share beside tensor_impl.h. */
#ifndef CT_NAMES_INTERNAL_H
#define CT_NAMES_INTERNAL_H

#include "tensor/ct_names.h"
#include "tensor/tensor_impl.h"

#include <stdio.h>

/* Whether a text can be the name of an axis, with an error that names the axis; `who` may be NULL. */
ct_status ct__check_name(const char *who, int axis, const char *name);
/* No name twice, NULL aside; `who` may be NULL. */
ct_status ct__check_distinct(const char *who, int n, const char *const name[]);

/* "[batch, -]" */
enum { CT__NAMES_TEXT_BYTES = CT_MAX_RANK * (CT_MAX_NAME + 2) + 3 };
void ct__format_names(char text[CT__NAMES_TEXT_BYTES], const ct_tensor *t);

#endif
