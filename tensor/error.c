#include "tensor/fail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define STATUS_NAME(name, text) [CT_##name] = "CT_" #name,
#define STATUS_TEXT(name, text) [CT_##name] = (text),
static const char *const status_names[] = {CT_STATUS_LIST(STATUS_NAME)};
static const char *const status_texts[] = {CT_STATUS_LIST(STATUS_TEXT)};
#undef STATUS_NAME
#undef STATUS_TEXT

enum { STATUS_COUNT = sizeof status_names / sizeof *status_names };

static _Thread_local struct {
    ct_status code;
    struct ct_error_info info;
    char message[CT__MESSAGE_BYTES];
    char function[64];
} last;

const struct ct_error_info *ct_error(void) {
    last.info = (struct ct_error_info){last.code, last.message, last.function};
    return &last.info;
}

void ct_error_clear(void) {
    last.code = CT_OK;
    last.message[0] = '\0';
    last.function[0] = '\0';
    ct_error(); // a pointer taken earlier now reads as "no error"
}

static bool known(ct_status status) {
    return (unsigned)status < STATUS_COUNT;
}

const char *ct_status_name(ct_status status) {
    return known(status) ? status_names[status] : "unknown status";
}

/// Ends a message that filled its buffer with "...", without cutting a UTF-8 character in two.
static void mark_cut(char *text, size_t size) {
    size_t end = size - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

__attribute__((format(printf, 4, 0))) static void
format_message(char *text, size_t size, ct_status code, const char *format, va_list arguments) {
    int length = format ? vsnprintf(text, size, format, arguments) : -1;
    if (length < 0)
        snprintf(text, size, "%s", known(code) ? status_texts[code] : "unknown error");
    else if ((size_t)length >= size)
        mark_cut(text, size);
}

ct_status ct__vfail(ct_status code, const char *function, const char *format, va_list arguments) {
    int saved = errno;
    char text[CT__MESSAGE_BYTES]; // the arguments may point into the present message
    char name[sizeof last.function];
    format_message(text, sizeof text, code, format, arguments);
    snprintf(name, sizeof name, "%s", function ? function : "");
    memcpy(last.message, text, sizeof text);
    memcpy(last.function, name, sizeof name);
    last.code = code;
    ct_error(); // a pointer taken earlier sees the new error whole
    errno = saved;
    return code;
}

ct_status ct__fail(ct_status code, const char *function, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ct__vfail(code, function, format, arguments);
    va_end(arguments);
    return code;
}

void *ct__fail_null(ct_status code, const char *function, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ct__vfail(code, function, format, arguments);
    va_end(arguments);
    return NULL;
}

ct_status ct__fail_null_operand(const char *function) {
    if (last.code != CT_OK)
        return last.code;
    return ct__fail(CT_EINVAL, function, "an operand is NULL");
}

void ct__format_shape(char *buf, size_t size, int rank, const int64_t *shape) {
    if (size == 0)
        return;
    size_t used = (size_t)snprintf(buf, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? ", " : "", shape[i]);
    if (used < size)
        snprintf(buf + used, size - used, "]");
}
