#include "tensor/options.h"

#include <string.h>

#include "tensor/fail.h"

ct_status ct__take_options(const char *function, const char *init, void *into, size_t known,
                           const void *options) {
    size_t size;
    if (!options)
        return CT_OK;
    memcpy(&size, options, sizeof size);
    if (size < sizeof size)
        return ct__fail(CT_EINVAL, function,
                        "the options say that their size is %zu: begin with %s()", size, init);
    memcpy(into, options, size < known ? size : known);
    return CT_OK;
}
