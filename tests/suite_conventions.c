/* One test per cell of docs/conventions.md, in f32 and f64: the value, the gradient in reverse and in forward mode, and
   where it exists the second order, tape over tape and forward over reverse. */
#include "convention_cells.h"
#include "ct_test.h"

#include "autodiff/ct_derivatives.h"
#include "autodiff/ct_var_ops.h"
#include "case_tools.h"
#include "dual/ct_dual.h"
#include "tensor/ct_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_conventions(void);

static const ct_scalar *const scalars[] = {CT_F32, CT_F64};

/* ---- comparing */

static double tolerance_of(const ct_scalar *scalar) {
    return scalar == CT_F32 ? 2e-6 : 1e-14;
}

static bool agrees(double x, double expected, double tolerance, bool signs) {
    if (isnan(x) || isnan(expected))
        return isnan(x) && isnan(expected);
    if (isinf(x) || isinf(expected))
        return x == expected;
    if (expected == 0)
        return x == 0 && (!signs || !signbit(x) == !signbit(expected));
    return fabs(x - expected) <= tolerance * fabs(expected);
}

static void expect_row(const struct cell *cell, const char *what, const ct_tensor *t,
                       struct cell_row row, bool signs) {
    const ct_scalar *scalar = ct_dtype(t);
    double items[32];
    ck_assert_msg(t != NULL, "%s: %s: %s", cell->rule, what, ct_error()->message);
    ck_assert_msg(ct_count(t) == row.count && row.count <= COUNT(items), "%s: %s has %zu items",
                  cell->rule, what, ct_count(t));
    ck_assert_int_eq(ct_to_doubles(t, row.count, items), CT_OK);
    for (size_t i = 0; i < row.count; i++)
        ck_assert_msg(agrees(items[i], row.items[i], tolerance_of(scalar), signs),
                      "%s%s%s: %s of %s is %.17g at %zu instead of %.17g", cell->rule,
                      cell->bugs ? ", " : "", cell->bugs ? cell->bugs : "", what, scalar->name,
                      items[i], i, row.items[i]);
}

/* ---- the modes */

static int inputs_of(const struct cell *cell) {
    int n = 0;
    while (n < CELL_INPUTS && cell->x[n].items)
        n++;
    return n;
}

static ct_tensor *tensor_from(const ct_scalar *scalar, struct cell_row row, int rank,
                              const int64_t *shape) {
    ct_tensor *t = ct_from_doubles(scalar, rank, shape, row.count, row.items);
    ck_assert_msg(t != NULL, "%s", ct_error()->message);
    return t;
}

/* <cotangent, y>, of any type over the inputs'. */
static ct_var weighted(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const struct cell *cell = context;
    ct_var y = cell->record(in);
    const ct_tensor *value = ct_value(y);
    (void)n;
    if (!value || !cell->cotangent.items)
        return ct_var_sum(y, CT_ALL, false);
    ct_tensor *g = tensor_from(ct_dtype(value), cell->cotangent, ct_rank(value), ct_shape(value));
    ct_var weights = ct_constant(tape, g, "g");
    ct_free(g);
    return ct_var_sum(ct_var_mul(y, weights), CT_ALL, false);
}

static ct_var plain(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    (void)tape, (void)n;
    return ((const struct cell *)context)->record(in);
}

static void check_reverse(const struct cell *cell, size_t n, ct_tensor *const *x) {
    ct_tape *tape = ct_tape_new();
    ct_var in[CELL_INPUTS], dx[CELL_INPUTS], ddx[CELL_INPUTS], g = ct_var_null();
    for (size_t k = 0; k < n; k++)
        in[k] = ct_leaf(tape, x[k], "x");
    ct_var y = cell->record(in);
    ck_assert_msg(ct_tape_status(tape) == CT_OK, "%s: %s", cell->rule, ct_tape_message(tape));
    expect_row(cell, "the value", ct_value(y), cell->y, true);
    if (cell->cotangent.items) {
        const ct_tensor *value = ct_value(y);
        ct_tensor *t =
            tensor_from(ct_dtype(value), cell->cotangent, ct_rank(value), ct_shape(value));
        g = ct_constant(tape, t, "g");
        ct_free(t);
    }
    ck_assert_msg(ct_grad(y, g, n, in, dx) == CT_OK, "%s: %s", cell->rule, ct_tape_message(tape));
    for (size_t k = 0; k < n; k++)
        expect_row(cell, "reverse mode", ct_value(dx[k]), cell->dx[k], false);
    ck_assert_int_eq(ct_grad_all(n, dx, NULL, n, in, ddx), CT_OK);
    for (size_t k = 0; k < n && cell->second[0].items; k++)
        expect_row(cell, "second order, reverse over reverse,", ct_value(ddx[k]), cell->second[k],
                   false);
    ct_tape_free(tape);
}

/* <cotangent, J e> for the unit vector of an item: the items of J e where the cotangent is not 0. */
static double slope(const struct cell *cell, const ct_tensor *product) {
    double sum = 0, items[32];
    ck_assert_int_eq(ct_to_doubles(product, ct_count(product), items), CT_OK);
    for (size_t i = 0; i < ct_count(product); i++) {
        double g = cell->cotangent.items ? cell->cotangent.items[i] : 1;
        sum += g == 0 ? 0 : g * items[i];
    }
    return sum;
}

static void check_forward(const struct cell *cell, size_t n, ct_tensor *const *x) {
    for (size_t k = 0; k < n; k++) {
        double slopes[32];
        for (size_t i = 0; i < ct_count(x[k]); i++) {
            const ct_tensor *tangents[CELL_INPUTS] = {NULL};
            ct_tensor *unit = ct_zeros(ct_dtype(x[k]), 1, ct_shape(x[k])), *product;
            ct_set_flat(unit, (int64_t)i, 1);
            tangents[k] = unit;
            ck_assert_msg(ct_jvp(plain, (void *)(uintptr_t)cell, n, (const ct_tensor *const *)x,
                                 tangents, NULL, &product) == CT_OK,
                          "%s: %s", cell->rule, ct_error()->message);
            slopes[i] = slope(cell, product);
            ct_free(unit);
            ct_free(product);
        }
        struct cell_row row = {ct_count(x[k]), slopes};
        ct_tensor *forward = tensor_from(ct_dtype(x[k]), row, 1, ct_shape(x[k]));
        expect_row(cell, "forward mode", forward, cell->dx[k], false);
        ct_free(forward);
    }
}

static void check_second(const struct cell *cell, size_t n, ct_tensor *const *x) {
    ct_tensor *ones[CELL_INPUTS] = {NULL}, *products[CELL_INPUTS];
    for (size_t k = 0; k < n; k++)
        ones[k] = ct_ones(ct_dtype(x[k]), 1, ct_shape(x[k]));
    ck_assert_msg(ct_hvp(weighted, (void *)(uintptr_t)cell, n, (const ct_tensor *const *)x,
                         (const ct_tensor *const *)ones, NULL, products) == CT_OK,
                  "%s: %s", cell->rule, ct_error()->message);
    for (size_t k = 0; k < n; k++) {
        expect_row(cell, "second order, forward over reverse,", products[k], cell->second[k],
                   false);
        ct_free(ones[k]);
        ct_free(products[k]);
    }
}

static void check_cell(const struct cell *cell, const ct_scalar *scalar) {
    size_t n = (size_t)inputs_of(cell), live = ct_live_blocks();
    ct_tensor *x[CELL_INPUTS] = {NULL};
    for (size_t k = 0; k < n; k++)
        x[k] = tensor_from(scalar, cell->x[k], 1, (int64_t[]){(int64_t)cell->x[k].count});
    check_reverse(cell, n, x);
    check_forward(cell, n, x);
    if (cell->second[0].items)
        check_second(cell, n, x);
    for (size_t k = 0; k < n; k++)
        ct_free(x[k]);
    ck_assert_uint_eq(ct_live_blocks(), live);
}

START_TEST(cell_is_as_documented) {
    const struct cell *cell = &convention_cells[_i];
    for (size_t s = 0; s < COUNT(scalars); s++)
        if (!cell->only || cell->only == scalars[s])
            check_cell(cell, scalars[s]);
}
END_TEST

/* ---- the page */

static const char *read_page(void) {
    static char page[1 << 15];
    FILE *file = fopen("docs/conventions.md", "r");
    ck_assert_ptr_nonnull(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    return page;
}

/* Each row of the page's table has cells, and each cell a row. */
START_TEST(page_and_cells_agree) {
    const char *page = read_page();
    char start[128];
    int rows = 0;
    for (int k = 0; k < convention_cell_count; k++) {
        snprintf(start, sizeof start, "\n| %s |", convention_cells[k].rule);
        ck_assert_msg(strstr(page, start) != NULL, "no row '%s'", convention_cells[k].rule);
    }
    for (const char *line = strstr(page, "\n|---"); line && strncmp(line, "\n|", 2) == 0;
         line = strchr(line + 1, '\n'), rows++) {
        bool found = rows == 0;
        for (int k = 0; k < convention_cell_count && !found; k++) {
            snprintf(start, sizeof start, "\n| %s |", convention_cells[k].rule);
            found = strncmp(line, start, strlen(start)) == 0;
        }
        ck_assert_msg(found, "no cell for the row%.60s", line);
    }
    ck_assert_int_gt(rows, 15);
}
END_TEST

Suite *suite_conventions(void) {
    Suite *suite = suite_create("conventions");
    TCase *tc = tcase_create("cells");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, cell_is_as_documented, 0, convention_cell_count);
    tcase_add_test(tc, page_and_cells_agree);
    return suite;
}
