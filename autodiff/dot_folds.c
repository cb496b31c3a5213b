/* Scopes that are drawn as one node. */

#include "autodiff/dot_impl.h"

#include "tensor/alloc.h"

#include <string.h>

uint32_t ct__scope_of(const ct_tape *tape, const struct ct__node *node) {
    bool follow = node->backward && node->scope == CT__NO_NODE && node->primal < tape->length;
    return follow ? tape->nodes[node->primal].scope : node->scope;
}

uint32_t ct__fold_of(const struct ct__drawing *d, const struct ct__node *node) {
    uint32_t scope = d->folds.as ? ct__scope_of(d->tape, node) : CT__NO_NODE;
    return scope == CT__NO_NODE ? CT__NO_NODE : d->folds.as[scope];
}

/* --- the plan --- */

static bool has_folded_name(const struct ct__drawing *d, uint32_t scope) {
    const char *name = d->tape->text + d->tape->scopes[scope].name;
    for (size_t i = 0; i < d->options.fold_count; i++)
        if (d->options.fold_names[i] && strcmp(name, d->options.fold_names[i]) == 0)
            return true;
    return false;
}

/* A parent was opened before its scopes, so one pass tells depths and folds; `depth` is scratch. */
static void choose(struct ct__drawing *d, uint32_t *depth) {
    const struct ct__scope *scopes = d->tape->scopes;
    for (uint32_t i = 0; i < d->tape->scope_length; i++) {
        uint32_t parent = scopes[i].parent, around = CT__NO_NODE;
        depth[i] = 1;
        if (parent != CT__NO_NODE) {
            depth[i] = depth[parent] + 1;
            around = d->folds.as[parent];
        }
        bool folds = depth[i] == (uint32_t)d->options.fold_depth || has_folded_name(d, i);
        d->folds.as[i] = around != CT__NO_NODE ? around : folds ? i : CT__NO_NODE;
    }
}

static void count_nodes(struct ct__drawing *d) {
    for (size_t i = 0; i < d->tape->length; i++) {
        const struct ct__node *node = &d->tape->nodes[i];
        uint32_t scope = ct__fold_of(d, node);
        if (scope == CT__NO_NODE || ct__is_inlined(d, node))
            continue;
        struct ct__folded *f = &d->folds.sides[(size_t)scope * CT__SIDES + ct__side_of(node)];
        if (f->nodes++ == 0) {
            f->first = (uint32_t)i;
            f->troubled = CT__NO_NODE;
        }
        f->last = (uint32_t)i;
        if (f->troubled == CT__NO_NODE && ct__at_fault(ct__trouble_at(d, i)))
            f->troubled = (uint32_t)i;
    }
}

bool ct__plan_folds(struct ct__drawing *d) {
    size_t scopes = d->tape->scope_length;
    if (scopes == 0 || (d->options.fold_depth <= 0 && d->options.fold_count == 0))
        return true;
    d->folds.as = ct__alloc(scopes * sizeof *d->folds.as);
    d->folds.sides = ct__alloc_zero(scopes * CT__SIDES * sizeof *d->folds.sides);
    if (!d->folds.as || !d->folds.sides)
        return false;
    choose(d, d->path);
    count_nodes(d);
    return true;
}

/* --- ends of edges --- */

#define FOLD ((ct__end)1 << 40)

ct__end ct__end_of(const struct ct__drawing *d, size_t index) {
    const struct ct__node *node = &d->tape->nodes[index];
    uint32_t scope = ct__fold_of(d, node);
    return scope == CT__NO_NODE ? (ct__end)index
                                : FOLD | (ct__end)ct__side_of(node) << 32 | (ct__end)scope;
}

static bool is_fold(ct__end end) {
    return (end & FOLD) != 0;
}

void ct__put_end(struct ct__sink *s, ct__end end) {
    bool backward = (end >> 32 & 3) == CT__BACKWARD;
    ct__put(s, !is_fold(end) ? "n" : backward ? "b" : "f");
    ct__put_number(s, (int64_t)(end & UINT32_MAX));
}

/* --- edges that are drawn already --- */

/* Knuth's multiplicative hash. */
static size_t slot_of(const struct ct__pairs *p, ct__end tail, ct__end head) {
    uint64_t mixed = (tail * UINT64_C(0x9E3779B97F4A7C15)) ^ head;
    return (size_t)((mixed * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (p->capacity - 1);
}

/* Whether the pair was not among them; there is room. */
static bool insert(struct ct__pairs *p, ct__end tail, ct__end head) {
    size_t i = slot_of(p, tail, head);
    for (;; i = (i + 1) & (p->capacity - 1)) {
        uint64_t *slot = &p->slots[2 * i];
        if (slot[0] == tail && slot[1] == head)
            return false;
        if (slot[0] != UINT64_MAX)
            continue;
        slot[0] = tail;
        slot[1] = head;
        p->count++;
        return true;
    }
}

/* Keeps half of the slots free. */
static bool make_room(struct ct__pairs *p) {
    enum { FEW = 64 };
    if (2 * (p->count + 1) <= p->capacity)
        return true;
    struct ct__pairs larger = {.capacity = p->capacity ? 2 * p->capacity : FEW};
    if (larger.capacity > SIZE_MAX / (2 * sizeof *p->slots))
        return false;
    larger.slots = ct__alloc(larger.capacity * 2 * sizeof *p->slots);
    if (!larger.slots)
        return false;
    memset(larger.slots, 0xff, larger.capacity * 2 * sizeof *p->slots);
    for (size_t i = 0; i < p->capacity; i++)
        if (p->slots[2 * i] != UINT64_MAX)
            insert(&larger, p->slots[2 * i], p->slots[2 * i + 1]);
    ct__free(p->slots);
    *p = larger;
    return true;
}

bool ct__is_new_edge(struct ct__drawing *d, ct__end tail, ct__end head) {
    if (!is_fold(tail) && !is_fold(head))
        return true;
    if (tail == head)
        return false;
    if (!make_room(&d->pairs)) {
        d->out_of_memory = true;
        return false;
    }
    return insert(&d->pairs, tail, head);
}
