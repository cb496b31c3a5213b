/* The picture of a tape: Graphviz's text, and what its program `dot` makes of it. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "autodiff/ct_dot.h"

/* Writes the tape to a file, whole or not at all. */
ct_status picture_write(const ct_tape *tape, const struct ct_dot_options *options,
                        const char *path);

/* Writes the tape to standard output. */
ct_status picture_print(const ct_tape *tape, const struct ct_dot_options *options);

/* Writes the tape to standard output as text, a line per node. */
ct_status picture_print_text(const ct_tape *tape, const struct ct_dot_options *options);

/* How drawing ended. */
enum drawing { DRAWN, NO_DOT, NOT_DRAWN /* with ct_error() */ };

/* Runs `dot -Tsvg` on a file; its output replaces the other whole or not at all. */
enum drawing picture_draw(const char *dot_path, const char *svg_path);

#endif
