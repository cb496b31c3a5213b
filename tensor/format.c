/* Tensors as text, laid out as NumPy's array2string does with the separator ", ". */

#include "tensor/ct_format.h"

#include "tensor/fail.h"
#include "tensor/format_real.h"
#include "tensor/options.h"
#include "tensor/tensor_impl.h"

#include <inttypes.h>
#include <string.h>

enum { ITEM_BYTES = CT__REAL_TEXT_BYTES };

struct printer {
    const ct_tensor *t;
    struct ct_format_options options;
    bool summarised;
    char *text;
    size_t size, length; /* the length counts on beyond the size */
    int column;          /* characters on the line so far */
    int width;           /* of the longest item that is not a real number */
    struct ct__real_style style;
};

/* --- characters --- */

static void put(struct printer *p, char c) {
    if (p->length + 1 < p->size)
        p->text[p->length] = c;
    p->length++;
    if (c == '\n')
        p->column = 0;
    else if ((c & 0xC0) != 0x80) /* not the middle of a character in UTF-8 */
        p->column++;
}

static void put_text(struct printer *p, const char *text) {
    while (*text)
        put(p, *text++);
}

static void put_times(struct printer *p, char c, int times) {
    while (times-- > 0)
        put(p, c);
}

static int characters(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += (*text & 0xC0) != 0x80;
    return count;
}

/* --- items --- */

static bool is_real(const ct_scalar *scalar) {
    return scalar == CT_F32 || scalar == CT_F64;
}

/* The text of an item in its column. */
static void item_text(const struct printer *p, const char *item, char text[ITEM_BYTES]) {
    const ct_scalar *scalar = p->t->scalar;
    if (is_real(scalar)) {
        ct__real_put(&p->style, scalar->to_double(scalar, item), text);
    } else if (scalar->traits & CT_BOOLEAN) {
        bool alone = p->t->rank == 0;
        strcpy(text, scalar->to_double(scalar, item) != 0 ? (alone ? "True" : " True") : "False");
    } else {
        text[0] = '\0';
        scalar->format(scalar, item, text, ITEM_BYTES); /* a longer text is cut */
        size_t length = strlen(text), room = ITEM_BYTES - 1 - length;
        int missing = p->width - characters(text);
        size_t spaces = missing > 0 ? (size_t)missing : 0;
        spaces = spaces < room ? spaces : room;
        memmove(text + spaces, text, length + 1);
        memset(text, ' ', spaces);
    }
}

typedef void visit_fn(struct printer *p, const char *item);

/* Visits the items that are shown. */
static void visit_axis(struct printer *p, int axis, const char *at, visit_fn *visit) {
    const ct_tensor *t = p->t;
    if (axis == t->rank) {
        visit(p, at);
        return;
    }
    int64_t extent = t->shape[axis], edge = p->options.edge_items;
    ptrdiff_t step = (ptrdiff_t)t->strides[axis] * (ptrdiff_t)t->scalar->size;
    for (int64_t i = 0; i < extent; i++) {
        if (p->summarised && i == edge && extent > 2 * edge)
            i = extent - edge;
        visit_axis(p, axis + 1, at + i * step, visit);
    }
}

static void look_at_real(struct printer *p, const char *item) {
    ct__real_look(&p->style, p->t->scalar->to_double(p->t->scalar, item));
}

static void measure_real(struct printer *p, const char *item) {
    ct__real_measure(&p->style, p->t->scalar->to_double(p->t->scalar, item));
}

static void measure_other(struct printer *p, const char *item) {
    char text[ITEM_BYTES];
    item_text(p, item, text); /* not padded while the width is 0 */
    int width = characters(text);
    p->width = width > p->width ? width : p->width;
}

/* Finds how all items are to be written. */
static void measure(struct printer *p, const char *first) {
    if (!is_real(p->t->scalar)) {
        visit_axis(p, 0, first, measure_other);
        return;
    }
    p->style.precision = p->options.precision;
    p->style.single = p->t->scalar == CT_F32;
    visit_axis(p, 0, first, look_at_real);
    ct__real_decide(&p->style);
    visit_axis(p, 0, first, measure_real);
    ct__real_finish(&p->style);
}

/* --- lines --- */

/* A word on the last axis, after a comma but for the first: on a new line, indented to the depth of
   the bracket, where it would not fit on this one. */
static void put_word(struct printer *p, const char *word, bool first) {
    int depth = p->t->rank, most = p->options.line_width - depth;
    if (first) {
        put_text(p, word);
        return;
    }
    put(p, ',');
    if (p->column + 1 + characters(word) > most) {
        put(p, '\n');
        put_times(p, ' ', depth);
    } else {
        put(p, ' ');
    }
    put_text(p, word);
}

/* After an inner bracket: the next one begins on a new line, after blank lines for outer axes. */
static void put_break(struct printer *p, int axis) {
    put(p, ',');
    put_times(p, '\n', p->t->rank - 1 - axis);
    put_times(p, ' ', axis + 1);
}

static void put_axis(struct printer *p, int axis, const char *at) {
    const ct_tensor *t = p->t;
    bool last = axis == t->rank - 1;
    int64_t extent = t->shape[axis], edge = p->options.edge_items;
    ptrdiff_t step = (ptrdiff_t)t->strides[axis] * (ptrdiff_t)t->scalar->size;
    char word[ITEM_BYTES];
    put(p, '[');
    for (int64_t i = 0; i < extent; i++) {
        bool cut = p->summarised && i == edge && extent > 2 * edge;
        if (cut && last)
            put_word(p, "...", false);
        if (i > 0 && !last)
            put_break(p, axis);
        if (cut && !last) {
            put_text(p, "...");
            put_break(p, axis);
        }
        if (cut)
            i = extent - edge;
        if (last) {
            item_text(p, at + i * step, word);
            put_word(p, word, i == 0);
        } else {
            put_axis(p, axis + 1, at + i * step);
        }
    }
    put(p, ']');
}

static void put_scalar(struct printer *p, const char *item) {
    char text[ITEM_BYTES];
    const ct_scalar *scalar = p->t->scalar;
    if (is_real(scalar))
        ct__real_alone(scalar->to_double(scalar, item), scalar == CT_F32, text);
    else
        item_text(p, item, text);
    put_text(p, text);
}

/* --- the whole --- */

struct ct_format_options ct_format_options_init(void) {
    return (struct ct_format_options){.size = sizeof(struct ct_format_options),
                                      .precision = 8,
                                      .threshold = 1000,
                                      .edge_items = 3,
                                      .line_width = 75};
}

/* Takes over the options that the caller knows of. */
static ct_status read_options(const char *who, const struct ct_format_options *given,
                              struct ct_format_options *options) {
    enum { MOST_DIGITS = 40 };
    *options = ct_format_options_init();
    ct_status status =
        ct__take_options(who, "ct_format_options_init", options, sizeof *options, given);
    if (status)
        return status;
    if (options->precision < 0 || options->precision > MOST_DIGITS)
        return ct__fail(CT_EINVAL, who, "the precision %d is not in the range 0 to %d",
                        options->precision, MOST_DIGITS);
    if (options->threshold < 0)
        return ct__fail(CT_EINVAL, who, "the threshold %" PRId64 " is negative",
                        options->threshold);
    if (options->edge_items <= 0 || options->line_width <= 0)
        return ct__fail(CT_EINVAL, who, "the %s %d is not positive",
                        options->edge_items <= 0 ? "number of edge items" : "line width",
                        options->edge_items <= 0 ? options->edge_items : options->line_width);
    return CT_OK;
}

static int format(const char *who, const ct_tensor *t, const struct ct_format_options *options,
                  char *text, size_t size) {
    if (size > 0 && text)
        text[0] = '\0';
    struct printer p = {.t = t, .text = text, .size = text ? size : 0};
    if (!t) {
        ct__fail_null_operand(who);
        return -1;
    }
    if (read_options(who, options, &p.options))
        return -1;
    p.summarised = t->count > (size_t)p.options.threshold;
    if (t->count == 0) {
        put_text(&p, "[]");
    } else if (t->rank == 0) {
        put_scalar(&p, ct__first(t));
    } else {
        measure(&p, ct__first(t));
        put_axis(&p, 0, ct__first(t));
    }
    if (p.size > 0)
        text[p.length < size ? p.length : size - 1] = '\0';
    return (int)p.length;
}

int ct_format(const ct_tensor *t, char *text, size_t size) {
    return format(__func__, t, NULL, text, size);
}

int ct_format_with(const ct_tensor *t, const struct ct_format_options *options, char *text,
                   size_t size) {
    return format(__func__, t, options, text, size);
}
