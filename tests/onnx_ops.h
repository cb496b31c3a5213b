/* How each op of ONNX is said in functions of the tensor layer. */
#ifndef ONNX_OPS_H
#define ONNX_OPS_H

#include "onnx_case.h"

/* Puts the outputs in order; NULL for one that the function gave up on, with its error. */
typedef void onnx_run(const struct onnx_case *c, ct_tensor *out[]);

struct onnx_op {
    const char *name;
    onnx_run *run;
    double tolerance; /* |ours - theirs| <= tolerance (1 + |theirs|); 0: bit for bit */
};

/* The ops that we have; NULL where there is none of that name. */
const struct onnx_op *onnx_op_of(const char *name);

/* Of these, the ops of networks (onnx_network.c), and why a case of them that draws cannot run. */
const struct onnx_op *onnx_network_op(const char *name);
const char *onnx_draws(const struct onnx_case *c);

/* Why we lack an op or cannot run a case of it, or NULL. */
const char *onnx_why_out(const struct onnx_case *c);

#endif
