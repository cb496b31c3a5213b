/* Pictures in memory, and what Graphviz reads in them. */
#ifndef CT_DOT_TOOLS_H
#define CT_DOT_TOOLS_H

#include "autodiff/ct_dot.h"

#include <jansson.h>

struct text {
    char *bytes;
    size_t length, room;
    size_t limit; /* stops the writer beyond; 0: none */
};

/* A ct_write_fn into a struct text. */
bool add_text(void *context, const char *bytes, size_t length);
/* The picture of a tape; its bytes are the caller's. */
struct text draw_tape(const ct_tape *tape, const struct ct_dot_options *options);
/* The listing with options; its bytes are the caller's. */
struct text list_tape(const ct_tape *tape, const struct ct_dot_options *options);
/* Fails unless a part stands in the listing. */
void lists(const ct_tape *tape, const struct ct_dot_options *options, const char *part);
/* Fails unless a part stands in the picture. */
void draws(const ct_tape *tape, const struct ct_dot_options *options, const char *part);
size_t occurrences(const struct text *t, const char *part);
/* Fails unless a part stands so many times in the text. */
void text_has(const struct text *t, size_t n, const char *part);

/* Whether `dot` can be run; says so once and counts a skip where it cannot. */
bool graphviz_is_here(void);
/* What `dot -Tjson` makes of a text; a complaint of dot's fails the test. */
json_t *read_by_graphviz(const struct text *t);
/* The object whose "name" is this. */
const json_t *object_named(const json_t *root, const char *name);
/* The text that is shown for an object: line by line, joined by newlines. */
void shown_text(const json_t *object, char *text, size_t size);
/* Fails unless the object of this name shows this text. */
void dot_shows(const json_t *root, const char *name, const char *want);

#endif
