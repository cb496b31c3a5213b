#include "platform_tools.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tensor/alloc.h"

int wait_for(pid_t child) {
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int in_child(int (*body)(const void *), const void *argument) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL); // Check's handler would end the test
        alarm(10);
        _exit(body(argument));
    }
    return wait_for(child);
}

void ck_error_is(ct_status code, const char *part) {
    ck_assert_int_eq(ct_error()->code, code);
    ck_assert_msg(strstr(ct_error()->message, part) != NULL, "'%s' lacks '%s'", ct_error()->message,
                  part);
}

void *test_allocate(void *ctx, size_t bytes, size_t align) {
    struct test_allocator *a = ctx;
    void *p = NULL;
    if (a->fails || posix_memalign(&p, align, bytes + align))
        return NULL;
    a->blocks++;
    a->bytes += bytes;
    return a->crooked ? (char *)p + 8 : p;
}

void test_release(void *ctx, void *p, size_t bytes) {
    struct test_allocator *a = ctx;
    a->blocks--;
    a->bytes -= bytes;
    free(a->crooked ? (char *)p - 8 : p);
}

int allocate_once(const void *unused) {
    (void)unused;
    ct__free(ct__alloc(1 << 20));
    return 0;
}

void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}
