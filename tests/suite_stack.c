/* How much stack a call takes: all functions of the table run on a stack of a known size and colour. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ct_test.h"
#include "platform_tools.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_platform.h"
#include "tensor_functions.h"

Suite *suite_stack(void);

#ifdef __OPTIMIZE__
enum { MEASURED = !SANITIZED };
#else
enum { MEASURED = 0 };
#endif

enum {
    STACK_BYTES = 1 << 20,
    PROMISED_BYTES = 232 << 10, // 256 KiB with what a thread has besides
    COLOUR = 0xa5
};

static void call_of(const struct tensor_function *f, const ct_scalar *scalar,
                    enum extents extents) {
    ct_tensor *in[FUNCTION_OPERANDS] = {NULL};
    for (int k = 0; k < f->operands; k++)
        in[k] = make_operand(f, k, scalar, extents, ORDINARY);
    ct_free(f->call(f, (const ct_tensor *const *)in));
    ct_error_clear();
    for (int k = 0; k < f->operands; k++)
        ct_free(in[k]);
}

static void *call_all(void *scalar) {
    size_t rows;
    const struct tensor_function *f = tensor_functions(&rows);
    const ct_scalar *s = scalar;
    for (size_t i = 0; i < rows; i++) {
        bool large = (f[i].flags & LARGE) && (s == CT_F32 || s == CT_F64);
        call_of(&f[i], s, large ? LARGE_EXTENTS : MEDIUM_EXTENTS);
    }
    return NULL;
}

/* How far down a thread went that started at the top of the stack. */
static size_t depth_of(void *(*run)(void *), void *argument) {
    unsigned char *stack = aligned_alloc(4096, STACK_BYTES);
    pthread_attr_t attr;
    pthread_t thread;
    size_t untouched = 0;
    memset(stack, COLOUR, STACK_BYTES);
    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstack(&attr, stack, STACK_BYTES), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, run, argument), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    while (untouched < STACK_BYTES && stack[untouched] == COLOUR)
        untouched++;
    free(stack);
    return STACK_BYTES - untouched;
}

START_TEST(calls_fit_a_small_stack) {
    const ct_scalar *scalar = function_scalars[_i];
    if (!MEASURED) {
        ct_test_skip("frames are those of an optimised build");
        return;
    }
    size_t depth = depth_of(call_all, (void *)(uintptr_t)scalar);
    ck_assert_msg(depth <= PROMISED_BYTES, "a function of %s took %zu KiB of stack", scalar->name,
                  depth >> 10);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

Suite *suite_stack(void) {
    Suite *suite = suite_create("stack");
    TCase *tc = tcase_create("depth");
    tcase_add_loop_test(tc, calls_fit_a_small_stack, 0, FUNCTION_SCALARS);
    suite_add_tcase(suite, tc);
    return suite;
}
