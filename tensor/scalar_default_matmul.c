/* The matrix product of types that bring none: acc = acc + a b by rows, in inner blocks of 256. */

#include "tensor/scalar_default.h"

#include "tensor/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum {
    INNER = 256,       /* the contract */
    TILE_BYTES = 4096, /* of a line of results */
    PARALLEL = 1 << 14 /* multiplications that are not worth waking a thread for */
};

/* Results are made in lines along the longer side of c, so that the loops are long. */
struct product {
    const ct_scalar *self;
    size_t lines, length, k;
    size_t tile, tiles; /* items in a tile of a line, tiles in a line */
    const char *a, *b;
    char *c;
    bool down;                                          /* lines are columns of c */
    ptrdiff_t a_line, a_next, b_line, b_next, a_k, b_k; /* next: along a line */
    ptrdiff_t c_line, c_next;
    _Atomic bool overflow;
};

static struct product plan(const ct_scalar *self, const struct ct_matmul_job *job) {
    struct product p = {.self = self, .k = job->k, .a = job->a, .b = job->b, .c = job->c};
    p.down = job->m > job->n;
    p.lines = p.down ? job->n : job->m;
    p.length = p.down ? job->m : job->n;
    p.a_line = p.down ? 0 : job->a_row;
    p.a_next = p.down ? job->a_row : 0;
    p.b_line = p.down ? job->b_col : 0;
    p.b_next = p.down ? 0 : job->b_col;
    p.c_line = p.down ? job->c_col : job->c_row;
    p.c_next = p.down ? job->c_row : job->c_col;
    p.a_k = job->a_col;
    p.b_k = job->b_row;
    p.tile = TILE_BYTES / self->size;
    p.tiles = (p.length + p.tile - 1) / p.tile;
    atomic_init(&p.overflow, false);
    return p;
}

struct scratch {
    _Alignas(CT__ITEM_ALIGN) char total[TILE_BYTES], acc[TILE_BYTES], term[TILE_BYTES];
};

static bool zero_line(const ct_scalar *self, char *line, size_t width) {
    if (!self->from_double(self, line, 0))
        return false;
    for (size_t i = 1; i < width; i++)
        memcpy(line + i * self->size, line, self->size);
    return true;
}

/* acc = the sum over one inner block, a chain from zero. */
static bool sum_block(const struct product *p, const char *a, const char *b, size_t k, size_t width,
                      struct scratch *s) {
    ptrdiff_t size = (ptrdiff_t)p->self->size;
    if (!zero_line(p->self, s->acc, width))
        return false;
    for (size_t i = 0; i < k; i++, a += p->a_k, b += p->b_k)
        if (!ct__run_two(p->self, CT_OP_mul, width, a, p->a_next, b, p->b_next, s->term, size) ||
            !ct__run_two(p->self, CT_OP_add, width, s->acc, size, s->term, size, s->acc, size))
            return false;
    return true;
}

static bool make_tile(const struct product *p, size_t line, size_t from, struct scratch *s) {
    size_t width = p->length - from < p->tile ? p->length - from : p->tile;
    ptrdiff_t size = (ptrdiff_t)p->self->size, at = (ptrdiff_t)from;
    const char *a = p->a + (ptrdiff_t)line * p->a_line + at * p->a_next;
    const char *b = p->b + (ptrdiff_t)line * p->b_line + at * p->b_next;
    char *c = p->c + (ptrdiff_t)line * p->c_line + at * p->c_next;
    if (!zero_line(p->self, s->total, width))
        return false;
    for (size_t k = 0; k < p->k; k += INNER) {
        if (!sum_block(p, a + (ptrdiff_t)k * p->a_k, b + (ptrdiff_t)k * p->b_k,
                       p->k - k < INNER ? p->k - k : INNER, width, s))
            return false;
        if (k == 0)
            memcpy(s->total, s->acc, width * p->self->size);
        else if (!ct__run_two(p->self, CT_OP_add, width, s->total, size, s->acc, size, s->total,
                              size))
            return false;
    }
    for (size_t i = 0; i < width; i++)
        memcpy(c + (ptrdiff_t)i * p->c_next, s->total + i * p->self->size, p->self->size);
    return true;
}

static void run_tiles(void *context, size_t begin, size_t end) {
    struct product *p = context;
    struct scratch scratch;
    for (size_t i = begin; i < end; i++)
        if (!make_tile(p, i / p->tiles, i % p->tiles * p->tile, &scratch)) {
            atomic_store(&p->overflow, true);
            return;
        }
}

static ct_status run_matmul(const ct_scalar *self, const struct ct_matmul_job *job) {
    struct product p = plan(self, job);
    size_t each = (p.tile < p.length ? p.tile : p.length) * (p.k + 1); /* products of a tile */
    ct__parallel_for(p.lines * p.tiles, PARALLEL / (each + 1) + 1, run_tiles, &p);
    return atomic_load(&p.overflow) ? CT_EOVERFLOW : CT_OK;
}

ct_matmul_fn *ct__default_matmul(const ct_scalar *scalar) {
    bool able = scalar->size <= CT__DEFAULT_ITEM_BYTES && ct__primitive_loop(scalar, CT_OP_add) &&
                ct__primitive_loop(scalar, CT_OP_mul);
    return able ? run_matmul : NULL;
}
