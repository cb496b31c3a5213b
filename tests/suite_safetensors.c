#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case_tools.h"
#include "dual/ct_dual.h"
#include "safetensors_file.h"
#include "tensor/ct_alloc.h"

Suite *suite_safetensors(void);

char file_path[PATH_MAX];
static char folder[64];

/* In memory where that is possible: each saved file is synced. */
void make_folder(void) {
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/ct-safetensors-XXXXXX", place);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file_path, sizeof file_path, "%s/a.safetensors", folder);
}

void remove_folder(void) {
    unlink(file_path);
    ck_assert_msg(rmdir(folder) == 0, "a file was left behind in %s", folder);
}

void write_file(const void *bytes, size_t count) {
    FILE *file = fopen(file_path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

/* The whole file, to be freed; one byte more than it has, which is 0. */
char *read_file(size_t *count) {
    FILE *file = fopen(file_path, "rb");
    ck_assert_ptr_nonnull(file);
    char *bytes = calloc(1, 1 << 16);
    ck_assert_ptr_nonnull(bytes);
    *count = fread(bytes, 1, (1 << 16) - 1, file);
    fclose(file);
    return bytes;
}

void save_file(const char *name, const ct_tensor *t) {
    struct ct_named_tensor named = {name, t};
    ck_assert_msg(ct_safetensors_save(file_path, 1, &named, 0, NULL, NULL) == CT_OK, "%s",
                  ct_error()->message);
}

ct_safetensors *load_file(void) {
    ct_safetensors *file = ct_safetensors_load(file_path);
    ck_assert_msg(file != NULL, "%s", ct_error()->message);
    return file;
}

/* ---- round trips */

static const ct_scalar *const scalars[] = {CT_F32, CT_F64, CT_I32, CT_I64, CT_BOOL};

static void check_round_trip(const ct_tensor *t) {
    size_t blocks = ct_live_blocks();
    save_file("t", t);
    ct_safetensors *file = load_file();
    ck_assert_uint_eq(ct_safetensors_count(file), 1);
    ck_assert_str_eq(ct_safetensors_name(file, 0), "t");
    const ct_tensor *back = ct_safetensors_get(file, "t");
    ck_assert_msg(same_bits(back, t), "%s of rank %d came back changed", ct_dtype(t)->name,
                  ct_rank(t));
    ck_assert_ptr_eq(back, ct_safetensors_at(file, 0));
    ck_assert_int_eq(ct_check_tensor(back), CT_OK);
    ct_safetensors_free(file);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
}

START_TEST(every_shape_comes_back) {
    static const struct {
        int rank;
        int64_t shape[CT_MAX_RANK];
    } shapes[] = {{0, {0}},       {1, {0}},    {1, {7}},          {2, {3, 5}},
                  {3, {2, 0, 3}}, {2, {0, 0}}, {3, {40, 50, 60}}, {8, {1, 2, 1, 3, 1, 2, 1, 2}}};
    struct draw draw = {1};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        ct_tensor *t =
            draw_tensor(&draw, scalars[_i], shapes[i].rank, shapes[i].shape, -1000, 1000);
        check_round_trip(t);
        ct_free(t);
    }
}
END_TEST

START_TEST(special_values_come_back) {
    const ct_scalar *scalar = _i ? CT_F64 : CT_F32;
    double tiny = _i ? 0x1p-1074 : 0x1p-149, huge = _i ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    double values[] = {0.0, -0.0, INF, -INF, QNAN, tiny, -tiny, huge, -huge, 0.1};
    ct_tensor *t = ct_from_doubles(scalar, 1, (int64_t[]){COUNT(values)}, COUNT(values), values);
    check_round_trip(t);
    ct_free(t);
}
END_TEST

START_TEST(extreme_integers_come_back) {
    int64_t values[] = {INT64_MIN, INT64_MAX, 0, -1, ((int64_t)1 << 53) + 1};
    ct_tensor *t = ct_from_items(CT_I64, 1, (int64_t[]){COUNT(values)}, COUNT(values), values);
    check_round_trip(t);
    ct_free(t);
}
END_TEST

START_TEST(views_are_written_in_row_major_order) {
    struct draw draw = {2};
    for (size_t i = 0; i < COUNT(scalars); i++) {
        ct_tensor *t = draw_tensor(&draw, scalars[i], 2, (int64_t[]){5, 7}, -9, 9);
        ct_tensor *laid = lay_out(t, (enum layout)_i);
        check_round_trip(laid);
        ct_free(laid);
        ct_free(t);
    }
}
END_TEST

/* B078 */
START_TEST(transposed_data_is_not_written_in_memory_order) {
    ct_tensor *t = T2(2, 3, 1, 2, 3, 4, 5, 6), *turned = ct_transpose(t);
    save_file("t", turned);
    ct_safetensors *file = load_file();
    EXPECT("t", ct_copy(ct_safetensors_get(file, "t")), 0, 1, 4, 2, 5, 3, 6);
    ct_safetensors_free(file);
    ct_free(turned);
    ct_free(t);
}
END_TEST

START_TEST(order_names_and_metadata_are_kept) {
    ct_tensor *a = T1(1), *b = T1(2, 3), *none = ct_zeros(CT_F32, 1, (int64_t[]){0});
    const struct ct_named_tensor named[] = {
        {"z", a}, {"", none}, {"a\"\\/\n", b}, {"\xf0\x9f\x98\x80", none}, {"b", a}};
    static const char *const metadata[] = {"format", "pt", "", "\xc3\xa9\n\"", "k", ""};
    ck_assert_int_eq(ct_safetensors_save(file_path, COUNT(named), named, 3, metadata, NULL), CT_OK);
    ct_safetensors *file = load_file();
    ck_assert_uint_eq(ct_safetensors_count(file), COUNT(named));
    for (size_t i = 0; i < COUNT(named); i++) {
        ck_assert_str_eq(ct_safetensors_name(file, i), named[i].name);
        ck_assert(same_bits(ct_safetensors_at(file, i), named[i].tensor));
        ck_assert_ptr_eq(ct_safetensors_get(file, named[i].name), ct_safetensors_at(file, i));
    }
    ck_assert_str_eq(ct_safetensors_metadata(file, "format"), "pt");
    ck_assert_str_eq(ct_safetensors_metadata(file, ""), "\xc3\xa9\n\"");
    ck_assert_str_eq(ct_safetensors_metadata(file, "k"), "");
    ck_assert_ptr_null(ct_safetensors_metadata(file, "other"));
    ct_safetensors_free(file);
    ct_free(a);
    ct_free(b);
    ct_free(none);
}
END_TEST

START_TEST(nothing_at_all_is_a_file) {
    ck_assert_int_eq(ct_safetensors_save(file_path, 0, NULL, 0, NULL, NULL), CT_OK);
    ct_safetensors *file = load_file();
    ck_assert_uint_eq(ct_safetensors_count(file), 0);
    ck_assert_ptr_null(ct_safetensors_metadata(file, "a"));
    ct_safetensors_free(file);
}
END_TEST

START_TEST(files_are_laid_out_as_the_format_says) {
    uint32_t odd_nan = 0xffc12345;
    ct_tensor *t = ct_from_items(CT_F32, 0, NULL, 1, &odd_nan);
    static const char *const metadata[] = {"k", "v"};
    struct ct_named_tensor named = {"t", t};
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, &named, 1, metadata, NULL), CT_OK);
    size_t count;
    char *bytes = read_file(&count);
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"v\"},\"t\":{\"dtype\":\"F32\",\"shape\":"
        "[],\"data_offsets\":[0,4]}}";
    uint64_t length;
    memcpy(&length, bytes, sizeof length);
    ck_assert_uint_eq(length % 8, 0);
    ck_assert_uint_eq(count, 8 + length + 4);
    ck_assert(memcmp(bytes + 8, header, strlen(header)) == 0);
    for (size_t i = strlen(header); i < length; i++)
        ck_assert_int_eq(bytes[8 + i], ' ');
    ck_assert_msg(memcmp(bytes + 8 + length, "\0\0\xc0\x7f", 4) == 0, "the NaN is not canonical");
    free(bytes);
    ct_free(t);
}
END_TEST

/* ---- digests: known answers by Python's hashlib */

START_TEST(digest_is_of_the_items_in_order) {
    int64_t minus_one = -1;
    uint32_t odd_nan = 0xffc12345;
    ct_tensor *pair = T1(1, 2), *number = ct_from_items(CT_I64, 0, NULL, 1, &minus_one);
    ct_tensor *nan = ct_from_items(CT_F32, 0, NULL, 1, &odd_nan), *yes = ct_ones(CT_BOOL, 0, NULL);
    const struct ct_named_tensor named[] = {{"a", pair}, {"b", nan}, {"c", number}, {"d", yes}};
    char saved[65] = "", alone[65] = "";
    ck_assert_int_eq(ct_tensors_digest(1, named, alone), CT_OK);
    ck_assert_str_eq(alone, "dc91ce9a50ddc828740aa26743716897fdb2bb64f1db662fe263a59be56145ae");
    ck_assert_int_eq(ct_safetensors_save(file_path, 4, named, 0, NULL, saved), CT_OK);
    ck_assert_str_eq(saved, "eceab80a65cd545796c96d21312a4ca6cee7405cf0d7003030bbbfae1f7700f8");
    ck_assert_int_eq(ct_tensors_digest(4, named, alone), CT_OK);
    ck_assert_str_eq(alone, saved);
    ct_free(pair);
    ct_free(number);
    ct_free(nan);
    ct_free(yes);
}
END_TEST

START_TEST(digest_does_not_see_the_layout) {
    struct draw draw = {3};
    ct_tensor *t = draw_tensor(&draw, CT_F64, 2, (int64_t[]){5, 7}, -9, 9);
    ct_tensor *laid = lay_out(t, (enum layout)_i), *dense = ct_compact(laid);
    struct ct_named_tensor x = {"x", laid}, y = {"y", dense};
    char a[65] = "", b[65] = "";
    ck_assert_int_eq(ct_tensors_digest(1, &x, a), CT_OK);
    ck_assert_int_eq(ct_tensors_digest(1, &y, b), CT_OK);
    ck_assert_str_eq(a, b);
    ct_free(t);
    ct_free(laid);
    ct_free(dense);
}
END_TEST

/* ---- saving what cannot be saved */

START_TEST(names_that_do_not_fit_are_refused) {
    ct_tensor *t = T1(1);
    static const struct {
        const char *first, *second, *key, *value, *text;
    } cases[] = {
        {"a", "a", NULL, NULL, "the tensor name 'a' is given twice"},
        {"a", "__metadata__", NULL, NULL, "no tensor may be named '__metadata__'"},
        {"a", "b\xff", NULL, NULL, "is not valid UTF-8"},
        {"a", "b", "k\xc3", "v", "is not valid UTF-8"},
        {"a", "b", "k", "\x80", "is not valid UTF-8"},
        {"a", "b", "same", "v", "the metadata key 'same' is given twice"},
    };
    const struct ct_named_tensor named[] = {{cases[_i].first, t}, {cases[_i].second, t}};
    const char *metadata[] = {"same", "w", cases[_i].key, cases[_i].value};
    ck_assert_int_eq(
        ct_safetensors_save(file_path, 2, named, cases[_i].key ? 2 : 0, metadata, NULL), CT_EINVAL);
    expect_error(CT_EINVAL, cases[_i].text);
    ck_assert_int_ne(access(file_path, F_OK), 0);
    ct_free(t);
}
END_TEST

START_TEST(types_that_do_not_fit_are_refused) {
    ct_tensor *t = ct_zeros(CT_DUAL64, 0, NULL);
    struct ct_named_tensor named = {"w", t};
    char digest[65] = "as it was";
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, &named, 0, NULL, digest), CT_EDTYPE);
    expect_error(CT_EDTYPE, "tensor 'w' is of dual64");
    ck_assert_int_eq(ct_tensors_digest(1, &named, digest), CT_EDTYPE);
    ck_assert_str_eq(digest, "as it was");
    ck_assert_int_ne(access(file_path, F_OK), 0);
    ct_free(t);
}
END_TEST

START_TEST(null_operands_are_refused) {
    struct ct_named_tensor named = {"w", NULL};
    ct_tensor *t = T1(1);
    ct_error_clear();
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, &named, 0, NULL, NULL), CT_EINVAL);
    named = (struct ct_named_tensor){NULL, t};
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, &named, 0, NULL, NULL), CT_EINVAL);
    named.name = "w";
    ck_assert_int_eq(ct_safetensors_save(NULL, 1, &named, 0, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, NULL, 0, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_safetensors_save(file_path, 1, &named, 1, NULL, NULL), CT_EINVAL);
    ck_assert_int_eq(ct_tensors_digest(1, &named, NULL), CT_EINVAL);
    ck_assert_ptr_null(ct_safetensors_load(NULL));
    ck_assert_ptr_null(ct_safetensors_get(NULL, "w"));
    ck_assert_ptr_null(ct_safetensors_at(NULL, 0));
    ck_assert_ptr_null(ct_safetensors_name(NULL, 0));
    ck_assert_ptr_null(ct_safetensors_metadata(NULL, "w"));
    ck_assert_uint_eq(ct_safetensors_count(NULL), 0);
    ct_safetensors_free(NULL);
    ct_free(t);
}
END_TEST

START_TEST(unwritable_place_is_reported) {
    ct_tensor *t = T1(1);
    struct ct_named_tensor named = {"w", t};
    ck_assert_int_eq(ct_safetensors_save("/no/such/folder/w.safetensors", 1, &named, 0, NULL, NULL),
                     CT_EIO);
    expect_error(CT_EIO, "/no/such/folder/w.safetensors");
    ct_free(t);
}
END_TEST

/* B152 */
START_TEST(full_disk_leaves_the_old_file) {
    ct_tensor *old = T1(1, 2, 3), *large = ct_zeros(CT_F64, 1, (int64_t[]){100000});
    save_file("w", old);
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 65536;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct ct_named_tensor named = {"w", large};
    char digest[65] = "as it was";
    ct_status status = ct_safetensors_save(file_path, 1, &named, 0, NULL, digest);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(status, CT_EIO);
    ck_assert_str_eq(digest, "as it was");
    ct_safetensors *file = load_file();
    ck_assert(same_bits(ct_safetensors_get(file, "w"), old));
    ct_safetensors_free(file);
    ct_free(old);
    ct_free(large);
}
END_TEST

START_TEST(full_device_is_reported) {
    ct_tensor *t = T1(1);
    struct ct_named_tensor named = {"w", t};
    ck_assert_int_eq(ct_safetensors_save("/dev/full", 1, &named, 0, NULL, NULL), CT_EIO);
    expect_error(CT_EIO, "No space left");
    ct_free(t);
}
END_TEST

/* ---- reading what does not exist */

START_TEST(absent_files_and_names_are_reported) {
    ck_assert_ptr_null(ct_safetensors_load(file_path));
    expect_error(CT_EIO, "No such file");
    expect_error(CT_EIO, file_path);
    ck_assert_ptr_null(ct_safetensors_load(folder));
    expect_error(CT_EIO, "not a regular file");
    ck_assert_ptr_null(ct_safetensors_load("/dev/zero"));
    expect_error(CT_EIO, "not a regular file");
    ct_tensor *t = T1(1);
    save_file("w", t);
    ct_safetensors *file = load_file();
    ck_assert_ptr_null(ct_safetensors_get(file, "v"));
    expect_error(CT_EINVAL, "there is no tensor 'v'");
    ck_assert_ptr_null(ct_safetensors_at(file, 1));
    expect_error(CT_EINDEX, "there is no tensor 1 among 1");
    ck_assert_ptr_null(ct_safetensors_name(file, SIZE_MAX));
    ct_safetensors_free(file);
    ct_free(t);
}
END_TEST

/* ---- the suite */

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    return tc;
}

Suite *suite_safetensors(void) {
    Suite *suite = suite_create("safetensors");
    TCase *tc = add_case(suite, "round trips");
    tcase_add_loop_test(tc, every_shape_comes_back, 0, COUNT(scalars));
    tcase_add_loop_test(tc, special_values_come_back, 0, 2);
    tcase_add_test(tc, extreme_integers_come_back);
    tcase_add_loop_test(tc, views_are_written_in_row_major_order, 0, LAYOUT_COUNT);
    tcase_add_test(tc, transposed_data_is_not_written_in_memory_order);
    tcase_add_test(tc, order_names_and_metadata_are_kept);
    tcase_add_test(tc, nothing_at_all_is_a_file);
    tcase_add_test(tc, files_are_laid_out_as_the_format_says);
    tc = add_case(suite, "digests");
    tcase_add_test(tc, digest_is_of_the_items_in_order);
    tcase_add_loop_test(tc, digest_does_not_see_the_layout, 0, LAYOUT_COUNT);
    tc = add_case(suite, "refusals");
    tcase_add_loop_test(tc, names_that_do_not_fit_are_refused, 0, 6);
    tcase_add_test(tc, types_that_do_not_fit_are_refused);
    tcase_add_test(tc, null_operands_are_refused);
    tcase_add_test(tc, unwritable_place_is_reported);
    tcase_add_test(tc, full_disk_leaves_the_old_file);
    tcase_add_test(tc, full_device_is_reported);
    tcase_add_test(tc, absent_files_and_names_are_reported);
    add_lies(suite);
    return suite;
}
