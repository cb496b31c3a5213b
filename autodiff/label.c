#include "autodiff/label.h"

#include "tensor/ct_names.h"
#include "tensor/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the sink --- */

static void pass_on(struct ct__sink *s, const char *text, size_t length) {
    if (s->stopped || length == 0)
        return;
    if (s->write(s->context, text, length))
        s->passed += length;
    else
        s->stopped = true;
}

static void put_bytes(struct ct__sink *s, const char *text, size_t length) {
    if (length > sizeof s->buffer - s->used) {
        pass_on(s, s->buffer, s->used);
        s->used = 0;
    }
    if (length > sizeof s->buffer) {
        pass_on(s, text, length);
        return;
    }
    memcpy(s->buffer + s->used, text, length);
    s->used += length;
}

void ct__put(struct ct__sink *s, const char *text) {
    put_bytes(s, text, strlen(text));
}

void ct__put_number(struct ct__sink *s, int64_t number) {
    char text[24];
    int length = snprintf(text, sizeof text, "%" PRId64, number);
    put_bytes(s, text, (size_t)length);
}

ct_status ct__sink_end(struct ct__sink *s, const char *who) {
    pass_on(s, s->buffer, s->used);
    s->used = 0;
    if (!s->stopped)
        return CT_OK;
    return ct__fail(CT_EIO, who, "the writer stopped after %zu bytes", s->passed);
}

/* --- escapes --- */

/* The length of the UTF-8 sequence at s and its code point; 0 when it is broken: cut short, longer
   than needed, a surrogate or beyond U+10FFFF (RFC 3629, section 4). */
static size_t decode(const unsigned char *s, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80       ? 1
                    : s[0] >> 5 == 6  ? 2
                    : s[0] >> 4 == 14 ? 3
                    : s[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0)
        return 0;
    uint32_t c = length == 1 ? s[0] : s[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2) // the zero byte at the end of the text too
            return 0;
        c = c << 6 | (s[i] & 0x3FU);
    }
    if (c < least[length] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF)
        return 0;
    *code = c;
    return length;
}

static bool is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/* XML has no way to write a control character, so a reader is shown its picture. */
static void put_picture(struct ct__sink *s, uint32_t c) {
    uint32_t picture = c < 0x20 ? 0x2400 + c : c == 0x7F ? 0x2421 : 0xFFFD;
    char utf8[3] = {(char)(0xE0 | picture >> 12), (char)(0x80 | (picture >> 6 & 0x3F)),
                    (char)(0x80 | (picture & 0x3F))};
    put_bytes(s, utf8, sizeof utf8);
}

/* What stands for a character in Graphviz's labels. A backslash is doubled in both kinds, since
   both expand \N and its like; `&` begins an entity in both. */
static const char *dot_escape(enum ct__language language, uint32_t c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '\\':
        return "\\\\";
    case '\n':
        return language == CT__HTML ? "<BR/>" : "\\n";
    case '\t': // which Graphviz drops from its HTML-like labels
        return language == CT__HTML ? NULL : "\t";
    case '"':
        return language == CT__HTML ? "&quot;" : "\\\"";
    case '<':
        return language == CT__HTML ? "&lt;" : NULL;
    case '>':
        return language == CT__HTML ? "&gt;" : NULL;
    default:
        return NULL;
    }
}

static const char *listing_escape(uint32_t c) {
    switch (c) {
    case '\\':
        return "\\\\";
    case '"':
        return "\\\"";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static void put_byte_escape(struct ct__sink *s, unsigned char byte) {
    char text[8];
    int length = snprintf(text, sizeof text, "\\x%02x", byte);
    put_bytes(s, text, (size_t)length);
}

/* Broken UTF-8 and what has no glyph. */
static void put_unprintable(struct ct__sink *s, enum ct__language language, const char *bytes,
                            size_t length, uint32_t c) {
    if (language != CT__LISTING) {
        put_picture(s, c);
        return;
    }
    for (size_t i = 0; i < length; i++)
        put_byte_escape(s, (unsigned char)bytes[i]);
}

/* Graphviz reads a text in pieces of at most 16,383 bytes, and lays out no more than 65,535 points. A quoted
   string goes on after a `+`; in an HTML-like label a comment is no text. */
enum { PIECE = 4096 };

static void put_pause(struct ct__sink *s, enum ct__language language, bool new_line) {
    if (language == CT__HTML)
        ct__put(s, new_line ? "<BR/>" : "<!-- -->");
    else if (language == CT__QUOTED)
        ct__put(s, new_line ? "\\n\" + \"" : "\" + \"");
}

void ct__put_text(struct ct__sink *s, enum ct__language language, const char *text) {
    for (const char *piece = text, *line = text; *text;) {
        if (text - piece >= PIECE) {
            bool long_line = text - line >= PIECE;
            put_pause(s, language, long_line);
            piece = text;
            line = long_line ? text : line;
        }
        line = *text == '\n' ? text + 1 : line;
        uint32_t c = 0xFFFD;
        size_t length = decode((const unsigned char *)text, &c);
        if (length == 0) {
            put_unprintable(s, language, text++, 1, 0xFFFD);
            continue;
        }
        const char *escape = language == CT__LISTING ? listing_escape(c) : dot_escape(language, c);
        if (escape)
            ct__put(s, escape);
        else if (is_control(c) || c == 0xFFFE || c == 0xFFFF)
            put_unprintable(s, language, text, length, c);
        else
            put_bytes(s, text, length);
        text += length;
    }
}

/* --- parts of a node --- */

static void put_shape(struct ct__sink *s, enum ct__language language, const ct_tensor *value) {
    ct__put(s, "[");
    for (int i = 0; i < ct_rank(value); i++) {
        const char *name = ct_axis_name(value, i);
        ct__put(s, i ? ", " : "");
        if (name) {
            ct__put_text(s, language, name);
            ct__put(s, "=");
        }
        ct__put_number(s, ct_shape(value)[i]);
    }
    ct__put(s, "]");
}

void ct__put_type(struct ct__sink *s, enum ct__language language, const ct_tensor *value,
                  bool dtype, bool shape) {
    if (!value) {
        ct__put(s, "released");
        return;
    }
    if (dtype)
        ct__put(s, ct_dtype(value)->name);
    if (shape)
        put_shape(s, language, value);
}

void ct__put_item(struct ct__sink *s, enum ct__language language, const ct_tensor *value) {
    char text[128];
    const ct_scalar *scalar = ct_dtype(value);
    scalar->format(scalar, ct_data(value), text, sizeof text);
    ct__put_text(s, language, text);
}

void ct__put_call(struct ct__sink *s, enum ct__language language, const ct_tape *tape,
                  const struct ct__node *node) {
    if (node->kind != CT__NODE_OP) {
        ct__put(s, node->kind == CT__NODE_LEAF ? "leaf" : "constant");
        return;
    }
    const uint32_t *inputs = ct__inputs(tape, node);
    ct__put_text(s, language, ct__op_title(tape, node));
    ct__put(s, "(");
    for (int i = 0; i < node->inputs; i++) {
        if (i > 0)
            ct__put(s, ", ");
        ct__put_number(s, inputs[i]);
    }
    ct__put(s, ")");
}

bool ct__is_number(const struct ct__node *node) {
    return node->kind == CT__NODE_CONSTANT && node->value && ct_rank(node->value) == 0;
}
