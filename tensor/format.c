#include "tensor/tensor_impl.h"

#include "tensor/fail.h"

#include <string.h>

// NumPy's layout: a tensor of more than MANY items shows EDGE at either end of each long axis.
enum { MANY = 1000, EDGE = 3, LINE_WIDTH = 80, ITEM_BYTES = 128 };

struct printer {
    const ct_tensor *t;
    char *text;
    size_t size, length; // the length counts on beyond the size
    size_t column;
    size_t width;   // of the longest item
    bool measuring; // the first of two passes finds the width
    bool shortened;
};

static void put(struct printer *p, char c) {
    if (p->measuring)
        return;
    if (p->length + 1 < p->size)
        p->text[p->length] = c;
    p->length++;
    p->column = c == '\n' ? 0 : p->column + 1;
}

static void put_text(struct printer *p, const char *text) {
    while (*text)
        put(p, *text++);
}

static void put_times(struct printer *p, char c, size_t times) {
    while (times-- > 0)
        put(p, c);
}

static void put_item(struct printer *p, const char *item) {
    char text[ITEM_BYTES] = "";
    p->t->scalar->format(p->t->scalar, item, text, sizeof text); // a longer text is cut
    size_t length = strlen(text);
    if (p->measuring) {
        p->width = length > p->width ? length : p->width;
        return;
    }
    put_times(p, ' ', p->width - length);
    put_text(p, text);
}

// After a comma: on with the line, or for outer axes and full lines a new one, indented to the
// depth of the bracket.
static void put_separator(struct printer *p, int axis) {
    int inner = p->t->rank - 1 - axis;
    put(p, ',');
    if (inner == 0 && p->column + p->width + 2 < LINE_WIDTH) {
        put(p, ' ');
        return;
    }
    put_times(p, '\n', inner > 0 ? (size_t)inner : 1);
    put_times(p, ' ', (size_t)axis + 1);
}

static void put_axis(struct printer *p, int axis, const char *at) {
    const ct_tensor *t = p->t;
    if (axis == t->rank) {
        put_item(p, at);
        return;
    }
    int64_t extent = t->shape[axis];
    ptrdiff_t step = t->count > 0 ? t->strides[axis] * (ptrdiff_t)t->scalar->size : 0;
    put(p, '[');
    for (int64_t i = 0; i < extent; i++) {
        if (i > 0)
            put_separator(p, axis);
        if (p->shortened && i == EDGE && extent > 2 * EDGE) {
            put_text(p, "...");
            put_separator(p, axis);
            i = extent - EDGE;
        }
        put_axis(p, axis + 1, at + i * step);
    }
    put(p, ']');
}

int ct_format(const ct_tensor *t, char *text, size_t size) {
    if (size > 0 && text)
        text[0] = '\0';
    if (!t) {
        ct__fail_null_operand(__func__);
        return -1;
    }
    struct printer p = {.t = t,
                        .text = text,
                        .size = text ? size : 0,
                        .measuring = true,
                        .shortened = t->count > MANY || t->count == 0};
    put_axis(&p, 0, ct__first(t));
    p.measuring = false;
    put_axis(&p, 0, ct__first(t));
    if (p.size > 0)
        text[p.length < size ? p.length : size - 1] = '\0';
    return (int)p.length;
}
