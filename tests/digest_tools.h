/* Digests of results: lines "what it is of, the digest", computed in a process of its own for each
   instruction set and number of threads, and compared with a file in the tree. CT_GOLDEN_WRITE=1
   rewrites the file, from the scalar kernels and one thread. */
#ifndef CT_DIGEST_TOOLS_H
#define CT_DIGEST_TOOLS_H

#include <stddef.h>

struct lines;

/* A line of a key, without blanks at its end, and a digest of at most 64 digits. */
void add_digest(struct lines *lines, const char *digest, const char *key, ...)
    __attribute__((format(printf, 3, 4)));

extern const char *const digest_isas[];
enum { DIGEST_ISAS = 3 };

/* Test fails where the lines that `compute` makes under these settings are not those of the file; it
   is skipped where the machine has no such instruction set. `suite` is named in the advice. */
void check_digests(const char *suite, const char *path, void (*compute)(struct lines *lines),
                   const char *isa, const char *threads);

#endif
