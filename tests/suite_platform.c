#include <check.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tensor/alloc.h"
#include "tensor/checked.h"
#include "tensor/ct_platform.h"
#include "tensor/fail.h"
#include "tensor/topology.h"

#include "platform_tools.h"

Suite *suite_platform(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Written for Check's fork mode: each test is a process in which nothing is frozen yet.

// ---- errors

START_TEST(error_is_empty_at_first) {
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ck_assert_str_eq(ct_error()->message, "");
    ck_assert_str_eq(ct_error()->function, "");
}
END_TEST

START_TEST(error_stays_until_cleared) {
    ck_assert_int_eq(ct__fail(CT_ESHAPE, "ct_sum", "axis %d of %s", 3, "[2]"), CT_ESHAPE);
    void *block = ct__alloc(1); // a success
    ct__free(block);
    ck_assert_int_eq(ct_fenv_check(), CT_OK);
    ck_error_is(CT_ESHAPE, "axis 3 of [2]");
    ck_assert_str_eq(ct_error()->function, "ct_sum");
    const struct ct_error_info *info = ct_error();
    ct_error_clear();
    ck_assert_int_eq(info->code, CT_OK);
    ck_assert_str_eq(info->message, "");
    ck_assert_str_eq(info->function, "");
}
END_TEST

START_TEST(error_is_replaced_by_the_next) {
    ct__fail(CT_ESHAPE, "first", "first");
    const struct ct_error_info *info = ct_error();
    ck_assert_ptr_null(ct__fail_null(CT_EIO, "second", "second"));
    ck_assert_int_eq(info->code, CT_EIO);
    ck_assert_str_eq(info->message, "second");
    ck_assert_str_eq(info->function, "second");
}
END_TEST

START_TEST(null_operand_keeps_the_first_error) {
    ct__fail(CT_EAXIS, "ct_sum", "no axis");
    ck_assert_int_eq(ct__fail_null_operand("ct_add"), CT_EAXIS);
    ck_error_is(CT_EAXIS, "no axis");
    ck_assert_str_eq(ct_error()->function, "ct_sum");
    ct_error_clear();
    ck_assert_int_eq(ct__fail_null_operand("ct_add"), CT_EINVAL);
    ck_error_is(CT_EINVAL, "NULL");
    ck_assert_str_eq(ct_error()->function, "ct_add");
}
END_TEST

START_TEST(error_keeps_errno) {
    errno = ENOTTY;
    ct__fail(CT_EIO, "f", "%s", "x");
    ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

START_TEST(error_may_wrap_itself) {
    ct__fail(CT_EIO, "inner", "disk");
    ct__fail(CT_EFORMAT, ct_error()->function, "in %s: %s", "outer", ct_error()->message);
    ck_assert_str_eq(ct_error()->message, "in outer: disk");
    ck_assert_str_eq(ct_error()->function, "inner");
}
END_TEST

START_TEST(error_is_cut_at_a_whole_character) {
    char text[2 * CT__MESSAGE_BYTES] = "";
    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'x', (size_t)shift);
        for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4); // a euro sign
        ct__fail(CT_EIO, text, "%s", text);
        size_t length = strlen(ct_error()->message);
        ck_assert_uint_lt(length, CT__MESSAGE_BYTES);
        ck_assert_uint_ge(length, CT__MESSAGE_BYTES - 4);
        ck_assert_str_eq(ct_error()->message + length - 3, "...");
        ck_assert_uint_eq((length - 3 - (size_t)shift) % 3, 0);
    }
}
END_TEST

START_TEST(error_without_a_format_says_what_the_code_means) {
    ct__fail(CT_ENOMEM, NULL, NULL);
    ck_error_is(CT_ENOMEM, "memory");
    ck_assert_str_eq(ct_error()->function, "");
}
END_TEST

static void *fail_elsewhere(void *seen) {
    *(ct_status *)seen = ct_error()->code;
    ct__fail(CT_EDOMAIN, "there", "there");
    return NULL;
}

START_TEST(errors_of_threads_are_separate) {
    pthread_t thread;
    ct_status seen = CT_EIO;
    ct__fail(CT_ESHAPE, "here", "here");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(seen, CT_OK);
    ck_error_is(CT_ESHAPE, "here");
}
END_TEST

START_TEST(status_names_are_as_in_c) {
#define CHECK_NAME(name, text) ck_assert_str_eq(ct_status_name(CT_##name), "CT_" #name);
    CT_STATUS_LIST(CHECK_NAME)
#undef CHECK_NAME
    ck_assert_int_eq(CT_OK, 0);
    ck_assert_str_eq(ct_status_name((ct_status)1000), "unknown status");
    ck_assert_str_eq(ct_status_name((ct_status)-1), "unknown status");
}
END_TEST

START_TEST(shapes_are_formatted) {
    const int64_t shape[] = {2, 3, -1, INT64_MAX, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    char text[CT__SHAPE_TEXT_BYTES];
    ct__format_shape(text, sizeof text, 0, NULL);
    ck_assert_str_eq(text, "[]");
    ct__format_shape(text, sizeof text, 1, shape);
    ck_assert_str_eq(text, "[2]");
    ct__format_shape(text, sizeof text, 4, shape);
    ck_assert_str_eq(text, "[2, 3, -1, 9223372036854775807]");
    ct__format_shape(text, sizeof text, 8, shape);
    ck_assert_int_eq(text[strlen(text) - 1], ']');
    ct__format_shape(text, 6, 2, shape);
    ck_assert_str_eq(text, "[2, 3");
    ct__format_shape(text, 0, 2, shape);
    ck_assert_str_eq(text, "[2, 3");
}
END_TEST

// ---- checked arithmetic

START_TEST(checked_arithmetic) {
    size_t s = 7;
    int64_t i = 7;
    ck_assert(ct__mul_size(3, 5, &s) && s == 15);
    ck_assert(ct__add_size(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
    ck_assert(!ct__mul_size(SIZE_MAX / 2 + 1, 2, &s) && s == SIZE_MAX);
    ck_assert(!ct__add_size(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    ck_assert(ct__mul_i64(-3, 5, &i) && i == -15);
    ck_assert(ct__add_i64(INT64_MAX, INT64_MIN, &i) && i == -1);
    ck_assert(!ct__mul_i64(INT64_MIN, -1, &i) && i == -1);
    ck_assert(!ct__add_i64(INT64_MAX, 1, &i) && i == -1);
    ck_assert(ct__size_of_i64(INT64_MAX, &s) && s == (size_t)INT64_MAX);
    ck_assert(!ct__size_of_i64(-1, &s) && s == (size_t)INT64_MAX);
}
END_TEST

// ---- settings

struct setting {
    const char *value;
    ct_status status;
    int threads; // 0 for the default
};

static const struct setting thread_settings[] = {
    {NULL, CT_OK, 0},       {"", CT_OK, 0},
    {"1", CT_OK, 1},        {"007", CT_OK, 7},
    {"1024", CT_OK, 1024},  {"0", CT_EINVAL, 0},
    {"-1", CT_EINVAL, 0},   {"+4", CT_EINVAL, 0},
    {"1025", CT_EINVAL, 0}, {"4x", CT_EINVAL, 0},
    {" 4", CT_EINVAL, 0},   {"four", CT_EINVAL, 0},
    {"2.5", CT_EINVAL, 0},  {"99999999999999999999", CT_EINVAL, 0},
};

static void set_variable(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int check_threads(const void *argument) {
    const struct setting *s = argument;
    set_variable("CT_NUM_THREADS", s->value);
    if (ct_threads_check() != s->status)
        return 1;
    if (s->status && (!s->value || !strstr(ct_error()->message, s->value)))
        return 2;
    int threads = ct_num_threads();
    if (s->threads ? threads != s->threads : threads < 1 || threads > 64)
        return 3;
    setenv("CT_NUM_THREADS", "2", 1); // too late
    return ct_num_threads() == threads ? 0 : 4;
}

START_TEST(thread_setting_is_checked) {
    ck_assert_int_eq(in_child(check_threads, &thread_settings[_i]), 0);
}
END_TEST

static const struct setting isa_settings[] = {
    {NULL, CT_OK, 0},       {"", CT_OK, 0},          {"scalar", CT_OK, 1},  {"foo", CT_EINVAL, 0},
    {"AVX2", CT_EINVAL, 0}, {"avx2 ", CT_EINVAL, 0}, {"avx", CT_EINVAL, 0}, {"sse2", CT_EINVAL, 0},
};

static int check_isa(const void *argument) {
    const struct setting *s = argument;
    char expected[128];
    set_variable("CT_ISA", s->value);
    ct_status status = ct_isa_check();
    if (status == CT_EUNSUPPORTED && s->status == CT_OK)
        return 0; // an old CPU
    if (status != s->status)
        return 1;
    snprintf(expected, sizeof expected, "CT_ISA is '%s'; it can be scalar, avx2 or avx512",
             s->value ? s->value : "");
    if (status && strcmp(ct_error()->message, expected) != 0)
        return 2;
    const char *name = ct_isa_name();
    if (s->threads && strcmp(name, s->value) != 0)
        return 3;
    setenv("CT_ISA", "scalar", 1); // too late
    return strcmp(ct_isa_name(), name) == 0 ? 0 : 4;
}

START_TEST(isa_setting_is_checked) {
    ck_assert_int_eq(in_child(check_isa, &isa_settings[_i]), 0);
}
END_TEST

/// Each instruction set is either in use when asked for, or refused with a message that says what there is.
static int force_isa(const void *argument) {
    const char *name = argument;
    setenv("CT_ISA", name, 1);
    ct_status status = ct_isa_check();
    bool used = strcmp(ct_isa_name(), name) == 0;
    if (status == CT_EINVAL)
        return !used && strstr(ct_error()->message, "supports only") ? 0 : 1;
    return status == CT_EUNSUPPORTED || used ? 0 : 2;
}

START_TEST(isa_can_be_forced) {
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    ck_assert_int_eq(in_child(force_isa, names[_i]), 0);
}
END_TEST

START_TEST(rounding_is_checked) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    ck_assert_int_eq(ct_fenv_check(), CT_OK);
    for (size_t i = 0; i < COUNT(modes); i++) {
        fesetround(modes[i]);
        ct_status status = ct_fenv_check();
        fesetround(FE_TONEAREST);
        ck_assert_int_eq(status, CT_EINVAL);
        ck_error_is(CT_EINVAL, "round to nearest");
    }
}
END_TEST

#if defined(__x86_64__)
START_TEST(flushing_is_checked) {
    unsigned before = _mm_getcsr();
    static const struct {
        unsigned bits;
        const char *word;
    } modes[] = {{0x8000, "FTZ"}, {0x0040, "DAZ"}, {0x2000, "round"}};
    _mm_setcsr(before | modes[_i].bits);
    ct_status status = ct_fenv_check();
    _mm_setcsr(before);
    ck_assert_int_eq(status, CT_EINVAL);
    ck_error_is(CT_EINVAL, modes[_i].word);
}
END_TEST
#endif

// ---- topology

START_TEST(machine_makes_sense) {
    ck_assert_int_ge(ct__usable_cores(), 1);
    ck_assert_int_le(ct__usable_cores(), (int)sysconf(_SC_NPROCESSORS_CONF));
    ck_assert_uint_eq(ct__cache_bytes(0), 0);
    ck_assert_uint_eq(ct__cache_bytes(4), 0);
    ck_assert_uint_lt(ct__cache_bytes(1), 1 << 20);
}
END_TEST

struct quota_case {
    const char *groups;      // of /proc/self/cgroup
    const char *files[3][2]; // under /sys/fs/cgroup, and what they hold
    int cpus;
};

static const struct quota_case quota_cases[] = {
    {"0::/\n", {{"cpu.max", "150000 100000\n"}}, 2},
    {"0::/\n", {{"cpu.max", "max 100000\n"}}, 0},
    {"0::/g/h\n", {{"g/cpu.max", "300000 100000\n"}, {"g/h/cpu.max", "max 100000\n"}}, 3},
    {"0::/g/h\n", {{"g/cpu.max", "800000 100000\n"}, {"g/h/cpu.max", "50000 100000\n"}}, 1},
    {"0::/elsewhere\n", {{"cpu.max", "400000 100000\n"}}, 4},
    {"0::/\n", {{"cpu.max", "nonsense"}}, 0},
    {"0::/\n", {{"cpu.max", "100000 0\n"}}, 0},
    {"0::/\n", {{"cpu.max", "9223372036854775807 1\n"}}, INT_MAX},
    {"3:cpuset:/\n2:cpu,cpuacct:/g\n0::/\n",
     {{"cpu,cpuacct/g/cpu.cfs_quota_us", "250000\n"},
      {"cpu,cpuacct/g/cpu.cfs_period_us", "100000\n"}},
     3},
    {"2:cpu:/g\n", {{"cpu/cpu.cfs_quota_us", "-1\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}}, 0},
    {"2:cpuacct:/\n",
     {{"cpuacct/cpu.cfs_quota_us", "1\n"}, {"cpuacct/cpu.cfs_period_us", "1\n"}},
     0},
    {"garbage\n:\n::\n", {{NULL, NULL}}, 0},
};

/// Writes a file and the folders above it.
static void plant(const char *root, const char *prefix, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", root, prefix, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    put(path, text);
}

START_TEST(cgroup_quotas_are_read) {
    const struct quota_case *c = &quota_cases[_i];
    char root[] = "/tmp/ct-quota-XXXXXX", command[64];
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(ct__cpu_quota(root), 0);
    plant(root, "proc/self", "cgroup", c->groups);
    for (size_t i = 0; i < COUNT(c->files) && c->files[i][0]; i++)
        plant(root, "sys/fs/cgroup", c->files[i][0], c->files[i][1]);
    int cpus = ct__cpu_quota(root);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(cpus, c->cpus);
}
END_TEST

// ---- the suite

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return tc;
}

static void add_errors(Suite *suite) {
    TCase *tc = add_case(suite, "errors");
    tcase_add_test(tc, error_is_empty_at_first);
    tcase_add_test(tc, error_stays_until_cleared);
    tcase_add_test(tc, error_is_replaced_by_the_next);
    tcase_add_test(tc, null_operand_keeps_the_first_error);
    tcase_add_test(tc, error_keeps_errno);
    tcase_add_test(tc, error_may_wrap_itself);
    tcase_add_test(tc, error_is_cut_at_a_whole_character);
    tcase_add_test(tc, error_without_a_format_says_what_the_code_means);
    tcase_add_test(tc, errors_of_threads_are_separate);
    tcase_add_test(tc, status_names_are_as_in_c);
    tcase_add_test(tc, shapes_are_formatted);
    tcase_add_test(tc, checked_arithmetic);
}

static void add_settings(Suite *suite) {
    TCase *tc = add_case(suite, "settings");
    tcase_add_loop_test(tc, thread_setting_is_checked, 0, COUNT(thread_settings));
    tcase_add_loop_test(tc, isa_setting_is_checked, 0, COUNT(isa_settings));
    tcase_add_loop_test(tc, isa_can_be_forced, 0, 3);
    tcase_add_test(tc, rounding_is_checked);
#if defined(__x86_64__)
    tcase_add_loop_test(tc, flushing_is_checked, 0, 3);
#endif
    tcase_add_test(tc, machine_makes_sense);
    tcase_add_loop_test(tc, cgroup_quotas_are_read, 0, COUNT(quota_cases));
}

Suite *suite_platform(void) {
    Suite *suite = suite_create("platform");
    add_errors(suite);
    add_settings(suite);
    return suite;
}
