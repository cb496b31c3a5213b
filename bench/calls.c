/*
 * What a call costs beside the arithmetic, in instructions: run by bench/count_instructions.sh under
 * callgrind, which counts what happens inside measured() and writes the count after each return.
 *
 * Each row is measured at two numbers of repetitions, whose difference over the distance is free of
 * what happens once. The arithmetic is the scalar type's own loop on the same items, called alone; a
 * recorded op carries its share of the rewind. A line of output is a count to come:
 * NAME TYPE ITEMS KIND TIMES.
 */
#include "cotangent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 20, MANY = 120, RECORDED = 10 };

struct work {
    const ct_scalar *scalar;
    ct_tensor *a, *b, *item, *row, *out;
    ct_tape *tape;
    ct_mark mark;
    ct_var x, y, k, z;
    int64_t shape[2];
    size_t count; /* what the arithmetic alone works on */
    char *ptr[3], *item_ptr[3], *row_ptr[3], *unary_ptr[2];
    ptrdiff_t step[3], item_step[3];
    struct ct_fold_job fold;
    struct ct_matmul_job product;
};

typedef void call(struct work *w);

struct row {
    const char *name;
    call *eager, *alone; /* alone: the arithmetic, or NULL where there is none */
    ct_var (*record)(struct work *w);
};

__attribute__((noinline)) void measured(call *fn, struct work *w, int times);

void measured(call *fn, struct work *w, int times) {
    for (int i = 0; i < times; i++)
        fn(w);
}

/* --- the arithmetic alone */

static char *first(const ct_tensor *t) {
    union {
        const void *data;
        char *bytes;
    } p = {ct_data(t)}; /* loops take operands and results in one array */
    return p.bytes;
}

static ct_loop_fn *loop_add, *loop_exp;
static ct_fold_fn *fold_sum;
static ct_matmul_fn *product;

static void find_loops(const ct_scalar *scalar) {
    loop_add = ct_scalar_loop(scalar, CT_OP_add);
    loop_exp = ct_scalar_loop(scalar, CT_OP_exp);
    fold_sum = ct_scalar_fold(scalar, CT_FOLD_SUM);
    product = ct_scalar_matmul(scalar);
}

static void add_alone(struct work *w) {
    loop_add(w->scalar, CT_OP_add, w->count, w->ptr, w->step);
}

static void add_item_alone(struct work *w) {
    loop_add(w->scalar, CT_OP_add, w->count, w->item_ptr, w->item_step);
}

static void add_row_alone(struct work *w) {
    ptrdiff_t at = 0, row = w->step[0] * (ptrdiff_t)w->shape[1];
    for (int64_t i = 0; i < w->shape[0]; i++, at += row)
        loop_add(w->scalar, CT_OP_add, (size_t)w->shape[1],
                 (char *[]){w->row_ptr[0] + at, w->row_ptr[1], w->row_ptr[2] + at}, w->step);
}

static void exp_alone(struct work *w) {
    loop_exp(w->scalar, CT_OP_exp, w->count, w->unary_ptr, w->step);
}

static void sum_alone(struct work *w) {
    fold_sum(w->scalar, &w->fold);
}

static void matmul_alone(struct work *w) {
    product(w->scalar, &w->product);
}

static void set_arithmetic(struct work *w) {
    ptrdiff_t size = (ptrdiff_t)w->scalar->size, row = size * (ptrdiff_t)w->shape[1];
    char *a = first(w->a), *b = first(w->b), *out = first(w->out);
    w->count = ct_count(w->a);
    w->ptr[0] = w->item_ptr[0] = w->row_ptr[0] = w->unary_ptr[0] = a;
    w->ptr[1] = b;
    w->item_ptr[1] = first(w->item);
    w->row_ptr[1] = first(w->row);
    w->ptr[2] = w->item_ptr[2] = w->row_ptr[2] = w->unary_ptr[1] = out;
    w->step[0] = w->step[1] = w->step[2] = w->item_step[0] = w->item_step[2] = size;
    w->fold = (struct ct_fold_job){w->count, 1, a, size, size, out, size};
    size_t n = (size_t)w->shape[1];
    w->product = (struct ct_matmul_job){
        (size_t)w->shape[0], n, n, a, row, size, b, row, size, out, row, size};
}

/* --- eager calls */

static void add_eager(struct work *w) {
    ct_free(ct_add(w->a, w->b));
}

static void add_item_eager(struct work *w) {
    ct_free(ct_add(w->a, w->item));
}

static void add_row_eager(struct work *w) {
    ct_free(ct_add(w->a, w->row));
}

static void exp_eager(struct work *w) {
    ct_free(ct_exp(w->a));
}

static void sum_eager(struct work *w) {
    ct_free(ct_sum(w->a, CT_ALL, false));
}

static void transpose_eager(struct work *w) {
    ct_free(ct_transpose(w->a));
}

static void reshape_eager(struct work *w) {
    ct_free(ct_reshape(w->a, 1, (int64_t[]){-1}));
}

static void slice_eager(struct work *w) {
    ct_free(ct_slice(w->a, 0, 1, 3, 1));
}

static void matmul_eager(struct work *w) {
    ct_free(ct_matmul(w->a, w->b));
}

/* --- recorded ones */

static ct_var add_recorded(struct work *w) {
    return ct_var_add(w->x, w->y);
}

static ct_var add_item_recorded(struct work *w) {
    return ct_var_add(w->x, w->k);
}

static ct_var add_row_recorded(struct work *w) { /* two nodes: broadcast and add */
    return ct_var_add(w->x, w->z);
}

static ct_var exp_recorded(struct work *w) {
    return ct_var_exp(w->x);
}

static ct_var sum_recorded(struct work *w) {
    return ct_var_sum(w->x, CT_ALL, false);
}

static ct_var transpose_recorded(struct work *w) {
    return ct_var_transpose(w->x);
}

static ct_var reshape_recorded(struct work *w) {
    return ct_var_reshape(w->x, 1, (int64_t[]){-1});
}

static ct_var slice_recorded(struct work *w) {
    return ct_var_slice(w->x, 0, 1, 3, 1);
}

static ct_var matmul_recorded(struct work *w) {
    return ct_var_matmul(w->x, w->y);
}

static const struct row rows[] = {
    {"add", add_eager, add_alone, add_recorded},
    {"add-item", add_item_eager, add_item_alone, add_item_recorded},
    {"add-row", add_row_eager, add_row_alone, add_row_recorded},
    {"exp", exp_eager, exp_alone, exp_recorded},
    {"sum", sum_eager, sum_alone, sum_recorded},
    {"transpose", transpose_eager, NULL, transpose_recorded},
    {"reshape", reshape_eager, NULL, reshape_recorded},
    {"slice", slice_eager, NULL, slice_recorded},
    {"matmul", matmul_eager, matmul_alone, matmul_recorded},
};

static const struct row *now; /* what record_some() records */

static void record_some(struct work *w) {
    for (int i = 0; i < RECORDED; i++)
        now->record(w);
    ct_tape_rewind(w->tape, w->mark);
}

/* --- the table */

static struct work open_work(const ct_scalar *scalar, int64_t rows_, int64_t columns) {
    struct work w = {.scalar = scalar, .shape = {rows_, columns}, .tape = ct_tape_new()};
    w.a = ct_full(scalar, 2, w.shape, 0.5);
    w.b = ct_full(scalar, 2, w.shape, 0.25);
    w.out = ct_zeros(scalar, 2, w.shape);
    w.row = ct_full(scalar, 1, &columns, 2);
    w.item = ct_from_double(scalar, 3);
    w.x = ct_leaf(w.tape, w.a, "x");
    w.y = ct_leaf(w.tape, w.b, "y");
    w.z = ct_leaf(w.tape, w.row, "z");
    w.k = ct_constant(w.tape, w.item, "k");
    w.mark = ct_tape_mark(w.tape);
    find_loops(scalar);
    set_arithmetic(&w);
    return w;
}

static void close_work(struct work *w) {
    ct_tape_free(w->tape);
    ct_free(w->a);
    ct_free(w->b);
    ct_free(w->out);
    ct_free(w->row);
    ct_free(w->item);
}

static void count(const struct row *row, struct work *w, const char *kind, call *fn, int each) {
    static const int times[] = {FEW, MANY};
    fn(w); /* warm */
    for (int i = 0; i < 2; i++) {
        printf("%s %s %zu %s %d\n", row->name, w->scalar->name, ct_count(w->a), kind,
               times[i] * each);
        measured(fn, w, times[i]);
    }
}

static void count_row(const struct row *row, struct work *w, const char *wanted) {
    if (wanted && strncmp(row->name, wanted, strlen(wanted)) != 0)
        return;
    now = row;
    if (row->alone)
        count(row, w, "alone", row->alone, 1);
    count(row, w, "eager", row->eager, 1);
    count(row, w, "recorded", record_some, RECORDED);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{4, 4}, {20, 50}};
    const ct_scalar *const scalars[] = {CT_F32, CT_F64};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof scalars / sizeof *scalars; t++) {
            struct work w = open_work(scalars[t], shapes[s][0], shapes[s][1]);
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (shapes[s][0] == shapes[s][1] || rows[i].eager != matmul_eager)
                    count_row(&rows[i], &w, argc > 1 ? argv[1] : NULL);
            if (ct_error()->code) {
                fprintf(stderr, "calls: %s: %s\n", ct_error()->function, ct_error()->message);
                return EXIT_FAILURE;
            }
            close_work(&w);
        }
    return EXIT_SUCCESS;
}
