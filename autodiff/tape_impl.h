/* The inside of a tape, shared by the files of autodiff/ alone. */
#ifndef CT_TAPE_IMPL_H
#define CT_TAPE_IMPL_H

#include "autodiff/ct_tape.h"
#include "tensor/conv.h"
#include "tensor/factor.h"

/* Of an op of the table; a custom op may have more. */
enum { CT__MAX_INPUTS = 4 };
#define CT__NO_NODE UINT32_MAX

/* The op of a node that a record of the user's describes: it stands in no table. CT_OP_COUNT itself is
   taken: the checker calls a whole function so. */
#define CT__OP_CUSTOM ((enum ct_op)(CT_OP_COUNT + 1))
struct ct__custom; /* custom_impl.h */

/* What a node is besides its op. */
enum ct__node_kind { CT__NODE_OP, CT__NODE_LEAF, CT__NODE_CONSTANT };

/* Parameters of a structured op. Which fields count is the op's own business. Kept small: a node
   holds only the offset of the one it needs. */
struct ct__attr {
    int rank; /* of shape or axes */
    int axis;
    bool keepdims;
    enum ct_reduction reduction;
    enum ct_activation activation;
    union {
        struct {
            int64_t shape[CT_MAX_RANK]; /* a target shape, or a permutation */
            int64_t start, step, count; /* of a slice or its transpose */
        };
        struct ct__windows windows; /* of a convolution */
    };
    union {
        double eps;                /* what keeps a root or a quotient away from 0 */
        struct ct__custom *custom; /* of CT__OP_CUSTOM: what the node is, which it owns */
    };
};

struct ct__node {
    ct_tensor *value; /* NULL once released */
    uint16_t op;      /* enum ct_op, when kind is CT__NODE_OP */
    uint8_t kind;     /* enum ct__node_kind */
    uint8_t inputs;
    bool backward; /* recorded by ct_grad */
    bool released;
    bool seed; /* a cotangent with which a backward pass began */
    uint32_t generation;
    uint32_t in[CT__MAX_INPUTS]; /* of at most so many inputs: see ct__inputs() */
    uint32_t attr;               /* index into the tape's attributes, or CT__NO_NODE */
    uint32_t name;               /* offset into the tape's text, or CT__NO_NODE */
    uint32_t scope;              /* index into the tape's scopes, or CT__NO_NODE */
    uint32_t primal;             /* the forward node whose pull recorded this one, or CT__NO_NODE */
};

struct ct__scope {
    uint32_t generation;
    uint32_t name;   /* offset into text */
    uint32_t parent; /* or CT__NO_NODE */
};

struct ct_tape {
    struct ct__node *nodes;
    size_t length, capacity;
    struct ct__attr *attrs;
    size_t attr_length, attr_capacity;
    char *text; /* names, each ended by a zero byte */
    size_t text_length, text_capacity;
    struct ct__scope *scopes;
    size_t scope_length, scope_capacity;
    uint32_t scope;      /* the open one */
    uint32_t generation; /* of what is recorded now; grows with each rewind */
    size_t released;     /* number of released nodes: while > 0 nothing may be recorded */
    bool recording_backward;
    int sweeps;      /* of ct_grad that are under way: a rule may call it */
    int running;     /* custom ops whose value is being computed */
    bool ieee;       /* derivative rules multiply without absorbing zeros */
    uint32_t primal; /* while ct_grad records: the node whose pull runs */
    uint32_t *sweep; /* scratch of ct_grad: cotangent node per node, kept for the next call */
    uint8_t *wanted; /* scratch of ct_grad: does the node lead to an x */
    size_t sweep_capacity;
    struct ct__factors *factors; /* of matrices among the nodes, or NULL (factors.c) */
    size_t graded;     /* so many nodes have their gradient in `sweep`, until the tape is rewound */
    size_t graded_end; /* to before this length */
    ct_status status;
    char message[512];
};

/* What a pull rule sees. */
struct ct__pull {
    ct_tape *tape;
    const struct ct__attr *attr;
    ct_var x[CT__MAX_INPUTS]; /* the arguments */
    ct_var y;                 /* the result */
    ct_var g;                 /* the cotangent of the result, of its shape */
    ct_var *kept;             /* what the rules of all arguments share: null at first */
};

/* One sample of a structured op, for the checks that walk the table. */
struct ct__sample {
    int inputs;
    int rank[CT__MAX_INPUTS];
    int64_t shape[CT__MAX_INPUTS][4];
    int64_t labels; /* if > 0, the last input is i64 with values in [0, labels) */
    struct ct__attr attr;
};

/* A call that must fail, with the code and a part of the text it must give. */
struct ct__error_sample {
    struct ct__sample sample;
    ct_status code;
    const char *text;
};

/* A structured op: one per LINEAR, BILINEAR and GENERAL row, `ct__op_<id>` in op_<id>.c. */
struct ct__op_record {
    const char *verb; /* the public function that records it, for errors and docs */
    int inputs;
    /* The value. Any scalar type: duals run the same lines. NULL with ct_error() on failure. */
    ct_tensor *(*run)(const ct_tensor *const in[], const struct ct__attr *attr);
    /* Or NULL: the same bits from the LU factorisation of the first operand, which the tape makes once
       for all nodes that ask for it. */
    ct_tensor *(*run_factored)(const struct ct__lu *lu, const ct_tensor *const in[],
                               const struct ct__attr *attr);
    /* The cotangent of argument i, recorded as ops; ct__flat() when it is declared zero. */
    ct_var (*pull)(const struct ct__pull *p, int argument);
    const char *pull_text[CT__MAX_INPUTS]; /* the same in words, for docs and tooltips */
    /* Or NULL: makes of what was drawn for an argument of a sample a new tensor in the op's domain. */
    ct_tensor *(*prepare)(int argument, const ct_tensor *drawn);
    const struct ct__sample *samples;
    int sample_count;
    const struct ct__error_sample *errors;
    int error_count;
};

/* NULL for elementwise ops; the custom op has one. */
const struct ct__op_record *ct__op_record(enum ct_op op);
/* An argument of a sample from what was drawn for it, which it takes; NULL passes through. */
ct_tensor *ct__prepared(enum ct_op op, int argument, ct_tensor *drawn);

/* Terms of one pull: five letters and one per word. tests/suite_grad.c counts the words of every
   row. */
enum { CT__TERMS = 64 };

/* Pull of an elementwise op (tape_pulls.c, made from the table). */
ct_var ct__elementwise_pull(enum ct_op op, const struct ct__pull *p, int argument);

/* --- record.c: recording executes --- */

/* Records an op: checks the operands, runs it, appends the node. attr may be NULL. */
ct_var ct__record(enum ct_op op, int n, const ct_var *in, const struct ct__attr *attr);
/* Records an elementwise op, after the `broadcast`s that unlike shapes need. A rank-0 constant is
   not broadcast: nothing flows back to it. */
ct_var ct__record_elementwise(enum ct_op op, int n, const ct_var *in);
bool ct__any_names(size_t n, const ct_tensor *const values[]);
/* Operands without axis names, for the backward pass: they belong to the user's axes and not to a rule, whose products
   of turned matrices would bring unlike or equal ones together. `bare` holds n new tensors to be freed, or NULL; false
   without memory. */
bool ct__bare_operands(size_t n, const ct_tensor *const values[], const ct_tensor *operands[],
                       ct_tensor *bare[]);
/* The tape and the values of the operands of an op about to be recorded, or NULL after the sticky
   error. */
ct_tape *ct__operands(const char *op, int n, const ct_var *in, const ct_tensor *values[]);
/* The value of an operand of an op about to be recorded, or NULL after the sticky error. */
const ct_tensor *ct__operand(ct_var v);
/* Attributes of a shape or of axes, checked as far as their number goes; false after the sticky
   error. */
bool ct__shape_attr(ct_var x, int rank, const int64_t *shape, struct ct__attr *attr);
bool ct__axes_attr(ct_var x, int n, const int *axes, struct ct__attr *attr);
/* An axis counted from the front. One that is out of range stays as it is: the op says so. */
static inline int ct__front_axis(int axis, int rank) {
    return axis < 0 && axis >= -rank ? axis + rank : axis;
}
/* The null variable of v's tape. */
static inline ct_var ct__null_of(ct_var v) {
    return (ct_var){v.tape, CT__NO_NODE, 0};
}
/* The sticky error of an op that could not run, with node, operands and scope; its reason stands in
   ct_error(). */
ct_var ct__fail_op(ct_tape *tape, enum ct_op op, int n, const ct_tensor *const in[]);
ct_var ct__fail_named(ct_tape *tape, const char *who, const char *name, int n,
                      const ct_tensor *const in[]);

/* --- describe.c --- */

enum { CT__SCOPE_BYTES = 128 };
/* "f32[2, 3], f32[4]" */
void ct__describe_operands(char *text, size_t size, int n, const ct_tensor *const in[]);
/* "layer0/dense" of a scope and those around it; "" for CT__NO_NODE. */
void ct__describe_scope(const ct_tape *tape, uint32_t scope, char text[CT__SCOPE_BYTES]);

/* --- factors.c --- */

/* The LU factorisation of a node's value, made at the first call; NULL with ct_error(). It stays until
   the node goes. */
const struct ct__lu *ct__lu_at(ct_tape *tape, uint32_t node);
/* Drops those of the nodes from `length` on. */
void ct__drop_factors(ct_tape *tape, size_t length);
void ct__free_factors(ct_tape *tape);

/* --- tape.c --- */

/* The sticky error that says why nothing can be recorded now; false. */
bool ct__may_not_record(ct_tape *tape);
/* Whether another node can be recorded now; otherwise the sticky error says why not. */
static inline bool ct__may_record(ct_tape *tape) {
    bool may = tape->status == CT_OK && tape->released == 0 && tape->length < CT__NO_NODE - 1;
    return may || ct__may_not_record(tape);
}
/* The value of a variable that is there and was not released, or NULL without an error. */
static inline const ct_tensor *ct__live_value(ct_var v) {
    const ct_tape *tape = v.tape;
    bool live = tape && v.index < tape->length && tape->nodes[v.index].generation == v.generation;
    return live ? tape->nodes[v.index].value : NULL;
}
/* Appends an input, whose kind is not CT__NODE_OP, that owns `value`, which is freed on failure. */
ct_var ct__append_input(ct_tape *tape, enum ct__node_kind kind, ct_tensor *value);
/* Appends an op node that owns `value`, which is freed on failure. */
ct_var ct__append_op(ct_tape *tape, enum ct_op op, int n, const ct_var *in, ct_tensor *value,
                     const struct ct__attr *attr);
/* The sticky error; `who` is the public function that failed. */
ct_var ct__tape_fail_in(const char *who, ct_tape *tape, ct_status code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
ct_var ct__tape_fail(ct_tape *tape, ct_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The node of a live variable, or NULL after the sticky error that says what is wrong. */
const struct ct__node *ct__node(ct_var v);
/* The declared zero, as a pull result. */
ct_var ct__flat(void);
bool ct__is_flat(ct_var v);
const char *ct__node_name(const ct_tape *tape, const struct ct__node *node); /* or NULL */

/* --- custom.c --- */

/* The inputs of a node, of which there may be more than its own array holds. */
const uint32_t *ct__wide_inputs(const ct_tape *tape, const struct ct__node *node);
static inline const uint32_t *ct__inputs(const ct_tape *tape, const struct ct__node *node) {
    return node->inputs <= CT__MAX_INPUTS ? node->in : ct__wide_inputs(tape, node);
}
/* The name of a node's op. */
const char *ct__op_title(const ct_tape *tape, const struct ct__node *node);
/* The sentence of a custom node's record, or NULL. */
const char *ct__custom_doc(const ct_tape *tape, const struct ct__node *node);
/* Frees what a custom node owns. */
void ct__custom_free(struct ct__custom *custom);
/* The gradients of a custom node for its inputs, as its rule records them: ct__flat() where nothing
   flows. An array to be freed, or NULL after the sticky error. */
ct_var *ct__custom_parts(ct_tape *tape, uint32_t index, ct_var cotangent);
/* Whether those contain what had been gathered for the inputs before. */
bool ct__custom_takes_over(const ct_tape *tape, const struct ct__node *node);
/* Inputs have the op 0. */
static inline bool ct__is_custom(const struct ct__node *node) {
    return node->op == CT__OP_CUSTOM;
}

#endif
