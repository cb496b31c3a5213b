/* LU factorisations of matrices on a tape: a solution, its pull with the transposed matrix, an inverse
   and a determinant share one. Values of nodes never change, so it holds as long as its node. */

#include "autodiff/tape_impl.h"

#include "tensor/alloc.h"
#include "tensor/fail.h"

struct entry {
    uint32_t node;
    struct ct__lu lu;
};

/* In the order of nodes. */
struct ct__factors {
    size_t length, capacity;
    struct entry *entries;
};

/* The place of the first entry of a node >= `node`. New nodes come last. */
static size_t place_of(const struct ct__factors *f, uint32_t node) {
    size_t low = 0, high = f->length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->entries[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve(struct ct__factors *f) {
    if (f->length < f->capacity)
        return true;
    size_t capacity = f->capacity ? 2 * f->capacity : 4;
    struct entry *moved = ct__realloc(f->entries, capacity * sizeof *moved);
    if (!moved)
        return false;
    f->entries = moved;
    f->capacity = capacity;
    return true;
}

const struct ct__lu *ct__lu_at(ct_tape *tape, uint32_t node) {
    static const char who[] = "ct_lu";
    if (!tape->factors)
        tape->factors = ct__alloc_zero(sizeof *tape->factors);
    struct ct__factors *f = tape->factors;
    if (!f || !reserve(f))
        return ct__fail_null(CT_ENOMEM, who, "out of memory for a factorisation");
    size_t place = place_of(f, node);
    if (place < f->length && f->entries[place].node == node)
        return &f->entries[place].lu;
    struct entry made = {.node = node};
    if (ct__lu_of(who, tape->nodes[node].value, &made.lu) != CT_OK)
        return NULL;
    for (size_t i = f->length++; i > place; i--)
        f->entries[i] = f->entries[i - 1];
    f->entries[place] = made;
    return &f->entries[place].lu;
}

void ct__drop_factors(ct_tape *tape, size_t length) {
    struct ct__factors *f = tape->factors;
    while (f && f->length > 0 && f->entries[f->length - 1].node >= length)
        ct__lu_free(&f->entries[--f->length].lu);
}

void ct__free_factors(ct_tape *tape) {
    if (!tape->factors)
        return;
    ct__drop_factors(tape, 0);
    ct__free(tape->factors->entries);
    ct__free(tape->factors);
}
