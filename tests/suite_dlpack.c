/* DLPack: round trips, sharing, and structs that lie. The structs are written out here, so that
   this is another reading of the C ABI than the library's own; where dlpack.h is installed, its are
   compared. */

#include "index_tools.h"

#include "tensor/ct_alloc.h"
#include "tensor/ct_dlpack.h"
#include "tensor/ct_make.h"

#include "dual/ct_dual.h"

#include <stdlib.h>
#include <string.h>

#if defined __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define HAS_DLPACK_H
#endif
#endif

Suite *suite_dlpack(void);

/* DLPack 1.0, dlpack.h */
typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;
typedef struct Old {
    Tensor dl;
    void *context;
    void (*deleter)(struct Old *);
} Old;
typedef struct New {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct New *);
    uint64_t flags;
    Tensor dl;
} New;

static Old *as_old(struct DLManagedTensor *managed) {
    return (Old *)(void *)managed;
}
static New *as_new(struct DLManagedTensorVersioned *managed) {
    return (New *)(void *)managed;
}
static struct DLManagedTensor *old_of(Old *old) {
    return (struct DLManagedTensor *)(void *)old;
}
static struct DLManagedTensorVersioned *new_of(New *new) {
    return (struct DLManagedTensorVersioned *)(void *)new;
}

#ifdef HAS_DLPACK_H
START_TEST(the_installed_header_agrees) {
    ck_assert_uint_eq(sizeof(DLTensor), sizeof(Tensor));
    ck_assert_uint_eq(sizeof(DLManagedTensor), sizeof(Old));
    ck_assert_uint_eq(offsetof(DLTensor, device), offsetof(Tensor, device_type));
    ck_assert_uint_eq(offsetof(DLTensor, ndim), offsetof(Tensor, ndim));
    ck_assert_uint_eq(offsetof(DLTensor, dtype), offsetof(Tensor, code));
    ck_assert_uint_eq(offsetof(DLTensor, shape), offsetof(Tensor, shape));
    ck_assert_uint_eq(offsetof(DLTensor, strides), offsetof(Tensor, strides));
    ck_assert_uint_eq(offsetof(DLTensor, byte_offset), offsetof(Tensor, byte_offset));
    ck_assert_uint_eq(offsetof(DLManagedTensor, manager_ctx), offsetof(Old, context));
    ck_assert_uint_eq(offsetof(DLManagedTensor, deleter), offsetof(Old, deleter));
    ck_assert_int_eq(kDLCPU, 1);
    ck_assert(kDLInt == 0 && kDLFloat == 2);
    ct_tensor *t = counting(CT_F32, SHAPE(2, 3));
    DLManagedTensor *managed = ct_to_dlpack(t); /* the very struct */
    ck_assert(managed->dl_tensor.dtype.code == kDLFloat && managed->dl_tensor.shape[1] == 3);
    managed->deleter(managed);
    ct_free(t);
}
END_TEST
#endif

/* --- out and in again --- */

static const ct_scalar *const types[] = {CT_F32, CT_F64, CT_I32, CT_I64, CT_BOOL};
static const uint8_t codes[][2] = {{2, 32}, {2, 64}, {0, 32}, {0, 64}, {6, 8}};
enum { TYPES = 5 };

static void expect_description(const Tensor *dl, const ct_tensor *t, int type) {
    ck_assert(dl->device_type == 1 && dl->device_id == 0 && dl->byte_offset == 0);
    ck_assert(dl->code == codes[type][0] && dl->bits == codes[type][1] && dl->lanes == 1);
    ck_assert_int_eq(dl->ndim, ct_rank(t));
    for (int i = 0; i < ct_rank(t); i++)
        ck_assert(dl->shape[i] == ct_shape(t)[i]);
}

START_TEST(round_trips) {
    uint64_t state = 3;
    for (int type = 0; type < TYPES; type++)
        for (int s = 0; s < SHAPES * SPREADS; s++) {
            const struct shape_case *shape = &shape_cases[s / SPREADS];
            ct_tensor *t =
                spread_out(random_numbers(&state, types[type], shape->rank, shape->shape),
                           (enum spread)(s % SPREADS));
            struct items items = items_of(t);
            New *shared = as_new(ct_to_dlpack_versioned(t));
            ck_assert(shared->major == 1 && shared->flags == 1);
            expect_description(&shared->dl, t, type);
            ck_assert_ptr_eq(shared->dl.data, ct_data(t)); /* no copy */
            ck_assert(ct_rank(t) == 0 || memcmp(shared->dl.strides, ct_strides(t),
                                                sizeof(int64_t) * (size_t)ct_rank(t)) == 0);
            Old *copy = as_old(ct_to_dlpack(t));
            expect_description(&copy->dl, t, type);
            ck_assert(ct_count(t) == 0 || copy->dl.data != ct_data(t));
            ct_free(t); /* what is out there lives on */
            ct_tensor *by_share = ct_from_dlpack_versioned(new_of(shared));
            ct_tensor *by_copy = ct_from_dlpack(old_of(copy));
            ck_assert_msg(by_share && by_copy, "%s", ct_error()->message);
            ck_assert_int_eq(ct_check_tensor(by_share) | ct_check_tensor(by_copy), CT_OK);
            struct items a = items_of(by_share), b = items_of(by_copy);
            ck_assert(a.count == items.count && ct_same_shape(by_share, by_copy));
            ck_assert(memcmp(a.bytes, items.bytes, items.count * items.scalar->size) == 0);
            ck_assert(memcmp(b.bytes, items.bytes, items.count * items.scalar->size) == 0);
            drop_items(&items), drop_items(&a), drop_items(&b);
            ct_free(by_share), ct_free(by_copy);
        }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* A write on our side never shows in what is out there, and memory from there is never written. */
START_TEST(writes_stay_inside) {
    ct_tensor *t = counting(CT_F64, SHAPE(3));
    New *shared = as_new(ct_to_dlpack_versioned(t));
    Old *copy = as_old(ct_to_dlpack(t));
    ck_assert_int_eq(ct_set(t, SHAPE(0), 77), CT_OK);
    ck_assert(((double *)shared->dl.data)[0] == 0 && ((double *)copy->dl.data)[0] == 0);
    ((double *)copy->dl.data)[1] = 55; /* the copy is theirs */
    assert_items(t, SHAPE(3), ITEMS(77, 1, 2));
    ct_tensor *in = ct_from_dlpack(old_of(copy));
    double *theirs = copy->dl.data;
    ck_assert_int_eq(ct_fill(in, 5), CT_OK);
    assert_items(in, SHAPE(3), ITEMS(5, 5, 5)); /* the deleter has run: nothing of theirs is left */
    (void)theirs;
    shared->deleter(shared);
    ct_free(t), ct_free(in);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

/* --- in --- */

static int deleted;

static void delete_old(Old *self) {
    (void)self;
    deleted++;
}
static void delete_new(New *self) {
    (void)self;
    deleted++;
}

static double buffer[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static int64_t two_by_three[] = {2, 3}, reversed[] = {-3, 1}, repeated[] = {0, 1};

static Tensor honest(void) {
    return (Tensor){.data = buffer,
                    .device_type = 1,
                    .ndim = 2,
                    .code = 2,
                    .bits = 64,
                    .lanes = 1,
                    .shape = two_by_three};
}

START_TEST(foreign_memory) {
    Old old = {.dl = honest(), .deleter = delete_old};
    ct_tensor *t = ct_from_dlpack(old_of(&old)), *copy = ct_copy(t);
    assert_items(t, SHAPE(2, 3), ITEMS(0, 1, 2, 3, 4, 5));
    ck_assert_ptr_eq(ct_data(t), buffer);
    ck_assert_int_eq(ct_set(t, SHAPE(0, 0), 99), CT_OK); /* goes elsewhere */
    ck_assert(buffer[0] == 0 && deleted == 0);
    ct_free(t);
    ck_assert_int_eq(deleted, 0);
    ct_free(copy);
    ck_assert_int_eq(deleted, 1); /* once, with the last share */

    New new = {.major = 1, .minor = 9, .dl = honest()}; /* without a deleter; of a later minor */
    new.dl.byte_offset = 3 * sizeof(double);
    new.dl.strides = reversed;
    assert_and_free(ct_from_dlpack_versioned(new_of(&new)), SHAPE(2, 3), ITEMS(3, 4, 5, 0, 1, 2));
    new.deleter = delete_new;
    new.dl.strides = repeated;
    assert_and_free(ct_from_dlpack_versioned(new_of(&new)), SHAPE(2, 3), ITEMS(3, 4, 5, 3, 4, 5));
    ck_assert_int_eq(deleted, 2);
    new.dl.ndim = 0;
    new.dl.shape = NULL;
    assert_and_free(ct_from_dlpack_versioned(new_of(&new)), 0, NULL, ITEMS(3));
    new.dl = honest(); /* no items: no data is needed, and strides may be anything */
    int64_t none_by_two[] = {0, 2}, wild[] = {INT64_MIN, INT64_MAX};
    new.dl.shape = none_by_two;
    new.dl.data = NULL;
    new.dl.strides = wild;
    assert_and_free(ct_from_dlpack_versioned(new_of(&new)), SHAPE(0, 2), 0, NULL);
    int64_t one_by_one[] = {1, 1}; /* nor is a step that is never made */
    new.dl = honest();
    new.dl.shape = one_by_one;
    new.dl.strides = wild;
    assert_and_free(ct_from_dlpack_versioned(new_of(&new)), SHAPE(1, 1), ITEMS(0));
    ck_assert_int_eq(deleted, 5);
}
END_TEST

struct lie {
    int32_t device, ndim;
    int code, bits, lanes;
    int64_t shape[9], strides[9];
    uint64_t byte_offset;
    bool no_data, no_shape, dense;
    ct_status status;
    const char *message;
};

#define CPU_F64 .device = 1, .code = 2, .bits = 64, .lanes = 1

static const struct lie lies[] = {
    {.device = 2,
     .code = 2,
     .bits = 64,
     .lanes = 1,
     .status = CT_EUNSUPPORTED,
     .message = "the tensor lies on DLPack's device type 2, not in the host's memory (1)"},
    {.device = 0,
     .code = 2,
     .bits = 64,
     .lanes = 1,
     .status = CT_EUNSUPPORTED,
     .message = "the tensor lies on DLPack's device type 0, not in the host's memory (1)"},
    {.device = 1,
     .code = 2,
     .bits = 16,
     .lanes = 1,
     .status = CT_EDTYPE,
     .message = "no scalar type is DLPack's type of code 2 with 16 bits and 1 lane"},
    {.device = 1,
     .code = 2,
     .bits = 64,
     .lanes = 2,
     .status = CT_EDTYPE,
     .message = "no scalar type is DLPack's type of code 2 with 64 bits and 2 lanes"},
    {.device = 1,
     .code = 2,
     .bits = 64,
     .lanes = 0,
     .status = CT_EDTYPE,
     .message = "no scalar type is DLPack's type of code 2 with 64 bits and 0 lanes"},
    {.device = 1,
     .code = 1,
     .bits = 8,
     .lanes = 1,
     .status = CT_EDTYPE,
     .message = "no scalar type is DLPack's type of code 1 with 8 bits and 1 lane"},
    {.device = 1,
     .code = 255,
     .bits = 0,
     .lanes = 65535,
     .status = CT_EDTYPE,
     .message = "no scalar type is DLPack's type of code 255 with 0 bits and 65535 lanes"},
    {CPU_F64, .ndim = -1, .status = CT_ESHAPE, .message = "the rank -1 is not in the range 0 to 8"},
    {CPU_F64, .ndim = 9, .status = CT_ESHAPE, .message = "the rank 9 is not in the range 0 to 8"},
    {CPU_F64, .ndim = INT32_MAX, .status = CT_ESHAPE,
     .message = "the rank 2147483647 is not in the range 0 to 8"},
    {CPU_F64, .ndim = 1, .no_shape = true, .status = CT_EINVAL,
     .message = "the shape is NULL and the rank is 1"},
    {CPU_F64, .ndim = 2, .shape = {2, -3}, .status = CT_ESHAPE,
     .message = "the extent -3 of axis 1 is negative"},
    {CPU_F64, .ndim = 2, .shape = {(int64_t)1 << 40, (int64_t)1 << 40}, .status = CT_EOVERFLOW,
     .message =
         "a shape of [1099511627776, 1099511627776] of f64 takes more bytes than can be addressed"},
    {CPU_F64, .ndim = 1, .shape = {2}, .no_data = true, .status = CT_EINVAL,
     .message = "the data of 2 items is NULL"},
    {CPU_F64, .ndim = 1, .shape = {2}, .byte_offset = 4, .dense = true, .status = CT_EINVAL,
     .message = "the buffer is not aligned to the 8 bytes of f64"},
    {CPU_F64, .ndim = 1, .shape = {2}, .strides = {INT64_MAX}, .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [9223372036854775807] from byte 0 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {2}, .strides = {INT64_MIN}, .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [-9223372036854775808] from byte 0 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {3}, .strides = {INT64_MIN / 2}, .status = CT_EOVERFLOW,
     .message = "a shape of [3] with strides [-4611686018427387904] from byte 0 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {2}, .strides = {-((int64_t)1 << 58)}, .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [-288230376151711744] from byte 0 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 2, .shape = {2, 2}, .strides = {INT64_MAX / 8, INT64_MAX / 8},
     .status = CT_EOVERFLOW,
     .message =
         "a shape of [2, 2] with strides [1152921504606846975, 1152921504606846975] from byte "
         "0 of f64 reaches outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {2}, .dense = true, .byte_offset = UINT64_C(1) << 63,
     .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [1] from byte 9223372036854775808 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {2}, .strides = {-1}, .byte_offset = UINT64_C(1) << 63,
     .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [-1] from byte 9223372036854775808 of f64 reaches "
                "outside the address space"},
    {CPU_F64, .ndim = 1, .shape = {2}, .dense = true, .byte_offset = UINT64_MAX,
     .status = CT_EOVERFLOW,
     .message = "a shape of [2] with strides [1] from byte 18446744073709551615 of f64 reaches "
                "outside the address space"},
};

/* Nothing is taken over, and no deleter is called. */
START_TEST(structs_that_lie) {
    const struct lie *lie = &lies[_i];
    int64_t shape[9], strides[9];
    memcpy(shape, lie->shape, sizeof shape);
    memcpy(strides, lie->strides, sizeof strides);
    Tensor dl = {.data = lie->no_data ? NULL : buffer,
                 .device_type = lie->device,
                 .ndim = lie->ndim,
                 .code = (uint8_t)lie->code,
                 .bits = (uint8_t)lie->bits,
                 .lanes = (uint16_t)lie->lanes,
                 .shape = lie->no_shape ? NULL : shape,
                 .strides = lie->dense ? NULL : strides,
                 .byte_offset = lie->byte_offset};
    Old old = {.dl = dl, .deleter = delete_old};
    New new = {.major = 1, .dl = dl, .deleter = delete_new};
    expect_failure(ct_from_dlpack(old_of(&old)), lie->status, "ct_from_dlpack", lie->message);
    expect_failure(ct_from_dlpack_versioned(new_of(&new)), lie->status, "ct_from_dlpack_versioned",
                   lie->message);
    ck_assert_int_eq(deleted, 0);
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
END_TEST

START_TEST(other_failures) {
    New new = {.major = 2, .minor = 3, .dl = honest(), .deleter = delete_new};
    new.dl.ndim = -77; /* not looked at */
    expect_failure(ct_from_dlpack_versioned(new_of(&new)), CT_EUNSUPPORTED,
                   "ct_from_dlpack_versioned", "DLPack 2.3 is not of the major version 1");
    new.major = 0;
    expect_failure(ct_from_dlpack_versioned(new_of(&new)), CT_EUNSUPPORTED,
                   "ct_from_dlpack_versioned", "DLPack 0.3 is not of the major version 1");
    expect_failure(ct_from_dlpack(NULL), CT_EINVAL, "ct_from_dlpack", "an operand is NULL");
    expect_failure(ct_from_dlpack_versioned(NULL), CT_EINVAL, "ct_from_dlpack_versioned",
                   "an operand is NULL");
    ct_tensor *dual = ct_ones(CT_DUAL64, SHAPE(2));
    expect_failure(ct_to_dlpack(dual), CT_EDTYPE, "ct_to_dlpack", "dual64 has no DLPack type");
    expect_failure(ct_to_dlpack_versioned(dual), CT_EDTYPE, "ct_to_dlpack_versioned",
                   "dual64 has no DLPack type");
    expect_failure(ct_to_dlpack(NULL), CT_EINVAL, "ct_to_dlpack", "an operand is NULL");
    expect_failure(ct_to_dlpack_versioned(NULL), CT_EINVAL, "ct_to_dlpack_versioned",
                   "an operand is NULL");
    ck_assert(ct_dlpack_has(CT_BOOL) && !ct_dlpack_has(CT_DUAL64) && !ct_dlpack_has(NULL));
    ct_free(dual);
    ck_assert_int_eq(deleted, 0);
}
END_TEST

static void reset(void) {
    deleted = 0;
    ct_error_clear();
}

Suite *suite_dlpack(void) {
    Suite *suite = suite_create("dlpack");
    TCase *tc = tcase_create("dlpack");
    tcase_add_checked_fixture(tc, reset, NULL);
#ifdef HAS_DLPACK_H
    tcase_add_test(tc, the_installed_header_agrees);
#endif
    tcase_add_test(tc, round_trips);
    tcase_add_test(tc, writes_stay_inside);
    tcase_add_test(tc, foreign_memory);
    tcase_add_loop_test(tc, structs_that_lie, 0, COUNT(lies));
    tcase_add_test(tc, other_failures);
    suite_add_tcase(suite, tc);
    return suite;
}
