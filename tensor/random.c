// Random numbers from Philox 4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A block is a pure function of (seed,
// stream, position), so a draw can be cut among threads anywhere.

#include "tensor/ct_random.h"

#include "tensor/ct_ops.h"
#include "tensor/fail.h"
#include "tensor/parallel.h"
#include "tensor/philox_run.h"
#include "tensor/tensor_impl.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

enum { GRAIN = 1 << 13, NORMAL_BLOCK = 1 << 15 };

// ---- the generator

static uint32_t low_half(uint64_t x) {
    return (uint32_t)(x & UINT32_MAX);
}

static uint32_t high_half(uint64_t x) {
    return (uint32_t)(x >> 32);
}

static uint64_t join(uint32_t high, uint32_t low) {
    return (uint64_t)high << 32 | low;
}

// The four words of a counter, and after the rounds those of the output.
struct quad {
    uint32_t a, b, c, d;
};

static inline struct quad philox(struct quad x, uint32_t k0, uint32_t k1) {
    const uint32_t m0 = PHILOX_M0, m1 = PHILOX_M1, w0 = PHILOX_W0, w1 = PHILOX_W1;
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p = (uint64_t)m0 * x.a, q = (uint64_t)m1 * x.c;
        x = (struct quad){high_half(q) ^ x.b ^ k0, low_half(q), high_half(p) ^ x.d ^ k1,
                          low_half(p)};
        k0 += w0;
        k1 += w1;
    }
    return x;
}

void ct_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    struct quad x =
        philox((struct quad){counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
    out[0] = x.a;
    out[1] = x.b;
    out[2] = x.c;
    out[3] = x.d;
}

// The block of a generator `ahead` positions on, as two words of 64 bits.
struct words {
    uint64_t first, second;
};

static inline struct words block(const ct_random *r, uint64_t ahead) {
    uint64_t position = r->position + ahead;
    struct quad x = philox((struct quad){low_half(position), high_half(position),
                                         low_half(r->stream), high_half(r->stream)},
                           low_half(r->seed), high_half(r->seed));
    return (struct words){join(x.a, x.b), join(x.c, x.d)};
}

// The words of the next blocks from `ahead` on, at most `most` > 0 and PHILOX_RUN; @return how many.
static size_t next_words(const ct_random *r, size_t ahead, size_t most, uint64_t *first,
                         uint64_t *second) {
    size_t n = most < PHILOX_RUN ? most : PHILOX_RUN;
#ifdef __AVX2__
    if (n == PHILOX_RUN) {
        ct__philox_run(r->position + ahead, r->stream, r->seed, first, second);
        return n;
    }
#endif
    for (size_t i = 0; i < n; i++) {
        struct words w = block(r, ahead + i);
        first[i] = w.first;
        second[i] = w.second;
    }
    return n;
}

ct_random ct_random_of(uint64_t seed, uint64_t stream) {
    return (ct_random){.seed = seed, .stream = stream, .position = 0};
}

ct_random ct_random_split(const ct_random *random, uint64_t index) {
    // Another key than that of the parent's draws, so that no child repeats one of them.
    const uint64_t family = 0x73706C6974000001; // "split", 1
    ct_random parent = {random->seed ^ family, random->stream, index};
    struct words w = block(&parent, 0);
    return ct_random_of(w.first, w.second);
}

// ---- single draws

static inline double unit_of(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

double ct_random_uniform(ct_random *random) {
    double u = unit_of(block(random, 0).first);
    random->position++;
    return u;
}

__extension__ typedef unsigned __int128 u128;

uint64_t ct_random_below(ct_random *random, uint64_t n) {
    // D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019): the high
    // half of a product; the few low halves that would make some results likelier are drawn again.
    if (n == 0)
        return 0;
    u128 product = (u128)block(random, 0).first * n;
    random->position++;
    uint64_t low = (uint64_t)product;
    if (low < n) {
        uint64_t threshold = (0 - n) % n;
        while (low < threshold) {
            product = (u128)block(random, 0).first * n;
            random->position++;
            low = (uint64_t)product;
        }
    }
    return (uint64_t)(product >> 64);
}

void ct_random_permutation(ct_random *random, size_t n, int64_t *order) {
    for (size_t i = 0; i < n; i++)
        order[i] = (int64_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)ct_random_below(random, i);
        int64_t last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
}

// ---- tensors

struct draw {
    ct_random random;
    double low, width;
    double last; // the largest value allowed
    void *items;
    double *second; // of two words per counter, or NULL
};

static void fill_f64(void *context, size_t begin, size_t end) {
    const struct draw *d = context;
    double *items = d->items;
    uint64_t first[PHILOX_RUN], second[PHILOX_RUN];
    for (size_t i = begin, n; i < end; i += n) {
        n = next_words(&d->random, i, end - i, first, second);
        for (size_t k = 0; k < n; k++) {
            double x = d->low + d->width * unit_of(first[k]);
            items[i + k] = x > d->last ? d->last : x;
        }
    }
}

static void fill_f32(void *context, size_t begin, size_t end) {
    // 24 bits, so that a number in [0, 1) is exact and not rounded up to 1.
    const struct draw *d = context;
    float *items = d->items;
    uint64_t first[PHILOX_RUN], second[PHILOX_RUN];
    for (size_t i = begin, n; i < end; i += n) {
        n = next_words(&d->random, i, end - i, first, second);
        for (size_t k = 0; k < n; k++) {
            double u = (double)(first[k] >> 40) * 0x1p-24;
            float x = (float)(d->low + d->width * u);
            items[i + k] = (double)x > d->last ? (float)d->last : x;
        }
    }
}

static ct_tensor *empty_real(const char *who, const ct_random *random, const ct_scalar *scalar,
                             int rank, const int64_t *shape) {
    if (!random || !scalar)
        return ct__fail_null(CT_EINVAL, who, "the %s is NULL",
                             random ? "scalar type" : "generator");
    if (scalar != CT_F32 && scalar != CT_F64)
        return ct__fail_null(CT_EDTYPE, who, "random numbers are of f32 or f64, not of %s",
                             scalar->name);
    return ct__empty(who, scalar, rank, shape);
}

// Rounds a bound to the scalar type at hand.
static double rounded(const ct_scalar *scalar, double x) {
    return scalar == CT_F32 ? (double)(float)x : x;
}

static double next_below(const ct_scalar *scalar, double x) {
    return scalar == CT_F32 ? (double)nextafterf((float)x, -FLT_MAX) : nextafter(x, -DBL_MAX);
}

ct_tensor *ct_uniform(ct_random *random, const ct_scalar *scalar, int rank, const int64_t *shape,
                      double low, double high) {
    static const char who[] = "ct_uniform";
    ct_tensor *t = empty_real(who, random, scalar, rank, shape);
    if (!t)
        return NULL;
    double from = rounded(scalar, low), to = rounded(scalar, high);
    if (!(isfinite(from) && isfinite(to) && from < to && isfinite(to - from))) {
        char from_text[40], to_text[40];
        ct_scalar_f64.format(&ct_scalar_f64, &low, from_text, sizeof from_text);
        ct_scalar_f64.format(&ct_scalar_f64, &high, to_text, sizeof to_text);
        ct_free(t);
        return ct__fail_null(CT_EDOMAIN, who, "there is no uniform %s in [%s, %s)", scalar->name,
                             from_text, to_text);
    }
    struct draw d = {*random, from, to - from, next_below(scalar, to), ct__first(t), NULL};
    ct__parallel_for(t->count, GRAIN, scalar == CT_F32 ? fill_f32 : fill_f64, &d);
    random->position += t->count;
    return t;
}

// u1 in (0, 1], so that its logarithm is finite, and u2 in [0, 1).
static void fill_pairs(void *context, size_t begin, size_t end) {
    const struct draw *d = context;
    double *first = d->items;
    uint64_t u1[PHILOX_RUN], u2[PHILOX_RUN];
    for (size_t i = begin, n; i < end; i += n) {
        n = next_words(&d->random, i, end - i, u1, u2);
        for (size_t k = 0; k < n; k++) {
            first[i + k] = 1.0 - unit_of(u1[k]);
            d->second[i + k] = unit_of(u2[k]);
        }
    }
}

// Frees x.
static ct_tensor *times(ct_tensor *x, double factor) {
    ct_tensor *k = ct_from_double(CT_F64, factor);
    return ct__then(x, ct__then(k, ct_mul(x, k)));
}

static const double farthest = 8.6; // deviations from the mean: sqrt(-2 log 2^-53) = 8.57...

// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Ann. Math.
// Stat. 29 (1958): sqrt(-2 log u1) cos(2 pi u2), by the library's own log and cos, whose bits are
// the same everywhere.
static ct_tensor *standard_normal(const ct_random *random, size_t n) {
    static const char who[] = "ct_normal";
    int64_t shape[] = {(int64_t)n};
    ct_tensor *u1 = ct__empty(who, CT_F64, 1, shape), *u2 = ct__empty(who, CT_F64, 1, shape);
    if (u1 && u2) {
        struct draw d = {
            .random = *random, .items = ct__first(u1), .second = (double *)(void *)ct__first(u2)};
        ct__parallel_for(n, GRAIN, fill_pairs, &d);
    }
    ct_tensor *squares = times(ct__then(u1, ct_log(u1)), -2);
    ct_tensor *radius = ct__then(squares, ct_sqrt(squares));
    ct_tensor *angle = times(u2, 0x1.921fb54442d18p+2), *cosine = ct__then(angle, ct_cos(angle));
    ct_tensor *z = ct__as(who, ct_mul(radius, cosine));
    ct_free(radius);
    ct_free(cosine);
    return z;
}

static void store(const ct_tensor *z, double mean, double deviation, ct_tensor *t, size_t at) {
    const double *from = ct_data(z);
    for (size_t i = 0; i < z->count; i++) {
        double x = mean + deviation * from[i];
        if (t->scalar == CT_F32)
            ((float *)(void *)ct__first(t))[at + i] = (float)x;
        else
            ((double *)(void *)ct__first(t))[at + i] = x;
    }
}

ct_tensor *ct_normal(ct_random *random, const ct_scalar *scalar, int rank, const int64_t *shape,
                     double mean, double deviation) {
    static const char who[] = "ct_normal";
    ct_tensor *t = empty_real(who, random, scalar, rank, shape);
    if (!t)
        return NULL;
    double reach = rounded(scalar, fabs(mean) + farthest * deviation); // NaN where one of them is
    if (!(isfinite(reach) && deviation >= 0)) {
        char mean_text[40], deviation_text[40];
        ct_scalar_f64.format(&ct_scalar_f64, &mean, mean_text, sizeof mean_text);
        ct_scalar_f64.format(&ct_scalar_f64, &deviation, deviation_text, sizeof deviation_text);
        ct_free(t);
        return ct__fail_null(CT_EDOMAIN, who, "there is no normal %s of mean %s and deviation %s",
                             scalar->name, mean_text, deviation_text);
    }
    for (size_t at = 0; at < t->count; at += NORMAL_BLOCK) {
        ct_random here = {random->seed, random->stream, random->position + at};
        size_t rest = t->count - at;
        ct_tensor *z = standard_normal(&here, rest < NORMAL_BLOCK ? rest : NORMAL_BLOCK);
        if (!z) {
            ct_free(t);
            return NULL;
        }
        store(z, mean, deviation, t, at);
        ct_free(z);
    }
    random->position += t->count;
    return t;
}

// ---- whole numbers

struct integers {
    ct_random random;
    const ct_scalar *scalar;
    int64_t low;
    uint64_t width;
    char *items;
    _Atomic bool misfit; // a number that the scalar type does not hold
};

// 128 random bits times the width, the high word: at most width / 2^128 from uniform, and item i
// comes from counter i, as no draw is ever repeated.
static void fill_integers(void *context, size_t begin, size_t end) {
    struct integers *d = context;
    char *item = d->items + begin * d->scalar->size;
    for (size_t i = begin; i < end; i++, item += d->scalar->size) {
        struct words w = block(&d->random, i);
        u128 low_part = (u128)w.second * d->width >> 64;
        uint64_t distance = (uint64_t)(((u128)w.first * d->width + low_part) >> 64);
        if (!d->scalar->from_i64(d->scalar, item, (int64_t)((uint64_t)d->low + distance)))
            d->misfit = true;
    }
}

// Whether a type holds all whole numbers from low to last, tried at a place for an item. Of a real
// type, an end and its neighbour tell: one of the two is odd, and odd numbers have no room to spare.
static bool holds_range(const ct_scalar *scalar, char *place, int64_t low, int64_t last) {
    return scalar->from_i64(scalar, place, low) && scalar->from_i64(scalar, place, last) &&
           (low == last || (scalar->from_i64(scalar, place, low + 1) &&
                            scalar->from_i64(scalar, place, last - 1)));
}

ct_tensor *ct_random_integers(ct_random *random, const ct_scalar *scalar, int rank,
                              const int64_t *shape, int64_t low, int64_t high) {
    static const char who[] = "ct_random_integers";
    if (!random || !scalar)
        return ct__fail_null(CT_EINVAL, who, "the %s is NULL",
                             random ? "scalar type" : "generator");
    if (!scalar->from_i64)
        return ct__fail_null(CT_EDTYPE, who, "%s is not made from whole numbers", scalar->name);
    if (low >= high)
        return ct__fail_null(CT_EDOMAIN, who,
                             "there is no whole number in [%" PRId64 ", %" PRId64 ")", low, high);
    ct_tensor *t = ct__empty(who, scalar, rank, shape);
    if (!t)
        return NULL;
    struct integers d = {*random, scalar, low, (uint64_t)high - (uint64_t)low, ct__first(t), false};
    if (t->count > 0)
        d.misfit = !holds_range(scalar, d.items, low, high - 1);
    if (!d.misfit)
        ct__parallel_for(t->count, GRAIN, fill_integers, &d);
    if (d.misfit) {
        ct_free(t);
        return ct__fail_null(CT_EDOMAIN, who,
                             "the whole numbers in [%" PRId64 ", %" PRId64 ") do not all fit %s",
                             low, high, scalar->name);
    }
    random->position += t->count;
    return t;
}

ct_tensor *ct_permutation(ct_random *random, int64_t n) {
    static const char who[] = "ct_permutation";
    if (!random)
        return ct__fail_null(CT_EINVAL, who, "the generator is NULL");
    if (n < 0)
        return ct__fail_null(CT_ESHAPE, who, "the number of items %" PRId64 " is negative", n);
    ct_tensor *t = ct__empty(who, CT_I64, 1, &n);
    if (t)
        ct_random_permutation(random, (size_t)n, (int64_t *)(void *)ct__first(t));
    return t;
}
