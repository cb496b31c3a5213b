/* The samples on which a row of the op table is checked: from its domains, or from its record. */

#include "autodiff/check_impl.h"

#include "tensor/alloc.h"
#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <math.h>

static const char who[] = "ct_check_op";

/* A shape per argument; the second of each pair is broadcast where it is smaller. */
struct shape_pair {
    int rank[2];
    int64_t shape[2][2];
};
static const struct shape_pair shape_pairs[] = {
    {{1, 1}, {{7}, {7}}},       {{2, 1}, {{2, 3}, {3}}},    {{0, 0}, {{0}, {0}}},
    {{2, 2}, {{0, 3}, {0, 3}}}, {{2, 2}, {{4, 1}, {1, 4}}}, {{2, 0}, {{2, 2}, {0}}},
};
enum { SHAPE_PAIRS = sizeof shape_pairs / sizeof *shape_pairs };

void ct__draw_free(struct ct__drawn *s) {
    for (int k = 0; k < s->n; k++)
        ct_free(s->owned[k]);
}

/* Takes the next input; false when it could not be made. */
static bool add_input(struct ct__drawn *s, ct_tensor *input) {
    s->owned[s->n] = input;
    s->inputs[s->n] = input;
    s->n += input != NULL;
    return input != NULL;
}

/* --- values --- */

/* Uniform in a domain; a mask is 0 or 1, labels are whole. */
static ct_tensor *draw(ct_random *random, const ct_scalar *scalar, int rank, const int64_t *shape,
                       struct ct__domain domain) {
    size_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= (size_t)shape[k];
    double *items = ct__alloc(count * sizeof *items);
    if (!items)
        return ct__fail_null(CT_ENOMEM, who, "out of memory");
    for (size_t k = 0; k < count; k++) {
        items[k] = domain.low + (domain.high - domain.low) * ct_random_uniform(random);
        if (scalar == CT_BOOL)
            items[k] = items[k] < 0.5 ? 0 : 1;
        if (scalar == CT_I64)
            items[k] = floor(items[k]);
    }
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, count, items);
    ct__free(items);
    return t;
}

static bool draw_elementwise(enum ct_op op, const struct shape_pair *shapes, ct_random *random,
                             struct ct__drawn *s) {
    for (int k = 0; k < ct_op_arity(op); k++) {
        int which = k == 0 ? 0 : 1;
        const ct_scalar *scalar = ct_op_takes_mask(op, k) ? CT_BOOL : CT_F64;
        if (!add_input(s, draw(random, scalar, shapes->rank[which], shapes->shape[which],
                               ct__op_domain(op, k))))
            return false;
    }
    s->call = (struct ct__op_call){.op = op};
    return true;
}

static bool draw_structured(enum ct_op op, const struct ct__sample *from, ct_random *random,
                            struct ct__drawn *s) {
    for (int k = 0; k < from->inputs; k++) {
        bool is_label = from->labels > 0 && k == from->inputs - 1;
        struct ct__domain labels = {0, (double)from->labels};
        if (!add_input(s, draw(random, is_label ? CT_I64 : CT_F64, from->rank[k], from->shape[k],
                               is_label ? labels : ct__op_domain(op, k))))
            return false;
    }
    s->call = (struct ct__op_call){.op = op, .attr = &from->attr};
    return true;
}

/* --- functions --- */

/* A comparison gives bool, which has no gradient: it is seen through the choice that it makes. */
static ct_var compare_call(void *context, ct_tape *tape, size_t n, const ct_var *inputs) {
    const ct_tensor *x = ct_value(inputs[0]);
    if (!x)
        return ct_var_null();
    ct_var chosen[] = {ct__op_call(context, tape, n, inputs), ct_constant_of(tape, ct_dtype(x), 1),
                       ct_constant_of(tape, ct_dtype(x), 2)};
    return ct__record_elementwise(CT_OP_where, 3, chosen);
}

ct_function *ct__op_function(enum ct_op op) {
    return ct_op_gives_mask(op) ? compare_call : ct__op_call;
}

/* --- samples --- */

int ct__draw_count(enum ct_op op) {
    const struct ct__op_record *record = ct__op_record(op);
    return record ? record->sample_count : SHAPE_PAIRS;
}

ct_status ct__draw(enum ct_op op, int sample, uint64_t seed, struct ct__drawn *drawn) {
    const struct ct__op_record *record = ct__op_record(op);
    ct_random random = ct_random_of(seed, (uint64_t)op * 1000 + (uint64_t)sample);
    *drawn = (struct ct__drawn){0};
    bool done = record ? draw_structured(op, &record->samples[sample], &random, drawn)
                       : draw_elementwise(op, &shape_pairs[sample], &random, drawn);
    return done ? CT_OK : ct_error()->code;
}

ct_status ct__draw_items(enum ct_op op, int64_t count, uint64_t seed, struct ct__drawn *drawn) {
    const struct shape_pair shapes = {{1, 1}, {{count}, {count}}};
    ct_random random = ct_random_of(seed, (uint64_t)op * 1000 + 997);
    *drawn = (struct ct__drawn){0};
    return draw_elementwise(op, &shapes, &random, drawn) ? CT_OK : ct_error()->code;
}
