/**
 * @file
 * @brief Overflow-safe size arithmetic (internal).
 *
 * Each function returns true and writes the result, or returns false and leaves it untouched when the result does not fit.
 */
#ifndef CT_CHECKED_H
#define CT_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @brief a * b in size_t. */
static inline bool ct__mul_size(size_t a, size_t b, size_t *result) {
    size_t value;
    if (__builtin_mul_overflow(a, b, &value))
        return false;
    *result = value;
    return true;
}

/** @brief a + b in size_t. */
static inline bool ct__add_size(size_t a, size_t b, size_t *result) {
    size_t value;
    if (__builtin_add_overflow(a, b, &value))
        return false;
    *result = value;
    return true;
}

/** @brief a * b in int64_t. */
static inline bool ct__mul_i64(int64_t a, int64_t b, int64_t *result) {
    int64_t value;
    if (__builtin_mul_overflow(a, b, &value))
        return false;
    *result = value;
    return true;
}

/** @brief a + b in int64_t. */
static inline bool ct__add_i64(int64_t a, int64_t b, int64_t *result) {
    int64_t value;
    if (__builtin_add_overflow(a, b, &value))
        return false;
    *result = value;
    return true;
}

/** @brief An int64_t as a size_t: false when it is negative or too large. */
static inline bool ct__size_of_i64(int64_t a, size_t *result) {
    size_t value;
    if (__builtin_add_overflow(a, (int64_t)0, &value))
        return false;
    *result = value;
    return true;
}

#endif
