#include "view_chains.h"

#include "tensor_tools.h"
#include "tensor/ct_alloc.h"
#include "tensor/ct_names.h"
#include "tensor/ct_reduce.h"

#include <string.h>

int python_slice(int64_t n, int64_t start, int64_t stop, int64_t step, int64_t *found) {
    int count = 0;
    bool to_the_end = stop == CT_END;
    start = start < 0 ? start + n : start;
    stop = stop < 0 && !to_the_end ? stop + n : stop;
    if (step > 0) {
        start = start < 0 ? 0 : start;
        stop = to_the_end || stop > n ? n : stop;
        for (int64_t i = start; i < stop; i += step)
            found[count++] = i;
    } else {
        start = start >= n ? n - 1 : start;
        stop = to_the_end || stop < -1 ? -1 : stop;
        for (int64_t i = start; i > stop; i += step)
            found[count++] = i;
    }
    return count;
}

// --- the model: every variable is its own array

enum { MOST = 1024, VARIABLES = 4 };

struct model {
    int rank;
    int64_t shape[CT_MAX_RANK];
    const char *name[CT_MAX_RANK];
    int count;
    double items[MOST];
};

struct program {
    const uint8_t *next, *end;
};

static int take(struct program *p, int below) {
    return p->next < p->end && below > 0 ? *p->next++ % below : 0;
}

// How an index of the result is made from one of the source: the source's axis i is at
// start[i] + the sum over the result's axes k of way[i][k] * index[k]. Every view is such a map.
struct map {
    int rank;
    int64_t shape[CT_MAX_RANK];
    const char *name[CT_MAX_RANK];
    int64_t start[CT_MAX_RANK];
    int64_t way[CT_MAX_RANK][CT_MAX_RANK];
};

// Adds an axis to a map, which walks the source's axis `from` (or none, -1) by `way` from `start`.
static void map_axis(struct map *map, const struct model *m, int from, int64_t extent,
                     int64_t start, int64_t way) {
    int k = map->rank++;
    map->shape[k] = extent;
    map->name[k] = from >= 0 ? m->name[from] : NULL;
    if (from >= 0) {
        map->start[from] = start;
        map->way[from][k] = way;
    }
}

static int count_of(int rank, const int64_t *shape) {
    int count = 1;
    for (int i = 0; i < rank; i++)
        count *= (int)shape[i];
    return count;
}

static bool is_small(int rank, const int64_t *shape) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (shape[i] == 0)
            return true;
    for (int i = 0; i < rank && count <= MOST; i++)
        count *= shape[i];
    return count <= MOST;
}

static void apply(struct model *m, const struct map *map) {
    static struct model old;
    old = *m;
    m->rank = map->rank;
    memcpy(m->shape, map->shape, sizeof m->shape);
    memcpy(m->name, map->name, sizeof m->name);
    m->count = count_of(m->rank, m->shape);
    for (int i = 0; i < m->count; i++) {
        int64_t to[CT_MAX_RANK], at = 0;
        for (int axis = m->rank - 1, rest = i; axis >= 0; axis--) {
            to[axis] = rest % m->shape[axis];
            rest /= (int)m->shape[axis];
        }
        for (int axis = 0; axis < old.rank; axis++) {
            int64_t from = map->start[axis];
            for (int k = 0; k < m->rank; k++)
                from += map->way[axis][k] * to[k];
            ck_assert(from >= 0 && from < old.shape[axis]);
            at = at * old.shape[axis] + from;
        }
        m->items[i] = old.items[at];
    }
}

static int axis_of(struct program *p, int rank, int *counted) {
    int axis = take(p, rank);
    *counted = take(p, 2) ? axis - rank : axis;
    return axis;
}

// --- one step each: the model's and the library's

struct cut {
    int64_t start, stop, step;    // as they are given
    int64_t first, count, stride; // as Python walks them
};

static struct cut draw_cut(struct program *p, int64_t n) {
    struct cut cut;
    int64_t positions[MOST];
    cut.start = take(p, 2 * (int)n + 5) - n - 2;
    cut.stop = take(p, 2 * (int)n + 6) - n - 3;
    cut.step = take(p, 7) - 3;
    cut.step = cut.step == 0 ? 1 : cut.step;
    if (take(p, 3)) // from near the beginning to the end
        cut.start = cut.step > 0 ? take(p, 2) : -1 - take(p, 2), cut.stop = -n - 3;
    cut.stop = cut.stop == -n - 3 ? CT_END : cut.stop;
    cut.count = python_slice(n, cut.start, cut.stop, cut.step, positions);
    cut.first = cut.count ? positions[0] : 0;
    cut.stride = cut.step;
    return cut;
}

static ct_tensor *step_slice(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int counted, axis = axis_of(p, m->rank, &counted);
    struct cut cut = draw_cut(p, m->shape[axis]);
    for (int i = 0; i < m->rank; i++)
        if (i == axis)
            map_axis(&map, m, i, cut.count, cut.first, cut.stride);
        else
            map_axis(&map, m, i, m->shape[i], 0, 1);
    apply(m, &map);
    return ct_slice(t, counted, cut.start, cut.stop, cut.step);
}

static ct_tensor *step_slice_all(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int n = take(p, m->rank + 1);
    int64_t starts[CT_MAX_RANK], stops[CT_MAX_RANK], steps[CT_MAX_RANK], positions[MOST];
    int absent = take(p, 8); // bits: which arrays are NULL
    for (int i = 0; i < m->rank; i++) {
        struct cut cut = {.first = 0, .count = m->shape[i], .stride = 1};
        if (i < n) {
            cut = draw_cut(p, m->shape[i]);
            cut.stride = absent & 4 ? 1 : cut.step;
            int64_t start = absent & 1 ? (cut.stride > 0 ? 0 : -1) : cut.start;
            cut.count = python_slice(m->shape[i], start, absent & 2 ? CT_END : cut.stop, cut.stride,
                                     positions);
            cut.first = cut.count ? positions[0] : 0;
            starts[i] = cut.start, stops[i] = cut.stop, steps[i] = cut.step;
        }
        map_axis(&map, m, i, cut.count, cut.first, cut.stride);
    }
    apply(m, &map);
    return ct_slice_all(t, n, absent & 1 ? NULL : starts, absent & 2 ? NULL : stops,
                        absent & 4 ? NULL : steps);
}

static ct_tensor *step_select(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int counted, axis = axis_of(p, m->rank, &counted);
    int64_t n = m->shape[axis];
    ck_assert(!ct_can_select(t, counted, n) && !ct_can_select(t, counted, -n - 1));
    if (n == 0)
        return ct_copy(t);
    int64_t place = take(p, (int)n), index = take(p, 2) ? place - n : place;
    map.start[axis] = place;
    for (int i = 0; i < m->rank; i++)
        if (i != axis)
            map_axis(&map, m, i, m->shape[i], 0, 1);
    apply(m, &map);
    ck_assert(ct_can_select(t, counted, index));
    return ct_select(t, counted, index);
}

static ct_tensor *step_permute(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int order[CT_MAX_RANK], axes[CT_MAX_RANK], how = take(p, 4) & (m->rank > 0 ? 3 : 2);
    for (int i = 0; i < m->rank; i++)
        order[i] = i;
    int a = take(p, m->rank), b = take(p, m->rank);
    if (how == 0 && m->rank >= 2)
        a = m->rank - 1, b = m->rank - 2;
    for (int i = m->rank - 1; i > 0 && how == 2; i--) {
        int j = take(p, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    if (how < 2)
        order[a] = b, order[b] = a;
    if (how == 3) { // a goes to b
        int n = 0, others[CT_MAX_RANK];
        for (int i = 0; i < m->rank; i++)
            if (i != a)
                others[n++] = i;
        for (int i = 0, next = 0; i < m->rank; i++)
            order[i] = i == b ? a : others[next++];
    }
    for (int i = 0; i < m->rank; i++) {
        map_axis(&map, m, order[i], m->shape[order[i]], 0, 1);
        axes[i] = take(p, 2) ? order[i] - m->rank : order[i];
    }
    if (m->rank >= 2 || how != 0)
        apply(m, &map);
    ck_assert(how != 2 || ct_can_permute(t, map.rank, axes));
    return how == 0   ? ct_transpose(t)
           : how == 1 ? ct_swap_axes(t, a, b - map.rank)
           : how == 2 ? ct_permute(t, map.rank, axes)
                      : ct_move_axis(t, a - map.rank, b);
}

static ct_tensor *step_ones(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int axes[CT_MAX_RANK], n = 0, how = take(p, 3);
    if (how == 0 && m->rank < CT_MAX_RANK) {
        int at = take(p, m->rank + 1);
        for (int i = 0; i <= m->rank; i++) {
            if (i == at)
                map_axis(&map, m, -1, 1, 0, 0);
            if (i < m->rank)
                map_axis(&map, m, i, m->shape[i], 0, 1);
        }
        int counted = take(p, 2) ? at : at - m->rank - 1;
        apply(m, &map);
        return ct_expand_dims(t, counted);
    }
    for (int i = 0; i < m->rank; i++)
        if (m->shape[i] == 1 && (how == 1 || take(p, 2)))
            axes[n++] = i;
        else
            map_axis(&map, m, i, m->shape[i], 0, 1);
    int rank = m->rank;
    apply(m, &map);
    ck_assert(ct_can_squeeze(t, n, axes));
    if (how == 1)
        return ct_squeeze(t, CT_ALL);
    if (n == 1)
        return ct_squeeze(t, axes[0] - rank);
    return ct_squeeze_axes(t, n, axes);
}

static ct_tensor *step_broadcast(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int extra = m->rank < 6 ? take(p, 2) : 0, rank = m->rank + extra;
    int64_t count = m->count;
    for (int i = 0; i < rank; i++) {
        int from = i - extra;
        int64_t extent = from < 0 ? 1 : m->shape[from];
        int64_t wide = take(p, 16) ? 1 + take(p, 3) : 0;
        bool repeats = extent == 1 && count * wide <= MOST;
        if (repeats)
            count *= extent = wide;
        map_axis(&map, m, from < 0 ? -1 : from, extent, 0,
                 from >= 0 && m->shape[from] == 1 ? 0 : 1);
    }
    apply(m, &map);
    ck_assert(ct_can_broadcast_to(t, map.rank, map.shape));
    return ct_broadcast_to(t, map.rank, map.shape);
}

// The names of a reshape: those of the axes at both ends that it leaves alone.
static void reshape_model(struct model *m, int rank, const int64_t *shape, int leading,
                          int trailing) {
    const char *name[CT_MAX_RANK] = {NULL};
    for (int i = 0; i < leading; i++)
        name[i] = m->name[i];
    for (int i = 1; i <= trailing; i++)
        name[rank - i] = m->name[m->rank - i];
    m->rank = rank;
    memcpy(m->shape, shape, sizeof *shape * (size_t)rank);
    memcpy(m->name, name, sizeof name);
}

static ct_tensor *step_reshape(struct program *p, const ct_tensor *t, struct model *m) {
    static const int factors[] = {2, 3, 4, 5};
    int64_t shape[CT_MAX_RANK];
    int rank = 0, rest = m->count, leading = 0, trailing = 0;
    while (rank < 5 && take(p, 3)) {
        int factor = factors[take(p, 4)];
        if (rest > 0 && rest % factor == 0)
            rest /= factor, shape[rank++] = factor;
    }
    shape[rank++] = rest;
    bool view = ct_can_view_as(t, rank, shape);
    ct_tensor *result = NULL;
    if (m->count > 0 && take(p, 2)) {
        shape[rank - 1] = -1;
        result = ct_reshape(t, rank, shape);
        shape[rank - 1] = rest;
    } else {
        result = ct_reshape(t, rank, shape);
    }
    ck_assert(m->count == 0 || !view || ct_data(result) == ct_data(t));
    while (leading < rank && leading < m->rank && shape[leading] == m->shape[leading])
        leading++;
    while (trailing < rank - leading && trailing < m->rank - leading &&
           shape[rank - 1 - trailing] == m->shape[m->rank - 1 - trailing])
        trailing++;
    reshape_model(m, rank, shape, leading, trailing);
    return result;
}

static ct_tensor *step_flatten(struct program *p, const ct_tensor *t, struct model *m) {
    int64_t shape[CT_MAX_RANK] = {1};
    if (m->rank == 0) {
        reshape_model(m, 1, shape, 0, 0);
        return ct_flatten(t, 0, -1);
    }
    int first = take(p, m->rank), last = first + take(p, m->rank - first), rank = 0, old = m->rank;
    for (int i = 0; i < m->rank; i++)
        if (i > first && i <= last)
            shape[rank - 1] *= m->shape[i];
        else
            shape[rank++] = m->shape[i];
    if (first < last)
        reshape_model(m, rank, shape, first, m->rank - 1 - last);
    return ct_flatten(t, first - old, last);
}

static ct_tensor *step_flip(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int axes[CT_MAX_RANK], n = 0, how = take(p, 3), only, rank = m->rank;
    int axis = axis_of(p, rank, &only);
    for (int i = 0; i < rank; i++) {
        bool turned = how == 0 ? i == axis : how == 1 ? true : take(p, 2) == 1;
        map_axis(&map, m, i, m->shape[i], turned ? m->shape[i] - 1 : 0, turned ? -1 : 1);
        if (turned)
            axes[n++] = i - rank;
    }
    apply(m, &map);
    return how == 0 ? ct_flip(t, only) : how == 1 ? ct_flip(t, CT_ALL) : ct_flip_axes(t, n, axes);
}

static ct_tensor *step_diagonal(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    if (m->rank < 2)
        return ct_copy(t);
    int axis = take(p, m->rank), other = (axis + 1 + take(p, m->rank - 1)) % m->rank;
    int64_t rows = m->shape[axis], columns = m->shape[other];
    int64_t offset = take(p, (int)(rows + columns) + 3) - rows - 1, length = 0, first = -1;
    offset = take(p, 3) ? take(p, 3) - 1 : offset;
    for (int64_t i = 0; i < rows; i++)
        if (i + offset >= 0 && i + offset < columns) {
            first = first < 0 ? i : first;
            length++;
        }
    for (int i = 0; i < m->rank; i++)
        if (i != axis && i != other)
            map_axis(&map, m, i, m->shape[i], 0, 1);
    map_axis(&map, m, -1, length, 0, 0);
    map.start[axis] = first, map.way[axis][map.rank - 1] = 1;
    map.start[other] = first + offset, map.way[other][map.rank - 1] = 1;
    int rank = m->rank;
    apply(m, &map);
    return ct_diagonal(t, offset, axis - rank, other);
}

static ct_tensor *step_unfold(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int counted, axis = axis_of(p, m->rank, &counted);
    int64_t n = m->shape[axis], size = take(p, (int)n + 1), step = 1 + take(p, 4), windows = 0;
    size = size == 0 && n > 0 && take(p, 4) ? n : size;
    ck_assert(!ct_can_unfold(t, counted, n + 1, 1) && !ct_can_unfold(t, counted, 0, 0));
    for (int64_t at = 0; at + size <= n; at += step)
        windows++;
    for (int i = 0; i < m->rank; i++)
        map_axis(&map, m, i, i == axis ? windows : m->shape[i], 0, i == axis ? step : 1);
    if (m->rank == CT_MAX_RANK)
        return ct_copy(t);
    map_axis(&map, m, -1, size, 0, 0);
    map.way[axis][map.rank - 1] = 1;
    if (!is_small(map.rank, map.shape))
        return ct_copy(t);
    apply(m, &map);
    ck_assert(ct_can_unfold(t, counted, size, step));
    return ct_unfold(t, counted, size, step);
}

static ct_tensor *step_split(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    int counted, axis = axis_of(p, m->rank, &counted);
    int64_t n = m->shape[axis], sizes[3], first = 0;
    ct_tensor *parts[8] = {NULL};
    int count = 1 + take(p, 3), kept = take(p, count);
    bool equal = take(p, 2) && n % count == 0;
    for (int i = 0, left = (int)n; i < count; i++) {
        sizes[i] = equal ? n / count : i == count - 1 ? left : take(p, left + 1);
        left -= (int)sizes[i];
    }
    for (int i = 0; i < kept; i++)
        first += sizes[i];
    for (int i = 0; i < m->rank; i++)
        map_axis(&map, m, i, i == axis ? sizes[kept] : m->shape[i],
                 i == axis && sizes[kept] > 0 ? first : 0, 1);
    apply(m, &map);
    ck_assert(!equal || ct_can_split(t, counted, count));
    ck_assert_int_eq(equal ? ct_split(t, counted, count, parts)
                           : ct_split_sizes(t, counted, count, sizes, parts),
                     CT_OK);
    for (int i = 0; i < count; i++)
        if (i != kept)
            ct_free(parts[i]);
    return parts[kept];
}

static ct_tensor *step_name(struct program *p, const ct_tensor *t, struct model *m) {
    static const char *const pool[] = {"batch", "time", "feature", "\xc3\xa9tat", NULL, "x", "y"};
    const char *names[CT_MAX_RANK];
    int from = take(p, 7);
    for (int i = 0; i < m->rank; i++)
        names[i] = i < 7 ? pool[(from + i) % 7] : NULL;
    if (take(p, 4) == 0)
        memset(names, 0, sizeof names);
    memcpy(m->name, names, sizeof m->name);
    return ct_name_axes(t, m->rank, names);
}

static ct_tensor *step_align(struct program *p, const ct_tensor *t, struct model *m) {
    struct map map = {0};
    const char *names[CT_MAX_RANK];
    int n = 0, extra = take(p, 2) && m->rank < CT_MAX_RANK, turn = take(p, m->rank + extra);
    for (int i = 0; i < m->rank; i++)
        if (!m->name[i]) {
            ck_assert(!ct_can_align_to(t, m->rank, m->name));
            return ct_copy(t);
        }
    for (int i = 0; i < m->rank + extra; i++) {
        int at = (i + turn) % (m->rank + extra);
        map_axis(&map, m, at < m->rank ? at : -1, at < m->rank ? m->shape[at] : 1, 0,
                 at < m->rank ? 1 : 0);
        names[n++] = map.name[i] = at < m->rank ? m->name[at] : "new";
    }
    for (int i = 0; extra && i < m->rank; i++)
        if (strcmp(m->name[i], "new") == 0)
            return ct_copy(t);
    apply(m, &map);
    ck_assert(ct_can_align_to(t, n, names));
    return ct_align_to(t, n, names);
}

static ct_tensor *step_write(struct program *p, const ct_tensor *t, struct model *m) {
    ct_tensor *written = ct_copy(t);
    int64_t index[CT_MAX_RANK];
    int at = 0;
    for (int i = 0; i < m->rank && m->count > 0; i++) {
        index[i] = take(p, (int)m->shape[i]);
        at = at * (int)m->shape[i] + (int)index[i];
    }
    if (m->count > 0) {
        m->items[at] = -1 - take(p, 100);
        ck_assert_int_eq(ct_set(written, m->rank, index, m->items[at]), CT_OK);
    }
    return written;
}

typedef ct_tensor *step_fn(struct program *p, const ct_tensor *t, struct model *m);

static ct_tensor *step(struct program *p, const ct_tensor *t, struct model *m) {
    static step_fn *const anywhere[] = {step_ones,  step_broadcast, step_reshape,
                                        step_write, step_flatten,   step_permute,
                                        step_name,  step_align,     step_diagonal};
    static step_fn *const on_axes[] = {step_slice, step_slice_all, step_select,
                                       step_flip,  step_unfold,    step_split};
    int kind = take(p, COUNT(anywhere) + COUNT(on_axes) + 1);
    if (kind < COUNT(anywhere))
        return anywhere[kind](p, t, m);
    kind -= COUNT(anywhere);
    return kind < COUNT(on_axes) && m->rank > 0 ? on_axes[kind](p, t, m) : ct_compact(t);
}

// --- checks

static void check_names(const ct_tensor *t, const struct model *m) {
    bool any = false;
    for (int i = 0; i < m->rank; i++) {
        const char *found = ct_axis_name(t, i);
        any = any || m->name[i];
        ck_assert_msg(m->name[i] ? found && strcmp(found, m->name[i]) == 0 : !found,
                      "axis %d is named %s, not %s", i, found ? found : "-",
                      m->name[i] ? m->name[i] : "-");
        ck_assert(!found || ct_axis_of(t, found) == i);
    }
    ck_assert_int_eq(ct_has_names(t), any);
}

// The sum over one axis, by the model; all values are whole, so that it is exact.
static void check_sum(struct program *p, const ct_tensor *t, const struct model *m) {
    if (m->rank == 0)
        return;
    int axis = take(p, m->rank);
    bool keepdims = take(p, 2);
    int64_t inner = 1, n = m->shape[axis];
    for (int i = axis + 1; i < m->rank; i++)
        inner *= m->shape[i];
    double sums[MOST] = {0}, found[MOST];
    for (int i = 0; i < m->count; i++)
        sums[i / (n * inner) * inner + i % inner] += m->items[i];
    ct_tensor *sum = ct_sum(t, axis, keepdims);
    size_t count = ct_count(sum);
    ck_assert(count <= MOST || m->count == 0);
    if (count <= MOST) {
        ck_assert_int_eq(ct_to_doubles(sum, count, found), CT_OK);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(found[i] == sums[i], "sum %zu is %g, not %g", i, found[i], sums[i]);
    }
    for (int i = 0, to = 0; i < m->rank; i++) {
        if (i == axis && !keepdims)
            continue;
        const char *name = ct_axis_name(sum, to++);
        ck_assert(name == m->name[i] || (name && m->name[i] && !strcmp(name, m->name[i])));
    }
    ct_free(sum);
}

static void check_model(const ct_tensor *t, const struct model *m) {
    assert_items(t, m->rank, m->shape, (size_t)m->count, m->items);
    check_names(t, m);
    ct_tensor *dense = ct_compact(t);
    ck_assert(ct_is_dense(dense) && ct_tensor_equal(dense, t));
    check_names(dense, m);
    const double *items = ct_data(dense);
    for (int i = 0; i < m->count; i++)
        ck_assert(items[i] == m->items[i]);
    ct_free(dense);
}

// --- a chain

struct variable {
    ct_tensor *t;
    struct model m;
};

// A dense tensor, or a foreign one with gaps, offsets, and strides below and equal to 0.
static ct_tensor *draw_base(struct program *p, struct model *m) {
    static double buffer[4 * MOST];
    int rank = 1 + take(p, 4), foreign = take(p, 3) == 0;
    int64_t strides[CT_MAX_RANK], low = 0, next = 1;
    *m = (struct model){.rank = rank};
    for (int i = 0; i < rank; i++)
        m->shape[i] = take(p, 24) ? 1 + take(p, i < 2 ? 6 : 4) : 0;
    m->count = count_of(rank, m->shape);
    for (int i = 0; i < m->count; i++)
        m->items[i] = i;
    if (!foreign)
        return counting(CT_F64, rank, m->shape);
    for (int i = 0; i < COUNT(buffer); i++)
        buffer[i] = (i * 7) % 1000;
    for (int i = rank - 1; i >= 0; i--) {
        int kind = take(p, 4); // 0: repeated, 1: backwards, else with a gap
        strides[i] = kind == 0 ? 0 : kind == 1 ? -next : next + (kind == 3);
        if (kind == 1 && m->shape[i] > 0)
            low += next * (m->shape[i] - 1);
        if (kind != 0)
            next = (next + 1) * (m->shape[i] > 0 ? m->shape[i] : 1);
    }
    for (int i = 0; i < m->count; i++) {
        int64_t at = low;
        for (int axis = rank - 1, rest = i; axis >= 0; axis--) {
            at += rest % (int)m->shape[axis] * strides[axis];
            rest /= (int)m->shape[axis];
        }
        m->items[i] = buffer[at];
    }
    return ct_tensor_over(CT_F64, rank, m->shape, strides, low, buffer, COUNT(buffer), NULL, NULL);
}

// Which variable the next view is of: mostly the newest, but small ones are left before long.
static int draw_source(struct program *p, const struct variable *v, int newest) {
    int largest = 0;
    for (int i = 1; i < VARIABLES; i++)
        if (v[i].t && v[i].m.count > v[largest].m.count)
            largest = i;
    if (v[newest].m.count < 3 && take(p, 4))
        return take(p, 2) ? largest : 0;
    int any = take(p, 8) ? newest : take(p, VARIABLES);
    return v[any].t ? any : newest;
}

void run_view_chain(const uint8_t *bytes, size_t size) {
    static struct variable v[VARIABLES]; // the base stays, the others make room; none ever changes
    struct program p = {bytes, bytes + size};
    memset(v, 0, sizeof v);
    v[0].t = draw_base(&p, &v[0].m);
    for (int newest = 0; p.next < p.end;) {
        struct variable *source = &v[draw_source(&p, v, newest)];
        newest = newest % (VARIABLES - 1) + 1;
        static struct model next;
        next = source->m;
        ct_tensor *t = step(&p, source->t, &next);
        ct_free(v[newest].t); // what a view is of may go before it
        v[newest] = (struct variable){t, next};
        check_model(t, &next);
        check_sum(&p, t, &next);
    }
    for (int i = 0; i < VARIABLES; i++) {
        if (v[i].t)
            check_model(v[i].t, &v[i].m);
        ct_free(v[i].t);
    }
    ck_assert_uint_eq(ct_live_blocks(), 0);
}
