/* A picture in the making, shared by the files that write it. */
#ifndef CT_DOT_IMPL_H
#define CT_DOT_IMPL_H

#include "autodiff/label.h"

enum ct__side { CT__NOWHERE, CT__FORWARD, CT__BACKWARD, CT__SIDES };

/* What is drawn of a folded scope on one side. */
struct ct__folded {
    uint32_t nodes;       /* how many stand in it */
    uint32_t first, last; /* of them */
    uint32_t troubled;    /* the first that is not finite, or CT__NO_NODE */
};

/* Scopes that are drawn as one node each. */
struct ct__folds {
    uint32_t *
        as; /* per scope: the outermost one around it that is, or CT__NO_NODE; NULL for none at all */
    struct ct__folded *sides; /* per scope and side */
};

/* Pairs of ends between which there is an edge, where one is a folded scope. */
struct ct__pairs {
    uint64_t *slots; /* pairs of words; an empty one is two words of ones */
    size_t count, capacity;
};

/* What stands at an end of an edge: a node, or a folded scope on a side, as one number. */
typedef uint64_t ct__end;

/* How a node stands to what is not finite. */
enum ct__trouble {
    CT__SOUND,
    CT__LEADS,  /* finite, an operand of the first op whose result is not */
    CT__GIVEN,  /* an input that is not finite */
    CT__ARISES, /* not finite, of operands that are */
    CT__SPREADS /* not finite, of an operand that is not */
};

struct ct__drawing {
    struct ct__sink sink;
    const ct_tape *tape;
    struct ct_dot_options options;
    size_t limit; /* nodes from here on are left out */
    /* Where the pen is: in which cluster, and in which scope in it. */
    enum ct__side side;
    uint32_t scope;
    /* Per scope: room for a path from the outermost one, and bit `side` when it has its label. */
    uint32_t *path;
    uint8_t *labelled;
    struct ct__folds folds;
    struct ct__pairs pairs;
    uint8_t *
        beside; /* per node; whether it is a backward op of forward values alone; NULL without a backward pass */
    uint8_t *trouble;   /* per node; NULL where all are sound */
    size_t first_fault; /* the first node that is not finite */
    bool out_of_memory;
};

/* Whether a node is drawn inside its users' labels. */
bool ct__is_inlined(const struct ct__drawing *d, const struct ct__node *node);
/* What stands between the brackets of a node, and of a folded scope. */
void ct__put_attributes(struct ct__drawing *d, size_t index);
void ct__put_folded(struct ct__drawing *d, uint32_t scope, enum ct__side side);

/* --- dot_folds.c --- */

static inline enum ct__side ct__side_of(const struct ct__node *node) {
    return node->backward ? CT__BACKWARD : CT__FORWARD;
}
/* The scope in which a node is drawn: a backward node outside all scopes joins those of the op whose
   pull recorded it. */
uint32_t ct__scope_of(const ct_tape *tape, const struct ct__node *node);
/* Decides which scopes are folded, by the options; false without memory. */
bool ct__plan_folds(struct ct__drawing *d);
/* The folded scope that a node is drawn as, or CT__NO_NODE. */
uint32_t ct__fold_of(const struct ct__drawing *d, const struct ct__node *node);
static inline const struct ct__folded *ct__folded(const struct ct__drawing *d, uint32_t scope,
                                                  enum ct__side side) {
    return &d->folds.sides[(size_t)scope * CT__SIDES + side];
}
ct__end ct__end_of(const struct ct__drawing *d, size_t index);
/* `n12` or `f3`, `b3`. */
void ct__put_end(struct ct__sink *s, ct__end end);
/* Whether an edge is to be drawn: not within a folded scope, and of parallel ones from or to such a scope the
   first. */
bool ct__is_new_edge(struct ct__drawing *d, ct__end tail, ct__end head);

/* --- dot_trouble.c --- */

/* Marks what is not finite; false without memory. */
bool ct__find_trouble(struct ct__drawing *d);
static inline enum ct__trouble ct__trouble_at(const struct ct__drawing *d, size_t index) {
    return d->trouble ? (enum ct__trouble)d->trouble[index] : CT__SOUND;
}
static inline bool ct__at_fault(enum ct__trouble trouble) {
    return trouble >= CT__GIVEN;
}
/* The attributes of an edge along which it spreads, or to where it arose; "" for others. */
const char *ct__edge_trouble(const struct ct__drawing *d, size_t from, size_t to);
/* The note that says where the first fault is. */
void ct__put_trouble_note(struct ct__drawing *d);

#endif
