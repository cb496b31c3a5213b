/* The node tests of ONNX, read from CT_CASES/onnx: one op, its attributes, inputs and outputs. */
#ifndef ONNX_CASE_H
#define ONNX_CASE_H

#include <jansson.h>

#include "tensor/ct_tensor.h"

enum { ONNX_MOST = 12 /* inputs or outputs of a node */ };

struct onnx_case {
    const char *name, *op;
    const json_t *attrs;
    int inputs, outputs;
    ct_tensor *in[ONNX_MOST];     /* NULL where the node leaves an input out */
    ct_tensor *wanted[ONNX_MOST]; /* in the order of the node's outputs */
};

/* How reading a case ended. */
enum onnx_read { ONNX_READ, ONNX_TYPE_OUT /* a scalar type that we do not have */ };

/* Takes a line of a file apart; `json` must outlive the case. */
enum onnx_read onnx_case_read(struct onnx_case *c, const json_t *json);
void onnx_case_free(struct onnx_case *c);

/* Attributes, with what they are where they are absent. */
int64_t onnx_int(const struct onnx_case *c, const char *key, int64_t otherwise);
double onnx_real(const struct onnx_case *c, const char *key, double otherwise);
const char *onnx_text(const struct onnx_case *c, const char *key, const char *otherwise);
/* A list of integers from an attribute or, where that is absent, from an input of i64; the number
   of them, or -1 where there is neither. */
int onnx_list(const struct onnx_case *c, const char *key, int input, int64_t *list);

/* Calls `each` with every case of every file, in the order of names. False where there is no such
   folder. */
bool onnx_each(void (*each)(void *context, const json_t *json), void *context);

#endif
