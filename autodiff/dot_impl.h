/* A picture in the making, shared by the files that write it. */
#ifndef CT_DOT_IMPL_H
#define CT_DOT_IMPL_H

#include "autodiff/label.h"

enum ct__side { CT__NOWHERE, CT__FORWARD, CT__BACKWARD };

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
};

/* Whether a node is drawn inside its users' labels. */
bool ct__is_folded(const struct ct__drawing *d, const struct ct__node *node);
/* What stands between the brackets of a node. */
void ct__put_attributes(struct ct__drawing *d, size_t index);

#endif
