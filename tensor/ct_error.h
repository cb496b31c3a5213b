/**
 * @file
 * @brief Status codes, and the calling thread's last error.
 *
 * Functions that make something return NULL on failure, others a #ct_status; ct_error() says the rest. The library never
 * prints, aborts or exits.
 */
#ifndef CT_ERROR_H
#define CT_ERROR_H

#include "tensor/ct_api.h"

CT_BEGIN_DECLS

/** The statuses: XX(name, what it means). Their numbers are part of the binary interface: new ones go to the end. */
#define CT_STATUS_LIST(XX)                                                                         \
    XX(OK, "no error")                                                                             \
    XX(EINVAL, "an argument or a setting is not valid")                                            \
    XX(ENOMEM, "there is not enough memory")                                                       \
    XX(ESHAPE, "the shapes do not fit together")                                                   \
    XX(EAXIS, "there is no such axis")                                                             \
    XX(EINDEX, "an index is out of bounds")                                                        \
    XX(EDTYPE, "the scalar type does not fit")                                                     \
    XX(EOVERFLOW, "a size or a value does not fit its type")                                       \
    XX(EDOMAIN, "a value lies outside the domain")                                                 \
    XX(ESTALE, "a handle outlived what it named")                                                  \
    XX(ERULE, "the op has no derivative rule")                                                     \
    XX(EIO, "reading or writing failed")                                                           \
    XX(EFORMAT, "a file does not follow its format")                                               \
    XX(EUNSUPPORTED, "this machine or this build cannot do it")

#define CT_STATUS_ENUM(name, text) CT_##name,
/** How a call ended. #CT_OK is 0. */
typedef enum ct_status { CT_STATUS_LIST(CT_STATUS_ENUM) } ct_status;
#undef CT_STATUS_ENUM

/** An error: its code, a message in the user's terms, and the public function that failed. */
struct ct_error_info {
    ct_status code;       /**< #CT_OK when no error is pending. */
    const char *message;  /**< Never NULL; empty when no error is pending. At most 511 bytes. */
    const char *function; /**< Never NULL; empty when no error is pending. */
};

/**
 * @brief The last error of the calling thread.
 *
 * A success never clears it: only ct_error_clear() does. A new, independent failure replaces it. A call that merely
 * passes on a NULL operand keeps it, so that after a chain of calls it names the first that failed.
 *
 * @return Never NULL. What it points at belongs to the thread and is overwritten by the thread's next failure.
 * @par Errors         None.
 * @par Thread safety  Each thread has its own.
 * @par Cost           O(1), no allocation.
 */
CT_API const struct ct_error_info *ct_error(void);

/**
 * @brief Forgets the calling thread's last error.
 *
 * @par Errors         None.
 * @par Thread safety  Each thread has its own error.
 * @par Cost           O(1), no allocation.
 */
CT_API void ct_error_clear(void);

/**
 * @brief The name of a status as it is written in C, such as "CT_ESHAPE".
 *
 * @return A constant string, never NULL; "unknown status" for a number that is not in the list.
 * @par Thread safety  Pure.
 * @par Cost           O(1), no allocation.
 */
CT_API const char *ct_status_name(ct_status status);

CT_END_DECLS

#endif
