#include "tensor/ct_platform.h"

#include <sleef.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *ct_numeric_contract(void) {
    return "cotangent-3 sum:1024x16 matmul:256 sleef:" TEXT(SLEEF_VERSION_MAJOR) "." TEXT(
        SLEEF_VERSION_MINOR) "." TEXT(SLEEF_VERSION_PATCHLEVEL);
}
