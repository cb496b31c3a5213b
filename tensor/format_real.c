/* The rules are those of NumPy (numpy/core/arrayprint.py, FloatingFormat, in its mode "maxprec"). */

#include "tensor/format_real.h"

#include "tensor/scalar_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- digits --- */

/* Text of `digits` significant digits as printf writes it, but with a point in any locale. */
static void scientific(double x, int digits, char *text, size_t size) {
    snprintf(text, size, "%.*e", digits - 1, x);
    ct__point(text);
}

static bool reads_back(double x, int digits, bool single) {
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, x); /* in the locale, as strtod reads it */
    return single ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x;
}

/* The digits of a finite number: +-d.ddd 10^exponent, the fewest that read back to it in its own
   precision. 0 is the digit 0. */
struct decimal {
    bool negative;
    int count, exponent;
    char digits[24];
};

static struct decimal decimal_of(double x, bool single) {
    struct decimal d = {.negative = signbit(x) != 0};
    int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG, digits = single ? FLT_DIG : DBL_DIG;
    double least = single ? (double)FLT_MIN : DBL_MIN;
    if (fabs(x) < least)
        digits = 1; /* a subnormal number has fewer digits */
    while (digits < most && !reads_back(x, digits, single))
        digits++;
    char text[64];
    scientific(fabs(x), digits, text, sizeof text);
    d.digits[d.count++] = text[0];
    const char *rest = text + (text[1] == '.' ? 2 : 1);
    while (*rest >= '0' && *rest <= '9')
        d.digits[d.count++] = *rest++;
    d.exponent = (int)strtol(rest + 1, NULL, 10);
    while (d.count > 1 && d.digits[d.count - 1] == '0')
        d.count--;
    return d;
}

static int most_of(int a, int b) {
    return a > b ? a : b;
}

static int width_of(int number) {
    int width = 1;
    for (number = abs(number); number >= 10; number /= 10)
        width++;
    return width;
}

/* --- one number, not yet in its column --- */

/* A number with at most `precision` digits after the point and at least `kept` of them, without an
   exponent. */
static void positional(double x, bool single, int precision, int kept, char *text) {
    struct decimal d = decimal_of(x, single);
    int needed = most_of(d.count - 1 - d.exponent, 0);
    if (needed > precision) {
        snprintf(text, CT__REAL_TEXT_BYTES, "%.*f", precision, x);
        ct__point(text);
        if (precision == 0)
            strcat(text, ".");
    } else {
        char *at = text;
        if (d.negative)
            *at++ = '-';
        for (int place = most_of(d.exponent, 0); place >= -most_of(needed, kept); place--) {
            int i = d.exponent - place;
            *at++ = i >= 0 && i < d.count ? d.digits[i] : '0';
            if (place == 0)
                *at++ = '.';
        }
        *at = '\0';
    }
    char *end = text + strlen(text), *point = strchr(text, '.');
    while (end > point + 1 + kept && end[-1] == '0')
        *--end = '\0';
}

/* Digits after the point of the mantissa, when at most `precision` are shown. */
static int mantissa_digits(double x, bool single, int precision) {
    struct decimal d = decimal_of(x, single);
    if (d.count - 1 <= precision)
        return d.count - 1;
    char text[CT__REAL_TEXT_BYTES];
    scientific(x, precision + 1, text, sizeof text);
    const char *end = strchr(text, 'e'), *point = strchr(text, '.');
    while (point && end[-1] == '0')
        end--;
    return point ? (int)(end - point) - 1 : 0;
}

/* The exponent as it is printed with so many digits: rounding may raise it. */
static int printed_exponent(double x, int precision) {
    char text[CT__REAL_TEXT_BYTES];
    scientific(x, precision + 1, text, sizeof text);
    return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* --- measuring --- */

void ct__real_look(struct ct__real_style *style, double x) {
    if (isnan(x)) {
        style->any_nan = true;
    } else if (isinf(x)) {
        style->any_infinity = true;
        style->any_negative_infinity = style->any_negative_infinity || x < 0;
    } else {
        double size = fabs(x);
        style->any_finite = true;
        if (size > 0 && (style->low == 0 || size < style->low))
            style->low = size;
        if (size > style->high)
            style->high = size;
    }
}

void ct__real_decide(struct ct__real_style *style) {
    double low = style->low, high = style->high, ratio = high / low;
    double tiny = style->single ? (double)0.0001f : 0.0001;
    if (style->single)
        ratio = (double)(float)ratio;
    style->scientific = high > 0 && (high >= 1e8 || low < tiny || ratio > 1000);
}

void ct__real_measure(struct ct__real_style *style, double x) {
    char text[CT__REAL_TEXT_BYTES];
    if (!isfinite(x))
        return;
    if (style->scientific) {
        int digits = mantissa_digits(x, style->single, style->precision);
        style->left = most_of(style->left, signbit(x) ? 2 : 1);
        style->right = most_of(style->right, digits);
        style->exponent_digits = most_of(
            style->exponent_digits, most_of(2, width_of(printed_exponent(x, style->precision))));
        return;
    }
    positional(x, style->single, style->precision, 0, text);
    int before = (int)(strchr(text, '.') - text), after = (int)strlen(text) - before - 1;
    style->left = most_of(style->left, before);
    style->right = most_of(style->right, after);
}

/* The columns after the point: digits, and an exponent with its letter and sign. */
static int columns_after(const struct ct__real_style *style) {
    return style->scientific ? style->right + style->exponent_digits + 2 : style->right;
}

void ct__real_finish(struct ct__real_style *style) {
    int after = columns_after(style) + 1;        /* and the point */
    if (style->any_nan || style->any_infinity) { /* both are wide where one is, as in NumPy */
        style->left = most_of(style->left, 3 - after);
        style->left = most_of(style->left, (style->any_negative_infinity ? 4 : 3) - after);
    }
}

/* --- writing --- */

static const char *odd_text(double x) {
    return isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

/* Puts so many spaces before a text. */
static void indent(char *text, int spaces) {
    if (spaces <= 0)
        return;
    memmove(text + spaces, text, strlen(text) + 1);
    memset(text, ' ', (size_t)spaces);
}

/* Pads the exponent of a text like 1.5e+07, which has two digits at least, with zeros. */
static void widen_exponent(char *text, int digits) {
    char *exponent = strchr(text, 'e') + 2;
    int missing = digits - (int)strlen(exponent);
    if (missing > 0) {
        memmove(exponent + missing, exponent, strlen(exponent) + 1);
        memset(exponent, '0', (size_t)missing);
    }
}

void ct__real_put(const struct ct__real_style *style, double x, char text[CT__REAL_TEXT_BYTES]) {
    if (!isfinite(x)) {
        strcpy(text, odd_text(x));
        indent(text, style->left + 1 + columns_after(style) - (int)strlen(text));
    } else if (style->scientific) {
        scientific(x, style->right + 1, text, CT__REAL_TEXT_BYTES);
        if (style->right == 0) { /* 1.e+20 */
            char *letter = strchr(text, 'e');
            memmove(letter + 1, letter, strlen(letter) + 1);
            *letter = '.';
        }
        widen_exponent(text, style->exponent_digits);
        indent(text, style->left - (signbit(x) ? 2 : 1));
    } else {
        positional(x, style->single, style->precision, 0, text);
        int before = (int)(strchr(text, '.') - text);
        indent(text, style->left - before);
        size_t length = strlen(text), wanted = (size_t)(style->left + 1 + style->right);
        while (length < wanted)
            text[length++] = ' ';
        text[length] = '\0';
    }
}

void ct__real_alone(double x, bool single, char text[CT__REAL_TEXT_BYTES]) {
    if (!isfinite(x)) {
        strcpy(text, odd_text(x));
        return;
    }
    struct decimal d = decimal_of(x, single);
    double size = fabs(x);
    if (size == 0 || (size >= 1e-4 && size < 1e16)) {
        positional(x, single, 40, 1, text);
        return;
    }
    scientific(x, d.count, text, CT__REAL_TEXT_BYTES);
}
