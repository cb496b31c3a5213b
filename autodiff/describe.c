/* Operands and scopes as text, for messages. */

#include "autodiff/tape_impl.h"

#include "tensor/fail.h"

#include <stdio.h>
#include <string.h>

void ct__describe_operands(char *text, size_t size, int n, const ct_tensor *const in[]) {
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < n && at < size; i++) {
        char shape[CT__SHAPE_TEXT_BYTES];
        const char *joint = i ? ", " : "";
        int length;
        if (in[i]) {
            ct__format_shape(shape, sizeof shape, ct_rank(in[i]), ct_shape(in[i]));
            length = snprintf(text + at, size - at, "%s%s%s", joint, ct_dtype(in[i])->name, shape);
        } else
            length = snprintf(text + at, size - at, "%s(released)", joint);
        at += length > 0 ? (size_t)length : 0;
    }
}

void ct__describe_scope(const ct_tape *tape, uint32_t scope, char text[CT__SCOPE_BYTES]) {
    text[0] = '\0';
    for (uint32_t s = scope; s != CT__NO_NODE; s = tape->scopes[s].parent) {
        char inner[CT__SCOPE_BYTES];
        memcpy(inner, text, sizeof inner);
        int length = snprintf(text, CT__SCOPE_BYTES, "%s%s%s", tape->text + tape->scopes[s].name,
                              inner[0] ? "/" : "", inner);
        if (length >= CT__SCOPE_BYTES)
            return; /* cut: the outermost names are the less telling ones */
    }
}
