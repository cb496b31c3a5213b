/**
 * @file
 * @brief The one door through which every error passes (internal).
 */
#ifndef CT_FAIL_H
#define CT_FAIL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/ct_error.h"

enum {
    CT__MESSAGE_BYTES = 512,   /**< Room for a message and its NUL. */
    CT__SHAPE_TEXT_BYTES = 192 /**< Room for any shape of rank 8 as text. */
};

/**
 * @brief Sets the thread's last error and returns @p code.
 *
 * A longer message is cut at a whole UTF-8 character and ends in "...". Arguments may point into the present error, so
 * that a message can be wrapped in another. errno is kept.
 *
 * @param code      Not #CT_OK.
 * @param function  Name of the public function that failed; copied. NULL means "".
 * @par Thread safety  Each thread has its own error.
 * @par Cost           One formatting; never allocates.
 */
ct_status ct__fail(ct_status code, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** @brief As ct__fail(), with the arguments in a list. */
ct_status ct__vfail(ct_status code, const char *function, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/** @brief As ct__fail(), and returns NULL: for functions that make something. */
void *ct__fail_null(ct_status code, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * @brief The rule for a NULL operand: a pending error is kept, and without one the error is #CT_EINVAL.
 *
 * @return The code of the error that is now pending, never #CT_OK.
 */
ct_status ct__fail_null_operand(const char *function);

/**
 * @brief Writes a shape as text: "[2, 3]", and "[]" for rank 0.
 *
 * Text that does not fit is cut and always ends in a NUL; #CT__SHAPE_TEXT_BYTES fits every rank up to 8.
 */
void ct__format_shape(char *buf, size_t size, int rank, const int64_t *shape);

#endif
