#include "tensor/scalar_text.h"

#include <string.h>

void ct__point(char *text) {
    // All else that "%g" writes is here; letters but for the exponent occur in "inf" alone.
    size_t digits = strspn(text, "+-0123456789einf");
    char *point = text + digits;
    if (*point == '\0')
        return;
    size_t width = strcspn(point, "0123456789"); // a decimal point may take several bytes
    *point = '.';
    memmove(point + 1, point + width, strlen(point + width) + 1);
}
