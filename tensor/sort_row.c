#include "tensor/sort.h"

#include "tensor/checked.h"

#include <string.h>

// One row. Items of types with keys are sorted as numbers: a key of 32 bits and a place fill one
// word, a longer key and its place a pair; values of 64 bits can do without their place.

enum { RUN = 16, MANY = 128 }; // items: to be inserted, and worth counting digits for

typedef uint64_t word;

#define ITEM         word
#define NAME(x)      word_##x
#define KEY(a)       (a)
#define BEFORE(a, b) ((a) < (b))
#include "tensor/sort_items.inc"

struct pair {
    uint64_t key;
    int64_t place;
};

#define ITEM         struct pair
#define NAME(x)      pair_##x
#define KEY(a)       ((a).key)
#define BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#include "tensor/sort_items.inc"

bool ct__sort_scratch(const struct ct__order *order, size_t n, size_t *bytes) {
    (void)order;
    return ct__mul_size(n, 2 * sizeof(struct pair), bytes);
}

static bool fits_word(const struct ct__order *order, size_t n) {
    return order->narrow && n <= UINT32_MAX;
}

// Selecting is better than sorting for few of many.
static bool is_few(size_t most, size_t n) {
    return most < n / 8;
}

// The first `most` of n words: a key above, a place below.
static word *sort_words(const struct ct__order *order, size_t n, size_t most, const char *row,
                        void *scratch) {
    word *a = scratch;
    ct__make_keys(order, n, row, (ptrdiff_t)order->scalar->size, a);
    for (size_t i = 0; i < n; i++)
        a[i] = a[i] << 32 | i;
    if (is_few(most, n))
        word_select(a, n, most);
    else
        word_sort(a, a + n, n, 4);
    return a;
}

static struct pair *sort_pairs(const struct ct__order *order, size_t n, size_t most,
                               const char *row, void *scratch) {
    struct pair *a = scratch, *spare = a + n;
    uint64_t *keys = (uint64_t *)(void *)spare;
    ct__make_keys(order, n, row, (ptrdiff_t)order->scalar->size, keys);
    for (size_t i = 0; i < n; i++)
        a[i] = (struct pair){keys[i], (int64_t)i};
    if (is_few(most, n))
        pair_select(a, n, most);
    else
        pair_sort(a, spare, n, 0);
    return a;
}

// --- without keys

// Merges places whose items are in order: a[0, half) and a[half, n) into b.
static void merge_places(const struct ct__order *order, const char *row, const int64_t *a,
                         size_t half, size_t n, int64_t *b) {
    const ct_scalar *scalar = order->scalar;
    const ptrdiff_t size = (ptrdiff_t)scalar->size, step[] = {0, 0, 0};
    size_t i = 0, j = half, k = 0;
    while (i < half && j < n) {
        char later = 0, *x = (char *)(uintptr_t)row + a[i] * size,
             *z = (char *)(uintptr_t)row + a[j] * size;
        char *const ptr[] = {order->descending ? x : z, order->descending ? z : x, &later};
        order->less(scalar, CT_OP_less, 1, ptr, step);
        b[k++] = later ? a[j++] : a[i++];
    }
    memcpy(b + k, a + i, (half - i) * sizeof *a);
    memcpy(b + k + half - i, a + j, (n - j) * sizeof *a);
}

// The items are no NaN.
static void sort_by_loops(const struct ct__order *order, const char *row, size_t n, int64_t *a,
                          int64_t *spare) {
    int64_t *from = a, *to = spare;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t m = n - i < 2 * width ? n - i : 2 * width;
            merge_places(order, row, from + i, m < width ? m : width, m, to + i);
        }
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
}

static int64_t *sort_other(const struct ct__order *order, size_t n, const char *row,
                           void *scratch) {
    int64_t *a = scratch, *spare = a + n;
    char *nan = (char *)(spare + n);
    size_t nans = 0, numbers = 0;
    ct__find_nans(order, n, row, nan);
    for (size_t i = 0; i < n; i++)
        nans += nan[i] != 0;
    int64_t *first = order->descending ? a + nans : a; // of the numbers
    int64_t *other = order->descending ? a : a + (n - nans);
    for (size_t i = 0; i < n; i++)
        if (nan[i])
            *other++ = (int64_t)i;
        else
            first[numbers++] = (int64_t)i;
    sort_by_loops(order, row, numbers, first, spare);
    return a;
}

// --- places and values

void ct__sort_places(const struct ct__order *order, size_t n, size_t most, const char *row,
                     int64_t *places, void *scratch) {
    if (most == 0)
        return;
    if (!order->key) {
        memcpy(places, sort_other(order, n, row, scratch), most * sizeof *places);
    } else if (fits_word(order, n)) {
        const word *a = sort_words(order, n, most, row, scratch);
        for (size_t i = 0; i < most; i++)
            places[i] = (int64_t)(uint32_t)a[i];
    } else {
        const struct pair *a = sort_pairs(order, n, most, row, scratch);
        for (size_t i = 0; i < most; i++)
            places[i] = a[i].place;
    }
}

// Numbers of 64 bits are made from their sorted keys again; 0 and -0 have one key, and so have all
// NaN: these are put in the order of the row.
static void sort_f64(const struct ct__order *order, size_t n, const double *row, double *sorted,
                     uint64_t *keys) {
    const uint64_t sign = (uint64_t)1 << 63, flip = order->descending ? UINT64_MAX : 0;
    size_t zero = n, nan = n; // where the first ones stand
    ct__make_keys(order, n, (const char *)row, sizeof *row, keys);
    word_sort(keys, keys + n, n, 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys[i] ^ flip, bits = key & sign ? key ^ sign : ~key;
        memcpy(&sorted[i], &bits, sizeof bits);
        if (key == sign && zero == n)
            zero = i;
        if (key == UINT64_MAX && nan == n)
            nan = i;
    }
    for (size_t i = 0; (zero < n || nan < n) && i < n; i++)
        if (row[i] == 0)
            sorted[zero++] = row[i];
        else if (row[i] != row[i])
            sorted[nan++] = row[i];
}

static void sort_i64(const struct ct__order *order, size_t n, const char *row, int64_t *sorted,
                     uint64_t *keys) {
    const uint64_t sign = (uint64_t)1 << 63, flip = order->descending ? UINT64_MAX : 0;
    ct__make_keys(order, n, row, sizeof *sorted, keys);
    word_sort(keys, keys + n, n, 0);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (int64_t)(keys[i] ^ flip ^ sign);
}

static void put_item(const struct ct__order *order, const char *row, int64_t place, char *to) {
    size_t size = order->scalar->size;
    memcpy(to, row + place * (ptrdiff_t)size, size);
}

void ct__sort_values(const struct ct__order *order, size_t n, const char *row, char *sorted,
                     void *scratch) {
    size_t size = order->scalar->size;
    if (order->scalar == CT_F64) {
        sort_f64(order, n, (const double *)(const void *)row, (double *)(void *)sorted, scratch);
    } else if (order->scalar == CT_I64) {
        sort_i64(order, n, row, (int64_t *)(void *)sorted, scratch);
    } else if (!order->key) {
        const int64_t *a = sort_other(order, n, row, scratch);
        for (size_t i = 0; i < n; i++)
            put_item(order, row, a[i], sorted + i * size);
    } else if (fits_word(order, n)) {
        const word *a = sort_words(order, n, n, row, scratch);
        for (size_t i = 0; i < n; i++)
            put_item(order, row, (int64_t)(uint32_t)a[i], sorted + i * size);
    } else {
        const struct pair *a = sort_pairs(order, n, n, row, scratch);
        for (size_t i = 0; i < n; i++)
            put_item(order, row, a[i].place, sorted + i * size);
    }
}
