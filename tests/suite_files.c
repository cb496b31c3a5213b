#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/atomic_file.h"
#include "io/ct_digest.h"
#include "tensor/alloc.h"

#include "platform_tools.h"

Suite *suite_files(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

// Written for Check's fork mode: each test is a process in which nothing is frozen yet.

// ---- files; each test has a folder of its own

static char folder[64];

static void make_folder(void) {
    strcpy(folder, "/tmp/ct-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/// Counts what is in the folder, and removes it on demand.
static int entries(bool away) {
    int count = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        count++;
        if (away && unlinkat(dirfd(dir), e->d_name, 0) < 0)
            unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
    return count;
}

static void remove_folder(void) {
    chmod(folder, 0700);
    entries(true);
    rmdir(folder);
}

/// A path in the folder; the last three stay valid.
static const char *at(const char *name) {
    static char paths[3][512];
    static int turn;
    turn = (turn + 1) % 3;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static bool holds(const char *path, const char *text) {
    char buf[256] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t got = fread(buf, 1, sizeof buf - 1, f);
    fclose(f);
    return got == strlen(text) && memcmp(buf, text, got) == 0;
}

static ct_status write_text(const char *path, const char *text) {
    struct ct__atomic_file *file = ct__atomic_begin(path, "ct_save");
    if (!file)
        return ct_error()->code;
    ct__atomic_write(file, text, strlen(text));
    return ct__atomic_commit(file);
}

START_TEST(file_is_written_and_replaced) {
    ck_assert_int_eq(write_text(at("a"), "one"), CT_OK);
    ck_assert(holds(at("a"), "one"));
    ck_assert_int_eq(write_text(at("a"), "two two"), CT_OK);
    ck_assert(holds(at("a"), "two two"));
    ck_assert_int_eq(write_text(at("a"), ""), CT_OK);
    ck_assert(holds(at("a"), ""));
    ck_assert_int_eq(entries(false), 1);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(relative_paths_work) {
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(write_text("b", "text"), CT_OK);
    ck_assert(holds(at("b"), "text"));
    ck_assert_int_eq(entries(false), 1);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(target_is_intact_until_the_commit) {
    put(at("a"), "old");
    struct ct__atomic_file *f = ct__atomic_begin(at("a"), "ct_save");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(ct__atomic_write(f, "new ", 4), CT_OK);
    ck_assert_int_eq(ct__atomic_write(f, NULL, 0), CT_OK);
    ck_assert_int_eq(ct__atomic_write(f, "text", 4), CT_OK);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(ct__atomic_commit(f), CT_OK);
    ck_assert(holds(at("a"), "new text"));
    f = ct__atomic_begin(at("a"), "ct_save");
    ck_assert_int_eq(ct__atomic_write(f, "x", 1), CT_OK);
    ct__atomic_abandon(f);
    ct__atomic_abandon(NULL);
    ck_assert(holds(at("a"), "new text"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

START_TEST(permissions_are_kept) {
    struct stat now;
    umask(027);
    ck_assert_int_eq(write_text(at("a"), "one"), CT_OK);
    ck_assert_int_eq(stat(at("a"), &now), 0);
    ck_assert_uint_eq(now.st_mode & 0777, 0640);
    chmod(at("a"), 0604);
    ck_assert_int_eq(write_text(at("a"), "two"), CT_OK);
    ck_assert_int_eq(stat(at("a"), &now), 0);
    ck_assert_uint_eq(now.st_mode & 0777, 0604);
}
END_TEST

START_TEST(links_stay_links) {
    struct stat now;
    put(at("real"), "old");
    ck_assert_int_eq(symlink("real", at("link")), 0);
    ck_assert_int_eq(write_text(at("link"), "new"), CT_OK);
    ck_assert(holds(at("real"), "new"));
    ck_assert_int_eq(lstat(at("link"), &now), 0);
    ck_assert(S_ISLNK(now.st_mode));
    ck_assert_int_eq(entries(false), 2);
}
END_TEST

START_TEST(long_names_fit) {
    char name[NAME_MAX + 2];
    memset(name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    ck_assert_int_eq(write_text(at(name), "text"), CT_OK);
    ck_assert(holds(at(name), "text"));
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    ck_assert_int_eq(write_text(at(name), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENAMETOOLONG));
    char path[2 * PATH_MAX];
    memset(path, '/', sizeof path);
    path[sizeof path - 1] = '\0';
    ck_assert_int_eq(write_text(path, "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENAMETOOLONG));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

START_TEST(folders_are_refused) {
    mkdir(at("d"), 0700);
    ck_assert_int_eq(write_text(at("d"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(EISDIR));
    ck_error_is(CT_EIO, at("d"));
    ck_assert_str_eq(ct_error()->function, "ct_save");
    ck_assert_int_eq(write_text(at("none/"), "text"), CT_EIO);
    ck_assert_int_eq(write_text(at("none/a"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENOENT));
    put(at("f"), "text");
    ck_assert_int_eq(write_text(at("f/a"), "text"), CT_EIO);
    ck_error_is(CT_EIO, strerror(ENOTDIR));
    ck_assert_int_eq(write_text("", "text"), CT_EINVAL);
    ct_error_clear();
    ck_assert_int_eq(write_text(NULL, "text"), CT_EINVAL);
    ck_assert_int_eq(entries(false), 2);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

static int write_as_nobody(const void *unused) {
    (void)unused;
    if (geteuid() == 0 && seteuid(65534) < 0)
        return 1;
    if (write_text(at("a"), "new") != CT_EIO)
        return 2;
    return strstr(ct_error()->message, strerror(EACCES)) ? 0 : 3;
}

START_TEST(unwritable_folder_is_reported) {
    put(at("a"), "old");
    chmod(folder, 0555);
    ck_assert_int_eq(in_child(write_as_nobody, NULL), 0);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

/// The write that fills the disk fails, and so do those after it and the commit.
static int fill_the_disk(const void *unused) {
    char block[1000] = "";
    (void)unused;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){1500, 1500});
    struct ct__atomic_file *f = ct__atomic_begin(at("a"), "ct_save");
    if (!f || ct__atomic_write(f, block, sizeof block) != CT_OK)
        return 1;
    if (ct__atomic_write(f, block, sizeof block) != CT_EIO || entries(false) != 1)
        return 2;
    if (!strstr(ct_error()->message, strerror(EFBIG)))
        return 3;
    if (ct__atomic_write(f, "x", 1) != CT_EIO || ct__atomic_commit(f) != CT_EIO)
        return 4;
    return ct_live_blocks() == 0 ? 0 : 5;
}

START_TEST(full_disk_leaves_the_target_intact) {
    put(at("a"), "old");
    ck_assert_int_eq(in_child(fill_the_disk, NULL), 0);
    ck_assert(holds(at("a"), "old"));
    ck_assert_int_eq(entries(false), 1);
}
END_TEST

/// Never as root: a fault in what is tested would replace the machine's devices.
static int write_to_devices(const void *unused) {
    (void)unused;
    if (geteuid() == 0 && seteuid(65534) < 0)
        return 1;
    if (faccessat(AT_FDCWD, "/dev", W_OK, AT_EACCESS) == 0)
        return 2;
    if (write_text("/dev/null", "text") != CT_OK)
        return 3;
    if (write_text("/dev/full", "text") != CT_EIO)
        return 4;
    const char *message = ct_error()->message;
    return strstr(message, "cannot write '/dev/full'") && strstr(message, strerror(ENOSPC)) ? 0 : 5;
}

START_TEST(devices_are_written_directly) {
    ck_assert_int_eq(in_child(write_to_devices, NULL), 0);
}
END_TEST

static void *read_pipe(void *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/pipe", folder);
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, text, 15);
    close(fd);
    ((char *)text)[got > 0 ? got : 0] = '\0';
    return NULL;
}

START_TEST(pipes_are_written_directly) {
    pthread_t thread;
    char text[16] = "";
    struct stat now;
    ck_assert_int_eq(mkfifo(at("pipe"), 0600), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_pipe, text), 0);
    ck_assert_int_eq(write_text(at("pipe"), "text"), CT_OK);
    pthread_join(thread, NULL);
    ck_assert_str_eq(text, "text");
    ck_assert_int_eq(stat(at("pipe"), &now), 0);
    ck_assert(S_ISFIFO(now.st_mode));
}
END_TEST

START_TEST(no_memory_is_reported) {
    struct test_allocator state = {.fails = true};
    ct_set_allocator(&(struct ct_allocator){test_allocate, test_release, &state});
    ck_assert_int_eq(write_text(at("a"), "text"), CT_ENOMEM);
    ck_assert_int_eq(entries(false), 0);
}
END_TEST

START_TEST(no_file_passes_its_error_on) {
    struct ct__atomic_file *f = ct__atomic_begin(at("none/a"), "ct_save");
    ck_assert_ptr_null(f);
    ck_assert_int_eq(ct__atomic_write(f, "x", 1), CT_EIO);
    ck_assert_int_eq(ct__atomic_commit(f), CT_EIO);
    ck_error_is(CT_EIO, "none/a");
}
END_TEST

// ---- digests

struct answer {
    const char *text;
    const char *hex;
};

// FIPS 180-2, appendix B, and the empty string
static const struct answer answers[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

START_TEST(sha256_known_answers) {
    struct ct_sha256 digest;
    char hex[CT_SHA256_TEXT_BYTES];
    ct_sha256_init(&digest);
    for (int twice = 0; twice < 2; twice++) { // the end is a new start
        ct_sha256_update(&digest, answers[_i].text, strlen(answers[_i].text));
        ct_sha256_final(&digest, hex);
        ck_assert_str_eq(hex, answers[_i].hex);
    }
}
END_TEST

START_TEST(sha256_of_a_million) {
    struct ct_sha256 digest, copy;
    char hex[CT_SHA256_TEXT_BYTES], piece[1000];
    memset(piece, 'a', sizeof piece);
    ct_sha256_init(&digest);
    for (size_t left = 1000000, step = 1; left > 0; step = step % sizeof piece + 1) {
        size_t bytes = step < left ? step : left;
        ct_sha256_update(&digest, piece, bytes);
        ct_sha256_update(&digest, NULL, 0);
        left -= bytes;
    }
    copy = digest;
    ct_sha256_final(&digest, hex);
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    ct_sha256_final(&copy, hex);
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(sha256_of_nothing_is_an_error) {
    struct ct_sha256 digest;
    ct_sha256_init(&digest);
    ck_assert_int_eq(ct_error()->code, CT_OK);
    ct_sha256_update(&digest, NULL, 1);
    ck_error_is(CT_EINVAL, "NULL");
    ct_error_clear();
    ct_sha256_init(NULL);
    ck_error_is(CT_EINVAL, "NULL");
    ct_error_clear();
    ct_sha256_final(&digest, NULL);
    ck_error_is(CT_EINVAL, "NULL");
}
END_TEST

// ---- the suite

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return tc;
}

static void add_files(Suite *suite) {
    TCase *tc = add_case(suite, "files");
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, file_is_written_and_replaced);
    tcase_add_test(tc, relative_paths_work);
    tcase_add_test(tc, target_is_intact_until_the_commit);
    tcase_add_test(tc, permissions_are_kept);
    tcase_add_test(tc, links_stay_links);
    tcase_add_test(tc, long_names_fit);
    tcase_add_test(tc, folders_are_refused);
    tcase_add_test(tc, unwritable_folder_is_reported);
    tcase_add_test(tc, full_disk_leaves_the_target_intact);
    tcase_add_test(tc, devices_are_written_directly);
    tcase_add_test(tc, pipes_are_written_directly);
    tcase_add_test(tc, no_memory_is_reported);
    tcase_add_test(tc, no_file_passes_its_error_on);
}

static void add_digests(Suite *suite) {
    TCase *tc = add_case(suite, "digests");
    tcase_add_loop_test(tc, sha256_known_answers, 0, COUNT(answers));
    tcase_add_test(tc, sha256_of_a_million);
    tcase_add_test(tc, sha256_of_nothing_is_an_error);
}

Suite *suite_files(void) {
    Suite *suite = suite_create("files");
    add_files(suite);
    add_digests(suite);
    return suite;
}
