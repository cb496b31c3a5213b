/* Colours of columns: columns of one colour share a tangent.

   Of a Jacobian, columns of a colour have no row in common, rows that are very full apart: those cost
   a backward pass instead of a colour per entry. Of a Hessian a star colouring: every entry or its mirror image is alone
   with its colour in its row. Both are greedy in the order of the columns, and so the same everywhere. */

#include "autodiff/derivatives_impl.h"
#include "autodiff/sparse_impl.h"

#include "tensor/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };
static const size_t no_colour = (size_t)NONE;

/* What a backward pass costs in tangents. */
enum { BACKWARD_COST = 3 };

bool ct__columns_open(const ct_pattern *p, struct ct__columns *c) {
    c->start = ct__array(p->columns + 2, sizeof *c->start);
    c->index = ct__array(p->count, sizeof *c->index);
    if (!c->start || !c->index)
        return false;
    for (size_t e = 0; e < p->count; e++)
        c->start[p->index[e] + 2]++;
    for (size_t j = 2; j < p->columns + 2; j++)
        c->start[j] += c->start[j - 1];
    for (size_t i = 0; i < p->rows; i++)
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
            c->index[c->start[p->index[e] + 1]++] = i;
    return true;
}

void ct__columns_close(struct ct__columns *c) {
    ct__free(c->start);
    ct__free(c->index);
}

/* Colours that a column may not have; `mark` says for which column they were noted. */
struct forbidden {
    size_t *mark;
    size_t column;
};

static void forbid(struct forbidden *f, size_t colour) {
    if (colour != no_colour)
        f->mark[colour] = f->column + 1;
}

static size_t first_allowed(const struct forbidden *f) {
    size_t colour = 0;
    while (f->mark[colour] == f->column + 1)
        colour++;
    return colour;
}

/* --- Jacobians --- */

static size_t colour_columns(const ct_pattern *p, const struct ct__columns *c, const bool *is_full,
                             size_t *mark, size_t *colour) {
    size_t colours = 0;
    memset(mark, 0, (p->columns + 1) * sizeof *mark);
    for (size_t j = 0; j < p->columns; j++)
        colour[j] = no_colour;
    for (size_t j = 0; j < p->columns; j++) {
        struct forbidden f = {mark, j};
        for (size_t at = c->start[j]; at < c->start[j + 1]; at++) {
            size_t i = c->index[at];
            for (size_t e = p->start[i]; !is_full[i] && e < p->start[i + 1]; e++)
                forbid(&f, colour[p->index[e]]);
        }
        colour[j] = first_allowed(&f);
        if (colour[j] >= colours)
            colours = colour[j] + 1;
    }
    return colours;
}

struct row {
    size_t entries, row;
};

/* The fullest first, of equals the first. */
static int by_fullness(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->entries != y->entries)
        return x->entries > y->entries ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Tries 0, 1, 2, 4, ... of the fullest rows, and keeps what is cheapest. */
static bool colour_jacobian(ct_pattern *p, const struct ct__columns *c) {
    struct row *rows = ct__array(p->rows, sizeof *rows);
    size_t *mark = ct__array(p->columns + 1, sizeof *mark);
    size_t *colour = ct__array(p->columns, sizeof *colour);
    bool *is_full = ct__array(p->rows, sizeof *is_full);
    bool made = rows && mark && colour && is_full;
    size_t best = no_colour;
    for (size_t i = 0; made && i < p->rows; i++)
        rows[i] = (struct row){p->start[i + 1] - p->start[i], i};
    if (made)
        qsort(rows, p->rows, sizeof *rows, by_fullness);
    for (size_t full = 0; made && full <= p->rows && BACKWARD_COST * full < best;
         full = full ? 2 * full : 1) {
        for (size_t k = 0; k < full; k++)
            is_full[rows[k].row] = true;
        size_t colours = colour_columns(p, c, is_full, mark, colour);
        if (colours + BACKWARD_COST * full < best) {
            best = colours + BACKWARD_COST * full;
            p->colours = colours;
            p->full = full;
            memcpy(p->colour, colour, p->columns * sizeof *colour);
            memcpy(p->is_full, is_full, p->rows * sizeof *is_full);
            for (size_t k = 0; k < full; k++)
                p->full_row[k] = rows[k].row;
        }
    }
    ct__free(rows);
    ct__free(mark);
    ct__free(colour);
    ct__free(is_full);
    return made;
}

/* --- Hessians --- */

/* Whether the coloured vertex x has a neighbour other than w of w's colour: v - w - x - y would
   have two colours if v took that of x. */
static bool closes_path(const ct_pattern *p, size_t w, size_t x) {
    for (size_t e = p->start[x]; e < p->start[x + 1]; e++) {
        size_t y = p->index[e];
        if (y != w && y != x && p->colour[y] == p->colour[w])
            return true;
    }
    return false;
}

static void forbid_stars(const ct_pattern *p, size_t v, size_t w, struct forbidden *f) {
    forbid(f, p->colour[w]);
    for (size_t e = p->start[w]; e < p->start[w + 1]; e++) {
        size_t x = p->index[e];
        if (x == v || x == w || p->colour[x] == no_colour)
            continue;
        if (p->colour[w] == no_colour || closes_path(p, w, x))
            forbid(f, p->colour[x]);
    }
}

static bool colour_hessian(ct_pattern *p) {
    size_t *mark = ct__array(p->columns + 1, sizeof *mark);
    if (!mark)
        return false;
    for (size_t v = 0; v < p->columns; v++)
        p->colour[v] = no_colour;
    for (size_t v = 0; v < p->columns; v++) {
        struct forbidden f = {mark, v};
        for (size_t e = p->start[v]; e < p->start[v + 1]; e++)
            if (p->index[e] != v)
                forbid_stars(p, v, p->index[e], &f);
        p->colour[v] = first_allowed(&f);
        if (p->colour[v] >= p->colours)
            p->colours = p->colour[v] + 1;
    }
    ct__free(mark);
    return true;
}

bool ct__colour(ct_pattern *p) {
    if (p->symmetric)
        return colour_hessian(p);
    struct ct__columns c = {0};
    bool made = ct__columns_open(p, &c) && colour_jacobian(p, &c);
    ct__columns_close(&c);
    return made;
}
