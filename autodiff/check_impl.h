/* The inside of the gradient check, shared by its files and its tests. */
#ifndef CT_CHECK_IMPL_H
#define CT_CHECK_IMPL_H

#include "autodiff/ct_check.h"
#include "autodiff/tape_impl.h"

/* --- op_domains.c --- */

/* Where a test may draw an argument of an elementwise op from: inside the op's domain. */
struct ct__domain {
    double low, high;
};
struct ct__domain ct__op_domain(enum ct_op op, int argument);

/* --- differences.c --- */

/* f(x + t) - f(x), and how far rounding may have moved it. */
struct ct__change {
    double value, noise;
};
typedef ct_status ct__change_fn(void *context, double t, struct ct__change *change);

/* A numerical derivative. `value` is not finite where f is not beside x. */
struct ct__slope {
    double value, error;
    bool is_kink;       /* the slopes on the two sides differ, or f jumps */
    double left, right; /* those slopes */
};
/* d f / d t at t = 0 for an f that is known at x + t; `rtol` and `atol` bound the error beyond
   which another step is tried. */
ct_status ct__slope(ct__change_fn *f, void *context, double x, double rtol, double atol,
                    struct ct__slope *slope);

/* --- check_problem.c --- */

struct ct__check_input {
    bool is_real;     /* of a real type: converted to f64 */
    bool is_active;   /* a leaf; the others are constants */
    ct_tensor *given; /* f64 with the caller's strides, or the input itself when it is not real */
    double *items;    /* of a real input, row-major */
    ct_tensor *dual;  /* dual64 without tangents */
    ct_tensor *moved; /* present while an item is moved or seeded */
};

/* F(inputs) with weights w: what is checked is the gradient of <w, F>. At order 1, F is the
   function itself and w a cotangent u; at order 2, F is the gradient of <u, f>, one output per
   active input. Both are the same question, so everything below is written once. */
struct ct__problem {
    const char *who;
    ct_function *fn;
    void *context;
    int order;
    size_t n;
    struct ct__check_input *inputs;
    ct_tape *tape;
    ct_mark start;
    ct_var *vars;   /* n, in one block with the next three */
    ct_var *x, *dx; /* the active ones */
    ct_var *out;
    size_t active, outputs;
    ct_tensor **cotangents; /* per output, f64 */
    ct_tensor *u;           /* the cotangent of order 1 */
    size_t size;            /* items of all outputs together, and of the next three */
    double *weights, *base, *moved;
};

/* active may be NULL: every input of a real type. */
ct_status ct__problem_open(struct ct__problem *p, size_t n, const ct_tensor *const *inputs,
                           const bool *active);
void ct__problem_close(struct ct__problem *p);
/* Evaluates F at the inputs and draws its weights. */
ct_status ct__problem_start(struct ct__problem *p, int order, uint64_t seed);
/* The gradients of one output on the tape, one per active input, to be freed. */
ct_status ct__problem_tape(struct ct__problem *p, size_t output, ct_tensor **gradients);
/* The derivative along item j of input i, by dual numbers. */
ct_status ct__problem_dual(struct ct__problem *p, size_t i, size_t j, double *answer);
/* <w, F(x + t e_ij) - F(x)>. */
ct_status ct__problem_change(struct ct__problem *p, size_t i, size_t j, double t,
                             struct ct__change *change);

/* --- check.c --- */

enum ct__answer { CT__ANSWER_TAPE, CT__ANSWER_DUAL };

/* Where the tests of the check plant wrong answers; a hook may be NULL. `op` is CT_OP_COUNT for the
   whole function and the op when a single node of it is checked. */
struct ct__check_seam {
    void *context;
    /* What is compared in place of the tape's gradient of an input, or NULL for that itself. */
    ct_tensor *(*gradient)(void *context, enum ct_op op, size_t input, const ct_tensor *gradient);
    double (*answer)(void *context, enum ct_op op, int order, enum ct__answer which, size_t input,
                     size_t item, double answer);
};

/* ct_check_gradient() with planted answers; active as in ct__problem_open(); op as in the seam. */
ct_status ct__check_gradient_with(const char *who, ct_function *fn, void *context, size_t n,
                                  const ct_tensor *const *inputs, const bool *active,
                                  const struct ct_check_options *options,
                                  const struct ct__check_seam *seam, enum ct_op op,
                                  struct ct_check_report *report);

/* An item and what was answered about it. */
struct ct__finding {
    bool present;
    int order;
    size_t input, item;
    double tape, dual;
    struct ct__slope slope;
};

struct ct__check {
    struct ct_check_options options;
    const struct ct__check_seam *seam;
    enum ct_op op;
    struct ct__problem problem;
    double **tape; /* per input, the tape's answers */
    double severity;
    struct ct__finding worst, kink, blind;
    struct ct_check_report report;
};

/* --- check_text.c --- */

enum { CT__NUMBER_BYTES = 32 };
/* As the scalar type writes it: all digits, whatever the locale. Returns its buffer. */
const char *ct__number(char text[CT__NUMBER_BYTES], double value);
/* Three digits, for errors. */
const char *ct__rounded(char text[CT__NUMBER_BYTES], double value);
/* Sets the report's message; what does not fit is cut. */
void ct__say(struct ct__check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ct__say_disagreement(struct ct__check *c);
void ct__say_kinks(struct ct__check *c);
void ct__say_agreement(struct ct__check *c);
void ct__say_blindness(struct ct__check *c);
void ct__say_guilty(struct ct__check *c, const char *op);

/* --- check_node.c --- */

/* What records one op, as a function to be checked. */
struct ct__op_call {
    enum ct_op op;
    const struct ct__attr *attr;
};
ct_var ct__op_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs);
/* The first node of the function's tape whose op fails the check on the values it met there, or
   SIZE_MAX; *name receives the name of its op, of the tape's or longer life. */
size_t ct__find_guilty(struct ct__problem *p, const struct ct_check_options *options,
                       const struct ct__check_seam *seam, const char **name);

/* --- check_op.c --- */

/* The inputs of one run: f64, masks of bool, labels of i64. */
struct ct__drawn {
    int n;
    ct_tensor *owned[CT__MAX_INPUTS];
    const ct_tensor *inputs[CT__MAX_INPUTS]; /* the same */
    struct ct__op_call call;
};
/* How many samples an op has; 0 is a fault of its record. */
int ct__draw_count(enum ct_op op);
/* Draws one; ct__draw_free() also after a failure. */
ct_status ct__draw(enum ct_op op, int sample, uint64_t seed, struct ct__drawn *drawn);
/* So many items for an elementwise op. */
ct_status ct__draw_items(enum ct_op op, int64_t count, uint64_t seed, struct ct__drawn *drawn);
void ct__draw_free(struct ct__drawn *drawn);
/* Takes the next input; false where that is NULL. */
bool ct__draw_add(struct ct__drawn *drawn, ct_tensor *input);
/* Records the op of the context, a struct ct__op_call; a comparison is seen through a choice. */
ct_function *ct__op_function(enum ct_op op);

/* ct_check_op() with planted answers. */
ct_status ct__check_op_with(enum ct_op op, const struct ct_check_options *options,
                            const struct ct__check_seam *seam, struct ct_check_report *report);

/* --- check_row.c and its parts --- */

/* What was answered, where the tests of ct_check_op_all() plant wrong answers. */
enum ct__seen {
    CT__SEEN_VALUE,
    CT__SEEN_TAPE,
    CT__SEEN_DUAL,
    CT__SEEN_SECOND,
    CT__SEEN_SPECIAL_VALUE,
    CT__SEEN_SPECIAL_SLOPE,
    CT__SEEN_OTHER /* never planted */
};
struct ct__row_seam {
    void *context;
    double (*seen)(void *context, enum ct__seen what, double answer);
};

/* A row under check. */
struct ct__row {
    enum ct_op op;
    const ct_scalar *scalar;
    struct ct_check_options options;
    const struct ct__row_seam *seam;     /* or NULL */
    bool differentiated[CT__MAX_INPUTS]; /* or holds whole numbers */
    struct ct_op_report *report;
};

ct_status ct__check_row_with(enum ct_op op, const ct_scalar *scalar,
                             const struct ct_check_options *options,
                             const struct ct__row_seam *seam, struct ct_op_report *report);

/* What the seam makes of an answer. */
double ct__seen(const struct ct__row *row, enum ct__seen what, double answer);
/* The verdict of failure; the first message stays. */
void ct__row_fails(struct ct__row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The larger of a column's worst, NaN where nothing was compared yet, and another error. */
void ct__row_worst(double *worst, double error);
/* The drawn inputs in another real type; false when memory is gone. */
bool ct__row_inputs(const struct ct__drawn *drawn, const ct_scalar *scalar,
                    struct ct__drawn *inputs);
/* The op on tensors of any scalar type. */
ct_tensor *ct__row_run(const struct ct__row *row, const struct ct__drawn *inputs);
/* The items of a tensor, which ct__free takes. */
double *ct__row_items(const ct_tensor *t);

/* check_row_value.c: a row on samples, and on its special points. */
ct_status ct__check_row_values(struct ct__row *row);
/* Compares one result with the exact one, item by item; `special` where places are counted. */
ct_status ct__compare_values(struct ct__row *row, const struct ct__drawn *inputs, bool special);
/* check_row_modes.c */
ct_status ct__check_row_modes(struct ct__row *row);
/* Compares forward with reverse by random vectors, or at special points by ones. */
ct_status ct__compare_modes(struct ct__row *row, struct ct__drawn *inputs, bool special);
/* check_row_special.c */
ct_status ct__check_row_special(struct ct__row *row);

#endif
