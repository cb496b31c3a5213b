/* What the suites of the platform share: child processes for what freezes at first use, ends the
   process or forks; an allocator that counts and fails; files. */
#ifndef PLATFORM_TOOLS_H
#define PLATFORM_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tensor/ct_error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* The child's exit status; 128 plus the signal when one killed it, as the alarm does. */
int wait_for(pid_t child);

/* Runs a function in a child of its own; its result is the child's exit status. */
int in_child(int (*body)(const void *), const void *argument);

/* Test fails unless the pending error has this code and its message contains the text. */
void ck_error_is(ct_status code, const char *part);

struct test_allocator {
    size_t blocks, bytes;
    bool fails, crooked;
};

void *test_allocate(void *ctx, size_t bytes, size_t align);
void test_release(void *ctx, void *p, size_t bytes);

/* The body of a child: 0 where a block can be had. */
int allocate_once(const void *unused);

/* Writes a text into a file. */
void put(const char *path, const char *text);

#endif
