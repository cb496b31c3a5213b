#include "dot_tools.h"

#include "ct_test.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- text in memory --- */

bool add_text(void *context, const char *bytes, size_t length) {
    struct text *t = context;
    if (t->limit && t->length + length > t->limit)
        return false;
    ck_assert_uint_gt(length, 0);
    if (t->length + length + 1 > t->room) {
        t->room = 2 * (t->length + length + 1);
        t->bytes = realloc(t->bytes, t->room);
        ck_assert_ptr_nonnull(t->bytes);
    }
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = '\0';
    return true;
}

struct text draw_tape(const ct_tape *tape, const struct ct_dot_options *options) {
    struct text t = {0};
    ck_assert_msg(ct_tape_dot(tape, options, add_text, &t) == CT_OK, "%s", ct_error()->message);
    return t;
}

struct text list_tape(const ct_tape *tape, const struct ct_dot_options *options) {
    struct text t = {0};
    ck_assert_msg(ct_tape_text_with(tape, options, add_text, &t) == CT_OK, "%s",
                  ct_error()->message);
    return t;
}

static void has_part(struct text t, const char *part) {
    ck_assert_msg(strstr(t.bytes, part) != NULL, "no\n%s\nin\n%s", part, t.bytes);
    free(t.bytes);
}

void lists(const ct_tape *tape, const struct ct_dot_options *options, const char *part) {
    has_part(list_tape(tape, options), part);
}

void draws(const ct_tape *tape, const struct ct_dot_options *options, const char *part) {
    has_part(draw_tape(tape, options), part);
}

/* Not by strstr, which under AddressSanitizer measures all of the text each time. */
size_t occurrences(const struct text *t, const char *part) {
    size_t n = 0, length = strlen(part);
    const char *at = t->bytes, *end = t->bytes + t->length;
    while (at < end && (at = memchr(at, part[0], (size_t)(end - at)))) {
        bool found = (size_t)(end - at) >= length && memcmp(at, part, length) == 0;
        n += found;
        at += found ? length : 1;
    }
    return n;
}

void text_has(const struct text *t, size_t n, const char *part) {
    size_t found = occurrences(t, part);
    ck_assert_msg(found == n, "%zu times instead of %zu: %s\nin\n%.1000s", found, n, part,
                  t->bytes);
}

/* --- Graphviz --- */

bool graphviz_is_here(void) {
    static int here = -1;
    if (here < 0)
        here = system("dot -V >/dev/null 2>&1") == 0;
    if (!here)
        ct_test_skip("Graphviz is not installed");
    return here;
}

/* What `dot -Tjson` makes of a text; a complaint of dot's fails the test. */
json_t *read_by_graphviz(const struct text *t) {
    char path[] = "/tmp/ct-dot-XXXXXX", command[128];
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, t->bytes, t->length), (ssize_t)t->length);
    close(file);
    snprintf(command, sizeof command, "dot -Tjson %s 2>%s.err", path, path);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    json_error_t error;
    json_t *root = json_loadf(pipe, 0, &error);
    int status = pclose(pipe);
    snprintf(command, sizeof command, "%s.err", path);
    FILE *complaints = fopen(command, "r");
    char line[256] = "";
    ck_assert_ptr_nonnull(complaints);
    if (!fgets(line, sizeof line, complaints))
        line[0] = '\0';
    fclose(complaints);
    unlink(command);
    unlink(path);
    ck_assert_msg(status == 0 && line[0] == '\0', "dot: %s\n%.1000s", line, t->bytes);
    ck_assert_msg(root != NULL, "dot -Tjson: %s", error.text);
    return root;
}

/* The object whose "name" is this. */
const json_t *object_named(const json_t *root, const char *name) {
    size_t i;
    json_t *object;
    json_array_foreach(json_object_get(root, "objects"), i, object) {
        if (strcmp(json_string_value(json_object_get(object, "name")), name) == 0)
            return object;
    }
    ck_abort_msg("no object %s", name);
    return NULL;
}

/* The text that is shown for an object: line by line, joined by newlines. */
void shown_text(const json_t *object, char *text, size_t size) {
    size_t i, at = 0;
    json_t *op;
    double last = 0;
    text[0] = '\0';
    json_array_foreach(json_object_get(object, "_ldraw_"), i, op) {
        if (strcmp(json_string_value(json_object_get(op, "op")), "T") != 0)
            continue;
        double y = json_number_value(json_array_get(json_object_get(op, "pt"), 1));
        const char *part = json_string_value(json_object_get(op, "text"));
        ck_assert_ptr_nonnull(part);
        bool newline = at > 0 && y != last; // pieces in two fonts share a line
        at += (size_t)snprintf(text + at, size - at, "%s%s", newline ? "\n" : "", part);
        ck_assert_uint_lt(at, size);
        last = y;
    }
}

void dot_shows(const json_t *root, const char *name, const char *want) {
    static char text[65536];
    shown_text(object_named(root, name), text, sizeof text);
    ck_assert_msg(strcmp(text, want) == 0, "%s shows\n%s\nand not\n%s", name, text, want);
}
