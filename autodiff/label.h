/* Text on its way to a ct_write_fn, escaped for the language in which it is written. */
#ifndef CT_LABEL_H
#define CT_LABEL_H

#include "autodiff/ct_dot.h"
#include "autodiff/tape_impl.h"
#include "autodiff/values.h"

/* Gathers small pieces, so that a writer is not called for each of them. */
struct ct__sink {
    ct_write_fn *write;
    void *context;
    bool stopped;
    size_t passed; /* bytes given to the writer */
    size_t used;
    char buffer[4096];
};

void ct__put(struct ct__sink *s, const char *text);
void ct__put_number(struct ct__sink *s, int64_t number);
/* Passes on what is left; CT_EIO in the name of `who` when the writer ever said stop. */
ct_status ct__sink_end(struct ct__sink *s, const char *who);

/* What a text is written into. */
enum ct__language {
    CT__HTML,   /* an HTML-like label: <...> */
    CT__QUOTED, /* a quoted string whose \N, \G, ... Graphviz would expand */
    CT__LISTING /* a quoted string as C writes it */
};
/* Writes any bytes so that the reader of the language shows them; what it cannot show (control
   characters, broken UTF-8) becomes a picture of it (U+2400...), U+FFFD or an escape. Of any length;
   Graphviz gets a line of more than 4,096 bytes in several. */
void ct__put_text(struct ct__sink *s, enum ct__language language, const char *text);

/* `f32[batch=32, 64]`; NULL is a value that was released. */
void ct__put_type(struct ct__sink *s, enum ct__language language, const ct_tensor *value,
                  bool dtype, bool shape);
/* The only item of a rank-0 value, independent of the locale. */
void ct__put_item(struct ct__sink *s, enum ct__language language, const ct_tensor *value);
/* `add(10, 11)`, `leaf` or `constant`. */
void ct__put_call(struct ct__sink *s, enum ct__language language, const ct_tape *tape,
                  const struct ct__node *node);

/* --- label_parts.c; none of these asks the locale --- */

/* A number in at most four digits; whole ones below 10^7 in all of theirs. */
void ct__put_short(struct ct__sink *s, double x);
/* `-0.98 to 0.99, mean 0.01, 12% zeros`, `all 1` or `= 2.5`, with `joint` for the first comma; false, and
   nothing, where no item is finite. */
bool ct__put_summary(struct ct__sink *s, enum ct__language language, const struct ct__summary *v,
                     const char *joint);
/* `-0.98 to 0.99`, `all 1` or `= 2.5`: of a value with a finite item. */
void ct__put_range(struct ct__sink *s, const struct ct__summary *v);
/* `3 nan, 1 infinite of 64`: of a value with an item that is not finite. */
void ct__put_trouble(struct ct__sink *s, const struct ct__summary *v);
/* `axis 1`, `relu`, ...: what an op was told besides its operands and does not show in its shape, after
   the text `before`; false, and nothing, where there is no such thing. */
bool ct__put_attribute(struct ct__sink *s, const char *before, const ct_tape *tape,
                       const struct ct__node *node);

bool ct__is_number(const struct ct__node *node); /* a rank-0 constant whose value is there */

#endif
