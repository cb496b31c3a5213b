/* cotangent info: what runs here, or what a saved model holds. */
#include "command.h"
#include "cotangent.h"
#include "options.h"
#include "tensor/topology.h"

#include <hwloc.h>
#include <inttypes.h>
#include <jansson.h>
#include <sleef.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static const char me[] = "info";

static const char about[] =
    "Without an argument, says what the library found on this machine and what its results rest "
    "on.\n"
    "With a safetensors file, lists its tensors, and the SHA-256 of their bytes.\n";

static const char examples[] = "  cotangent info\n"
                               "  cotangent info run/model.safetensors\n";

static void print_cache(int level) {
    size_t bytes = ct__cache_bytes(level);
    if (bytes)
        printf("%s%d KiB", level > 1 ? ", " : "", (int)(bytes / 1024));
    else
        printf("%sunknown", level > 1 ? ", " : "");
}

static int print_machine(void) {
    printf("cotangent        " CT_VERSION "\n");
    printf("compiler         " COMPILER "\n");
    printf("instruction set  %s\n", ct_isa_name());
    printf("threads          %d of %d\n", ct_num_threads(), ct__usable_cores());
    printf("caches           ");
    for (int level = 1; level <= 3; level++)
        print_cache(level);
    printf(" (levels 1 to 3)\n");
    printf("SLEEF            %d.%d.%d\n", SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR,
           SLEEF_VERSION_PATCHLEVEL);
    printf("hwloc API        %d.%d.%d\n", HWLOC_API_VERSION >> 16, HWLOC_API_VERSION >> 8 & 255,
           HWLOC_API_VERSION & 255);
    printf("jansson          %s\n", JANSSON_VERSION);
    printf("numeric contract %s\n", ct_numeric_contract());
    return EXIT_DONE;
}

/* A file's names come from a stranger: control characters do not reach the terminal. */
static void print_name(const char *name) {
    int width = 0;
    for (; *name; name++, width++)
        putchar((unsigned char)*name < ' ' || *name == 127 ? '?' : *name);
    printf("%*s ", width < 20 ? 20 - width : 0, "");
}

static void print_tensor_line(const char *name, const ct_tensor *tensor) {
    print_name(name);
    if (!tensor) {
        puts("of a type or rank that is not read here");
        return;
    }
    printf("%-4s [", ct_dtype(tensor)->name);
    for (int axis = 0; axis < ct_rank(tensor); axis++)
        printf("%s%" PRId64, axis ? ", " : "", ct_shape(tensor)[axis]);
    puts("]");
}

static ct_status print_digest(const ct_safetensors *file) {
    size_t n = ct_safetensors_count(file);
    struct ct_named_tensor *tensors = calloc(n ? n : 1, sizeof *tensors);
    char digest[CT_SHA256_TEXT_BYTES];
    bool whole = true;
    if (!tensors)
        return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        tensors[i] =
            (struct ct_named_tensor){ct_safetensors_name(file, i), ct_safetensors_at(file, i)};
        whole = whole && tensors[i].tensor;
    }
    ct_status status = whole ? ct_tensors_digest(n, tensors, digest) : CT_OK;
    free(tensors);
    if (status == CT_OK)
        printf("sha256 %s\n", whole ? digest : "needs every tensor to be readable");
    return status;
}

static int print_model(const char *path) {
    ct_safetensors *file = ct_safetensors_load(path);
    if (!file)
        return library_failed(me);
    for (size_t i = 0; i < ct_safetensors_count(file); i++)
        print_tensor_line(ct_safetensors_name(file, i), ct_safetensors_at(file, i));
    ct_status status = print_digest(file);
    ct_safetensors_free(file);
    return status == CT_OK ? EXIT_DONE : library_failed(me);
}

int cmd_info(int argc, char **argv) {
    static const struct option_row none[] = {{NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL}};
    const struct option_table table = {me, "FILE", about, examples, none};
    const char *path;
    int status = options_read(&table, argc, argv, &path);
    if (status >= 0)
        return status;
    return path ? print_model(path) : print_machine();
}
