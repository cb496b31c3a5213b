#include "safetensors_file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_tools.h"
#include "ct_test.h"
#include "golden_json.h"
#include "tensor/ct_alloc.h"

/* ---- lies (B147): a header, with ' for ", and a number of bytes after it */

// clang-format off
static const struct {
    const char *header;
    size_t bytes;
    const char *text; /* of the error; NULL where the file is good */
} lies[] = {
    {"{}", 0, NULL},
    {"{}", 1, "the tensors take 0 bytes and the file has 1"},
    {" {}", 0, "no header begins with '{'"},
    {"[]", 0, "no header begins with '{'"},
    {"{'a':1}", 0, "tensor 'a' needs dtype, shape and data_offsets"},
    {"{'a':{}}", 0, "tensor 'a' needs dtype, shape and data_offsets"},
    {"{'a':[1,2,3]}", 0, "tensor 'a' needs dtype, shape and data_offsets"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4],'x':1}}", 4, "nothing else"},
    {"{'a':{'type':'F32','shape':[],'data_offsets':[0,4]}}", 4, "has no dtype"},
    {"{'a':{'dtype':1,'shape':[],'data_offsets':[0,4]}}", 4, "has no dtype"},
    {"{'a':{'dtype':'f32','shape':[],'data_offsets':[0,4]}}", 4, "unknown dtype 'f32'"},
    {"{'a':{'dtype':'F32','shape':1,'data_offsets':[0,4]}}", 4, "has no shape"},
    {"{'a':{'dtype':'F32','shape':{},'data_offsets':[0,4]}}", 4, "has no shape"},
    {"{'a':{'dtype':'F32','shape':[1.0],'data_offsets':[0,4]}}", 4, "extent 0 of tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':[1,-1],'data_offsets':[0,4]}}", 4, "extent 1 of tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':['1'],'data_offsets':[0,4]}}", 4, "extent 0 of tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':[true],'data_offsets':[0,4]}}", 4, "extent 0 of tensor 'a'"},
    {"{'a':{'dtype':'F32','shape':[4294967296,4294967296],'data_offsets':[0,0]}}", 0,
     "more than 9223372036854775807 items"},
    {"{'a':{'dtype':'F32','shape':[3037000500,3037000500],'data_offsets':[0,0]}}", 0,
     "more than 9223372036854775807 items"},
    {"{'a':{'dtype':'F64','shape':[2305843009213693952],'data_offsets':[0,0]}}", 0,
     "2305843009213693952 items of F64"},
    {"{'a':{'dtype':'F32','shape':[1099511627776],'data_offsets':[0,4398046511104]}}", 4,
     "the tensors take 4398046511104 bytes and the file has 4"},
    {"{'a':{'dtype':'F32','shape':[99999999999999999999],'data_offsets':[0,4]}}", 4, "not JSON"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0]}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4,4]}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[4,0]}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[-4,0]}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0.0,4]}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':{'0':0,'1':4}}}", 4, "no range of bytes"},
    {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,4]}}", 4,
     "2 items of F32 (4 bytes each) in 4"},
    {"{'a':{'dtype':'F64','shape':[],'data_offsets':[0,4]}}", 4,
     "1 items of F64 (8 bytes each) in 4"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]}}", 3,
     "take 4 bytes and the file has 3"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[4,8]}}", 8, "there is a hole"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]},"
     "'b':{'dtype':'F32','shape':[],'data_offsets':[2,6]}}", 6, "tensors overlap"},
    {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]},"
     "'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]}}", 4, "duplicate object key"},
    {"{'a':{'dtype':'F32','dtype':'F32','shape':[],'data_offsets':[0,4]}}", 4, "duplicate"},
    {"{'a':{'dtype':'F32','shape':[[[1]]],'data_offsets':[0,4]}}", 4, "nests deeper than 3"},
    {"{'__metadata__':[]}", 0, "__metadata__ is not an object"},
    {"{'__metadata__':{'k':{'a':1}}}", 0, "the metadata value of 'k' is not a string"},
    {"{'__metadata__':{'k':null}}", 0, "the metadata value of 'k' is not a string"},
    {"{'__metadata__':{']}{[[[[\\'[[[[':''}}", 0, NULL},
    {"{'a':{'dtype':'I64','shape':[0,9223372036854775807,0],'data_offsets':[0,0]}}", 0, NULL},
    {"{'b':{'dtype':'F32','shape':[0],'data_offsets':[4,4]},"
     "'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]}}", 4, NULL},
    {"{'a':{'dtype':'BOOL','shape':[2],'data_offsets':[0,2]}}", 2, NULL},
};

// clang-format on

static void write_lie(const char *header, size_t bytes) {
    char file[4096] = {0};
    uint64_t length = strlen(header);
    memcpy(file, &length, sizeof length);
    for (size_t i = 0; i < length; i++)
        file[sizeof length + i] = header[i] == '\'' ? '"' : header[i];
    write_file(file, sizeof length + length + bytes);
}

START_TEST(lies_are_seen_through) {
    size_t blocks = ct_live_blocks();
    write_lie(lies[_i].header, lies[_i].bytes);
    ct_safetensors *file = ct_safetensors_load(file_path);
    if (!lies[_i].text) {
        ck_assert_msg(file != NULL, "%s: %s", lies[_i].header, ct_error()->message);
        ct_safetensors_free(file);
    } else {
        ck_assert_msg(file == NULL, "%s was read", lies[_i].header);
        expect_error(CT_EFORMAT, lies[_i].text);
        expect_error(CT_EFORMAT, file_path);
    }
    ck_assert_uint_eq(ct_live_blocks(), blocks);
}
END_TEST

START_TEST(header_lengths_are_checked) {
    static const struct {
        uint64_t length;
        size_t bytes; /* after it */
        const char *text;
    } cases[] = {
        {0, 0, "it is not a safetensors file: it has 8 bytes, too few for a header"},
        {0, 2, "it is not a safetensors file: no header begins with '{' after the first 8 bytes"},
        {3, 2, "the header of 3 bytes ends past the file: 2 bytes follow"},
        {100000001, 2, "the header of 100000001 bytes is over the limit of 100000000"},
        {100000000, 2, "the header of 100000000 bytes ends past the file"},
        {UINT64_MAX, 2, "the header of 18446744073709551615 bytes is over the limit"},
        {UINT64_MAX - 7, 2, "is over the limit"},
    };
    char file[16] = "........{}";
    memcpy(file, &cases[_i].length, sizeof cases[_i].length);
    write_file(file, 8 + cases[_i].bytes);
    ck_assert_ptr_null(ct_safetensors_load(file_path));
    expect_error(CT_EFORMAT, cases[_i].text);
}
END_TEST

/* A text is no safetensors file, which is said before any number that its letters make. */
START_TEST(other_files_are_told_as_such) {
    static const char *const texts[] = {"# Cotangent\n\nA library", "12345678", "",
                                        "\177ELF and more than that"};
    static char want[PATH_MAX + 64];
    write_file(texts[_i], strlen(texts[_i]));
    ck_assert_ptr_null(ct_safetensors_load(file_path));
    snprintf(want, sizeof want, "'%s': it is not a safetensors file: ", file_path);
    expect_error(CT_EFORMAT, want);
    expect_error(CT_EFORMAT, "ct_safetensors_save() and Python's safetensors write such files");
    ck_assert_ptr_null(strstr(ct_error()->message, "limit"));
}
END_TEST

/* A bomb of brackets must not use up the stack; one of text must not be kept. */
START_TEST(deep_nesting_is_refused) {
    enum { DEPTH = 1000000 };
    char *file = malloc(8 + DEPTH);
    ck_assert_ptr_nonnull(file);
    uint64_t length = DEPTH;
    memcpy(file, &length, sizeof length);
    memset(file + 8, '[', DEPTH);
    memcpy(file + 8, "{\"a\":", 5);
    write_file(file, 8 + DEPTH);
    free(file);
    ck_assert_ptr_null(ct_safetensors_load(file_path));
    expect_error(CT_EFORMAT, "nests deeper than 3 at its byte 7");
}
END_TEST

START_TEST(every_cut_is_refused) {
    ct_tensor *t = T1(1, 2, 3);
    save_file("w", t);
    size_t count;
    char *bytes = read_file(&count);
    for (size_t cut = 0; cut < count; cut++) {
        write_file(bytes, cut);
        ck_assert_msg(ct_safetensors_load(file_path) == NULL, "a file cut at %zu was read", cut);
        ck_assert_int_eq(ct_error()->code, CT_EFORMAT);
    }
    write_file(bytes, count + 1);
    ck_assert_ptr_null(ct_safetensors_load(file_path));
    free(bytes);
    ct_free(t);
}
END_TEST

/* Whatever a byte becomes: an error or a sound tensor, never a crash. */
START_TEST(every_byte_may_be_wrong) {
    ct_tensor *t = ct_ones(CT_BOOL, 1, (int64_t[]){3});
    save_file("w", t);
    size_t count;
    char *bytes = read_file(&count);
    static const unsigned char others[] = {0, 1, '"', '9', '-', '[', '}', ',', '\\', 0x80, 0xff};
    for (size_t at = 0; at < count; at++) {
        for (size_t i = 0; i < COUNT(others); i++) {
            char kept = bytes[at];
            bytes[at] = (char)others[i];
            write_file(bytes, count);
            bytes[at] = kept;
            ct_safetensors *file = ct_safetensors_load(file_path);
            if (file && ct_safetensors_count(file) && ct_safetensors_at(file, 0))
                ck_assert_int_eq(ct_check_tensor(ct_safetensors_at(file, 0)), CT_OK);
            ct_safetensors_free(file);
        }
    }
    free(bytes);
    ct_free(t);
}
END_TEST

START_TEST(what_cannot_be_read_is_named) {
    write_lie("{\"good\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[1,9]},"
              "\"odd\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"deep\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[9,13]}}",
              13);
    ct_safetensors *file = load_file();
    ck_assert_uint_eq(ct_safetensors_count(file), 3);
    EXPECT("good", ct_copy(ct_safetensors_get(file, "good")), 0, 0);
    ck_assert_ptr_null(ct_safetensors_get(file, "odd"));
    expect_error(CT_EUNSUPPORTED, "tensor 'odd' is of F8_E4M3");
    ck_assert_ptr_null(ct_safetensors_at(file, 2));
    expect_error(CT_EUNSUPPORTED, "tensor 'deep' has rank 9; 8 is the most");
    ct_safetensors_free(file);
}
END_TEST

START_TEST(half_floats_are_widened) {
    static const char header[] =
        "{\"h\":{\"dtype\":\"F16\",\"shape\":[8],\"data_offsets\":[0,16]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]}}";
    static const uint16_t items[] = {0x3c00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfc00,
                                     0x8000, 0x7e00, 0x3f80, 0xff80, 0x0001};
    char file[256];
    uint64_t length = strlen(header);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, items, sizeof items);
    write_file(file, 8 + length + sizeof items);
    ct_safetensors *loaded = load_file();
    EXPECT("h", ct_copy(ct_safetensors_get(loaded, "h")), 0, 1, 0x1p-24, -0x3ffp-24, 0x1p-14, 65504,
           -INF, -0.0, QNAN);
    EXPECT("b", ct_copy(ct_safetensors_get(loaded, "b")), 0, 1, -INF, 0x1p-133);
    ck_assert_ptr_eq(ct_dtype(ct_safetensors_get(loaded, "h")), CT_F32);
    ct_safetensors_free(loaded);
}
END_TEST

/* ---- the crafted files of CT_CASES and their verdicts */

static json_t *manifest; /* the entries about safetensors */

static void read_manifest(void) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/crafted/MANIFEST.json", golden_cases());
    json_t *all = json_load_file(name, 0, NULL), *entry;
    size_t i;
    json_decref(manifest);
    manifest = json_array();
    json_array_foreach(all, i, entry) {
        const char *file = json_string_value(json_object_get(entry, "file"));
        if (file && strncmp(file, "safetensors/", 12) == 0)
            json_array_append(manifest, entry);
    }
    json_decref(all);
}

static void check_expected(const char *name, const ct_safetensors *file, json_t *expected) {
    const char *key;
    json_t *values;
    json_object_foreach(expected, key, values) {
        size_t count = json_array_size(values);
        double *items = calloc(count + 1, sizeof *items);
        ck_assert_ptr_nonnull(items);
        for (size_t i = 0; i < count; i++)
            items[i] = golden_number(json_array_get(values, i));
        expect_items(name, ct_copy(ct_safetensors_get(file, key)), 0, count, items);
        free(items);
    }
}

static void check_verdict(const char *name, const char *verdict, ct_safetensors *file,
                          json_t *expected) {
    if (strcmp(verdict, "accept") == 0) {
        ck_assert_msg(file != NULL, "%s: %s", name, ct_error()->message);
        check_expected(name, file, expected);
    } else if (strcmp(verdict, "reject") == 0) {
        ck_assert_msg(file == NULL, "%s was read", name);
        ck_assert_int_eq(ct_error()->code, CT_EFORMAT);
    } else if (strcmp(verdict, "reject-tensor") == 0) {
        ck_assert_msg(file != NULL, "%s: %s", name, ct_error()->message);
        ck_assert_ptr_null(ct_safetensors_at(file, 0));
        expect_error(CT_EUNSUPPORTED, ct_safetensors_name(file, 0));
    } else {
        ck_assert_msg(strstr(verdict, "-or-") != NULL, "%s: unknown verdict %s", name, verdict);
        if (!file)
            ck_assert_int_eq(ct_error()->code, CT_EFORMAT);
    }
}

START_TEST(crafted_files_get_their_verdicts) {
    if (json_array_size(manifest) == 0) {
        ct_test_skip("the crafted files are not here (CT_CASES)");
        return;
    }
    json_t *entry = json_array_get(manifest, (size_t)_i);
    const char *name = json_string_value(json_object_get(entry, "file"));
    char crafted[PATH_MAX];
    snprintf(crafted, sizeof crafted, "%s/crafted/%s", golden_cases(), name);
    size_t blocks = ct_live_blocks();
    ct_safetensors *file = ct_safetensors_load(crafted);
    check_verdict(name, json_string_value(json_object_get(entry, "verdict")), file,
                  json_object_get(entry, "expect"));
    ct_safetensors_free(file);
    ck_assert_uint_eq(ct_live_blocks(), blocks);
}
END_TEST

void add_lies(Suite *suite) {
    TCase *tc = tcase_create("lies");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_loop_test(tc, lies_are_seen_through, 0, COUNT(lies));
    tcase_add_loop_test(tc, header_lengths_are_checked, 0, 7);
    tcase_add_loop_test(tc, other_files_are_told_as_such, 0, 4);
    tcase_add_test(tc, deep_nesting_is_refused);
    tcase_add_test(tc, every_cut_is_refused);
    tcase_add_test(tc, every_byte_may_be_wrong);
    tcase_add_test(tc, what_cannot_be_read_is_named);
    tcase_add_test(tc, half_floats_are_widened);
    read_manifest();
    int entries = (int)json_array_size(manifest);
    tc = tcase_create("crafted");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, crafted_files_get_their_verdicts, 0, entries ? entries : 1);
}
