/* For the suites that choose, join and order items: tensors of any scalar type in any layout, and
   results compared with a rule, index by index and byte by byte. */
#ifndef CT_INDEX_TOOLS_H
#define CT_INDEX_TOOLS_H

#include "scarce_memory.h"
#include "tensor_tools.h"

/* Every scalar type there is, then one that has bytes alone. */
extern const ct_scalar *const every_scalar[];
enum { SCALARS = 12, ORDERED_SCALARS = SCALARS - 1 };

/* Pseudo-random numbers, the same everywhere. */
uint64_t next_bits(uint64_t *state);
int64_t next_below(uint64_t *state, int64_t bound);

/* Ways to lie in memory, for any rank. */
enum spread { DENSE, OFFSET, TRANSPOSED, FLIPPED, GAPS, REPEATED, SPREADS };
/* A tensor of t's shape, and of its items except that REPEATED repeats those of index 0 of the
   first axis. Over memory of its own. Frees t. */
ct_tensor *spread_out(ct_tensor *t, enum spread how);

/* Items of random bytes. */
ct_tensor *random_items(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape);
/* Few different numbers, among them -0, infinities and NaN where the type has them. */
ct_tensor *random_numbers(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape);
/* Whole numbers in [low, high), i64 or i32. */
ct_tensor *random_index(uint64_t *state, const ct_scalar *scalar, int rank, const int64_t *shape,
                        int64_t low, int64_t high);
ct_tensor *random_mask(uint64_t *state, int rank, const int64_t *shape);

/* A copy of a tensor's items in row-major order. */
struct items {
    const ct_scalar *scalar;
    int rank;
    int64_t shape[CT_MAX_RANK];
    size_t count;
    char *bytes;
};
struct items items_of(const ct_tensor *t);
void drop_items(struct items *items);
char *item_at(const struct items *items, const int64_t *index);
int64_t number_at(const struct items *items, const int64_t *index);
/* Whether there is a next index of the shape. */
bool next_index(int rank, const int64_t *shape, int64_t *index);

/* The item of an index of the expected result. */
typedef void item_rule(const void *context, const int64_t *index, char *item);
/* Test fails unless t is a sound, dense tensor of this type and shape whose bytes follow the rule.
   Frees t. */
void expect_rule(ct_tensor *t, const ct_scalar *scalar, int rank, const int64_t *shape,
                 item_rule *rule, const void *context);
/* The same with the expected items in full. */
void expect_same(ct_tensor *t, const struct items *expected);

/* Test fails unless the call made nothing and left this error; the error is cleared. */
void expect_failure(const void *made, ct_status code, const char *function, const char *message);

/* Test fails unless the axes bear these names, "batch - row", and t is sound. Frees t. */
void expect_names(ct_tensor *t, const char *names);

/* Shapes that every function is tried with. */
struct shape_case {
    int rank;
    int64_t shape[CT_MAX_RANK];
};
extern const struct shape_case shape_cases[];
enum { SHAPES = 9 };

#endif
