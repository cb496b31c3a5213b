/* Conversion between scalar types. Types of the core go in blocks; those from outside, and duals,
   item by item. */

#include "tensor/convert_blocks.h"
#include "tensor/fail.h"
#include "tensor/isa.h"
#include "tensor/move.h"
#include "tensor/parallel.h"
#include "tensor/storage.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

const struct ct__lane *ct__lane_of(const ct_scalar *scalar) {
    static const struct ct__lane *const lanes[] = {
        [CT__ISA_SCALAR] = ct__lanes_scalar,
        [CT__ISA_AVX2] = ct__lanes_avx2,
        [CT__ISA_AVX512] = ct__lanes_avx512,
    };
    const struct ct__lane *lane = lanes[ct__isa_current()];
    for (int i = 0; i < CT__LANES; i++)
        if (lane[i].scalar == scalar)
            return &lane[i];
    return NULL;
}

/* --- one item --- */

static size_t parts_of(const ct_scalar *scalar) {
    return scalar->base ? scalar->size / scalar->base->size : 1;
}

/* Whether the parts of one type correspond to those of another. */
static bool can_convert(const ct_scalar *source, const ct_scalar *target, enum ct_cast_mode mode) {
    if (source->level < target->level)
        return target->base && can_convert(source, target->base, mode);
    if (source->level > target->level)
        return mode == CT_CAST_TRUNCATE && source->base && can_convert(source->base, target, mode);
    return !source->base == !target->base &&
           (!source->base || (parts_of(source) == parts_of(target) &&
                              can_convert(source->base, target->base, mode)));
}

/* Whole numbers of 64 bits are taken as such where one side counts in integers. */
static bool goes_by_integers(const ct_scalar *source, const ct_scalar *target) {
    return source->to_i64 && ((source->traits | target->traits) & (CT_INTEGER | CT_BOOLEAN)) != 0;
}

static bool convert_whole(const ct_scalar *target, int64_t x, char *to) {
    if (target->from_i64 && target->from_i64(target, to, x))
        return true;
    double rounded = (double)x;
    bool exact = rounded < 0x1p63 && (int64_t)rounded == x;
    return (exact || target->traits & CT_REAL) && target->from_double(target, to, rounded);
}

enum { ITEM_BYTES = 1024 };

/* The double of an item that is no whole number, where truncation may take it: rounded to a whole
   one, it may lie beyond the item as seen from 0. */
static double towards_zero(const ct_scalar *source, const char *from, double x) {
    _Alignas(64) char whole[ITEM_BYTES], less = 0;
    ct_loop_fn *loop = ct_scalar_loop(source, CT_OP_less);
    if (x != trunc(x) || !(fabs(x) < 0x1p63) || !loop || source->size > ITEM_BYTES ||
        !source->from_i64 || !source->from_i64(source, whole, (int64_t)x))
        return x;
    char *item = (char *)(uintptr_t)from; /* only read */
    char *ptr[] = {x > 0 ? item : whole, x > 0 ? whole : item, &less};
    loop(source, CT_OP_less, 1, ptr, (ptrdiff_t[]){0, 0, 0});
    return less ? x - copysign(1, x) : x;
}

static bool convert_number(const ct_scalar *source, const ct_scalar *target, const char *from,
                           char *to, enum ct_cast_mode mode) {
    const struct ct__lane *lane = ct__lane_of(target);
    union ct__numbers x;
    if (goes_by_integers(source, target) && source->to_i64(source, from, &x.wholes[0]))
        return lane ? lane->store_wholes[mode](1, &x, to) == 1
                    : convert_whole(target, x.wholes[0], to);
    if (goes_by_integers(source, target) && mode == CT_CAST_STRICT && target->traits & CT_INTEGER)
        return false; /* not whole, though its double may be */
    x.reals[0] = source->to_double(source, from);
    if (goes_by_integers(source, target) && target->traits & CT_INTEGER)
        x.reals[0] = towards_zero(source, from, x.reals[0]);
    return lane ? lane->store_reals[mode](1, &x, to) == 1
                : target->from_double(target, to, x.reals[0]);
}

/* Two types for which can_convert(). */
static bool convert_item(const ct_scalar *source, const ct_scalar *target, const char *from,
                         char *to, enum ct_cast_mode mode) {
    if (source->level > target->level)
        return convert_item(source->base, target, from, to, mode);
    bool lifted = source->level < target->level;
    if (lifted && !convert_item(source, target->base, from, to, mode))
        return false;
    if (!target->base)
        return convert_number(source, target, from, to, mode);
    for (size_t i = lifted ? 1 : 0; i < parts_of(target); i++) {
        char *part = to + i * target->base->size;
        if (lifted ? !target->base->from_double(target->base, part, 0)
                   : !convert_item(source->base, target->base, from + i * source->base->size, part,
                                   mode))
            return false;
    }
    return true;
}

/* --- rows --- */

struct conversion {
    const ct_scalar *source, *target;
    enum ct_cast_mode mode;
    ct__load_fn *load; /* NULL: item by item */
    ct__store_fn *store;
    struct ct__nest nest;
    const char *from;
    char *to;
    bool streams;                /* past the caches */
    _Atomic size_t first_misfit; /* its number in row-major order */
};

static void choose_lanes(struct conversion *c) {
    const struct ct__lane *source = ct__lane_of(c->source), *target = ct__lane_of(c->target);
    if (!source || !target)
        return;
    bool by_reals = source->load_reals && (c->target->traits & CT_REAL || !source->load_wholes);
    c->load = by_reals ? source->load_reals : source->load_wholes;
    c->store = by_reals ? target->store_reals[c->mode] : target->store_wholes[c->mode];
}

/* The number of items converted before the first that does not fit. */
static size_t convert_row(const struct conversion *c, size_t n, const char *from, ptrdiff_t step,
                          char *to) {
    union ct__numbers block;
    _Alignas(64) char stage[sizeof block];
    size_t size = c->target->size;
    for (size_t i = 0; i < n && !c->load; i++)
        if (!convert_item(c->source, c->target, from + (ptrdiff_t)i * step, to + i * size, c->mode))
            return i;
    for (size_t i = 0; i < n && c->load; i += CT__CONVERT_BLOCK) {
        size_t count = n - i < CT__CONVERT_BLOCK ? n - i : CT__CONVERT_BLOCK;
        c->load(count, from + (ptrdiff_t)i * step, step, &block);
        size_t good = c->store(count, &block, c->streams ? stage : to + i * size);
        if (c->streams)
            ct__moves()->stream(to + i * size, stage, good * size);
        if (good < count)
            return i + good;
    }
    return n;
}

static void convert_items(struct conversion *c, size_t begin, size_t end) {
    int row = c->nest.rank - 1;
    ptrdiff_t size = (ptrdiff_t)c->source->size, step = (ptrdiff_t)c->nest.step[0][row] * size;
    size_t extent = (size_t)c->nest.shape[row], at = begin % extent;
    struct ct__walk walk;
    ct__walk_start(&walk, &c->nest, row, begin / extent);
    for (size_t n; begin < end; begin += n, at = 0, ct__walk_next(&walk, &c->nest, row)) {
        n = extent - at < end - begin ? extent - at : end - begin;
        const char *from = c->from + walk.at[0] * size + (ptrdiff_t)at * step;
        size_t good = convert_row(c, n, from, step, c->to + begin * c->target->size);
        if (good < n) {
            ct__keep_lowest(&c->first_misfit, begin + good);
            return;
        }
    }
}

static void convert_range(void *context, size_t begin, size_t end) {
    struct conversion *c = context;
    convert_items(c, begin, end);
    if (c->streams)
        ct__moves()->end();
}

/* Address of the item that has a number in row-major order. */
static const char *item_at(const ct_tensor *t, size_t item) {
    int64_t index[CT_MAX_RANK], distance = 0;
    ct__unravel(t->rank, t->shape, item, index);
    for (int i = 0; i < t->rank; i++)
        distance += index[i] * t->strides[i];
    return ct__first(t) + distance * (ptrdiff_t)t->scalar->size;
}

static ct_status fail_misfit(const char *who, const ct_tensor *t, const ct_scalar *target,
                             size_t item) {
    char value[256], text[CT__AT_INDEX_BYTES];
    t->scalar->format(t->scalar, item_at(t, item), value, sizeof value);
    return ct__fail(CT_EDOMAIN, who, "the value %s%s does not fit %s", value,
                    ct__at_index(text, t->rank, t->shape, item), target->name);
}

enum { GRAIN = 1 << 14 }; /* items that are not worth waking a thread for */

ct_status ct__convert(const char *who, const ct_tensor *t, const ct_scalar *target,
                      enum ct_cast_mode mode, char *to) {
    struct conversion c = {.source = t->scalar, .target = target, .mode = mode};
    choose_lanes(&c);
    c.nest = ct__rows_of(t, t->strides);
    c.from = ct__first(t);
    c.to = to;
    c.streams = c.load && ct__streams(t->count * target->size);
    atomic_init(&c.first_misfit, SIZE_MAX);
    ct__parallel_for(t->count, GRAIN, convert_range, &c);
    size_t item = atomic_load(&c.first_misfit);
    return item == SIZE_MAX ? CT_OK : fail_misfit(who, t, target, item);
}

/* --- tensors --- */

static ct_status fail_types(const char *who, const ct_scalar *source, const ct_scalar *target) {
    if (source->level > target->level)
        return ct__fail(CT_EDTYPE, who, "cannot convert %s to %s: the tangents would be lost",
                        source->name, target->name);
    return ct__fail(CT_EDTYPE, who, "cannot convert %s to %s: their parts do not correspond",
                    source->name, target->name);
}

/* Whether walking t in row-major order jumps through memory that another axis walks in steps of
   one: such a tensor is better turned first. */
static bool is_turned(const ct_tensor *t) {
    enum { FAR_BYTES = 1 << 20 };
    if (t->count < FAR_BYTES / t->scalar->size)
        return false;
    bool has_unit = false;
    int last = -1;
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] > 1) {
            has_unit = has_unit || t->strides[i] == 1;
            last = i;
        }
    return has_unit && last >= 0 && t->strides[last] != 1;
}

static ct_tensor *converted(const char *who, const ct_tensor *t, const ct_scalar *scalar,
                            enum ct_cast_mode mode) {
    if (!can_convert(t->scalar, scalar, mode)) {
        fail_types(who, t->scalar, scalar);
        return NULL;
    }
    ct_tensor *dense = is_turned(t) ? ct_compact(t) : ct__share(who, t);
    ct_tensor *result = dense ? ct__empty(who, scalar, t->rank, t->shape) : NULL;
    if (result && t->count > 0 && ct__convert(who, dense, scalar, mode, ct__first(result))) {
        ct_free(result);
        result = NULL;
    }
    ct_free(dense);
    if (result)
        ct__names_like(result, t);
    return result;
}

static ct_tensor *cast(const char *who, const ct_tensor *t, const ct_scalar *scalar,
                       enum ct_cast_mode mode) {
    if (!t || !scalar)
        return ct__null(who);
    return t->scalar == scalar ? ct__share(who, t) : converted(who, t, scalar, mode);
}

ct_tensor *ct_astype(const ct_tensor *t, const ct_scalar *scalar) {
    return cast(__func__, t, scalar, CT_CAST_STRICT);
}

ct_tensor *ct_cast(const ct_tensor *t, const ct_scalar *scalar, enum ct_cast_mode mode) {
    if (mode != CT_CAST_STRICT && mode != CT_CAST_TRUNCATE)
        return ct__fail_null(CT_EINVAL, __func__, "%d is not a mode of conversion", (int)mode);
    return cast(__func__, t, scalar, mode);
}

/* --- the report --- */

/* Counts what does not fit; of the first, its number, else SIZE_MAX. */
static size_t examine(const ct_tensor *t, const ct_scalar *target, bool only_first,
                      struct ct_cast_report *report) {
    _Alignas(64) char there[ITEM_BYTES], back[ITEM_BYTES];
    const ct_scalar *source = t->scalar, *number = target;
    while (number->level > source->level)
        number = number->base; /* what was lifted stands first in the item */
    size_t first = SIZE_MAX;
    struct ct__nest nest = ct__rows_of(t, t->strides);
    struct ct__walk walk;
    ct__walk_start(&walk, &nest, nest.rank, 0);
    for (size_t i = 0; i < t->count; i++, ct__walk_next(&walk, &nest, nest.rank)) {
        const char *item = ct__first(t) + walk.at[0] * (ptrdiff_t)source->size;
        if (!convert_item(source, target, item, there, CT_CAST_STRICT)) {
            first = first < i ? first : i;
            report->misfits++;
            if (only_first)
                break;
        } else if (!only_first && !(convert_item(number, source, there, back, CT_CAST_STRICT) &&
                                    source->equal(source, item, back))) {
            report->rounded++;
        }
    }
    return first;
}

ct_status ct_cast_report(const ct_tensor *t, const ct_scalar *scalar,
                         struct ct_cast_report *report) {
    if (!t || !scalar)
        return ct__fail_null_operand(__func__);
    if (!report)
        return ct__fail(CT_EINVAL, __func__, "the place for the report is NULL");
    if (!can_convert(t->scalar, scalar, CT_CAST_STRICT))
        return fail_types(__func__, t->scalar, scalar);
    if (t->scalar->size > ITEM_BYTES || scalar->size > ITEM_BYTES)
        return ct__fail(CT_EUNSUPPORTED, __func__, "an item of %s takes more than %d bytes",
                        t->scalar->size > ITEM_BYTES ? t->scalar->name : scalar->name, ITEM_BYTES);
    *report = (struct ct_cast_report){0};
    size_t first =
        t->count == 0 || t->scalar == scalar ? SIZE_MAX : examine(t, scalar, false, report);
    if (first == SIZE_MAX)
        return CT_OK;
    const char *item = item_at(t, first);
    report->value = t->scalar->to_double(t->scalar, item);
    t->scalar->format(t->scalar, item, report->text, sizeof report->text);
    ct__unravel(t->rank, t->shape, first, report->first);
    return CT_OK;
}

bool ct_can_astype(const ct_tensor *t, const ct_scalar *scalar) {
    struct ct_cast_report report = {0};
    if (!t || !scalar || !can_convert(t->scalar, scalar, CT_CAST_STRICT) ||
        t->scalar->size > ITEM_BYTES || scalar->size > ITEM_BYTES)
        return false;
    return t->count == 0 || t->scalar == scalar || examine(t, scalar, true, &report) == SIZE_MAX;
}
