/* Rounding and text of fixed-point numbers. */

#include "fixed/fixed_impl.h"

ct__i128 ct__fixed_nearest(ct__i128 x, int bits) {
    ct__i128 floor = x >> bits, half = (ct__i128)1 << (bits - 1);
    ct__i128 rest = x - floor * ((ct__i128)1 << bits);
    return floor + (rest > half || (rest == half && floor & 1));
}

bool ct__fixed_fits(ct__i128 units, int64_t *y) {
    if (units < INT64_MIN || units > INT64_MAX)
        return false;
    *y = (int64_t)units;
    return true;
}

bool ct__fixed_narrow(ct__i128 x, int bits, int64_t *y) {
    return ct__fixed_fits(ct__fixed_nearest(x, bits), y);
}

/* --- text to number --- */

enum { PLACES = 33 /* decimals of a number half way between two of ours */ };

/* Doubles 0.d1 d2 ... d33 and returns what goes beyond the point. */
static unsigned double_digits(unsigned char digit[PLACES]) {
    unsigned carry = 0;
    for (int i = PLACES - 1; i >= 0; i--) {
        unsigned twice = 2u * digit[i] + carry;
        digit[i] = (unsigned char)(twice % 10);
        carry = twice / 10;
    }
    return carry;
}

/* What is left of a decimal fraction against one half: -1, 0, 1. */
static int against_half(const unsigned char digit[PLACES], bool more) {
    for (int i = 1; i < PLACES; i++)
        more |= digit[i] != 0;
    return digit[0] != 5 ? (digit[0] > 5) - (digit[0] < 5) : more;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool ct_fixed_from_text(const char *text, int64_t *item) {
    unsigned char digit[PLACES] = {0};
    uint64_t units = 0;
    bool more = false, negative = text && *text == '-';
    if (!text || !item)
        return false;
    text += *text == '-' || *text == '+';
    if (!is_digit(*text) && !(*text == '.' && is_digit(text[1])))
        return false;
    for (; is_digit(*text); text++) {
        units = units * 10 + (uint64_t)(*text - '0');
        if (units > (uint64_t)1 << 31)
            return false;
    }
    text += *text == '.';
    for (int i = 0; is_digit(*text); i++, text++) {
        if (i < PLACES)
            digit[i] = (unsigned char)(*text - '0');
        else
            more |= *text != '0';
    }
    if (*text)
        return false;
    for (int i = 0; i < CT__FIXED_BITS; i++)
        units = units << 1 | double_digits(digit);
    int rest = against_half(digit, more);
    units += rest > 0 || (rest == 0 && units & 1);
    if (units > (uint64_t)INT64_MAX + negative)
        return false;
    *item = (int64_t)(negative ? 0 - units : units);
    return true;
}
