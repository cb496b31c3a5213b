/* The parts of suite_ops, and what they share. Every test is a loop over the rows of the op
   table. */
#ifndef CT_OPS_PARTS_H
#define CT_OPS_PARTS_H

#include <check.h>

#include "op_oracle.h"

enum { MOST_ARGUMENTS = 3 };

#define EACH_ROW(tc, test) tcase_add_loop_test(tc, test, 0, CT_OP_COUNT)

void add_values(TCase *tc);      /* ops_values.c: oracles, layouts, extents */
void add_derivatives(TCase *tc); /* ops_derivatives.c: duals, second order, the gradient check */
void add_structured(TCase *tc);  /* ops_structured.c: the records' samples */

/* f32 and f64. */
extern const ct_scalar *const real_scalars[2];

bool is_elementwise(enum ct_op op);

/* Arguments of an elementwise row, from its domains; the masks are bool. */
void draw_inputs(enum ct_op op, const ct_scalar *scalar, int rank, const int64_t *shape,
                 ct_tensor *in[MOST_ARGUMENTS]);
void free_all(int n, ct_tensor *in[]);

/* The public function of an elementwise row, which must not fail. */
ct_tensor *apply_row(enum ct_op op, ct_tensor *const in[]);

#endif
