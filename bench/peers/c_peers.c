/*
 * The C libraries beside which the rows are measured, timed by loops in C as ours are: matmul of
 * OpenBLAS, BLIS, MKL (each through its own cblas), oneDNN (dnnl_sgemm) and libxsmm (a kernel made for
 * the shape); vector math of glibc's libmvec and of MKL (highest accuracy). All but libxsmm are loaded
 * by path, so that each keeps to itself. A shared library of its own, built by run.sh.
 */
#include <dlfcn.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_LIBXSMM
#include <libxsmm.h>
#endif

struct peer {
    void (*run)(struct peer *p);
    void (*function)(void); /* what run calls, as its true type */
    int m, n, k, lda, ldb, ldc;
    bool a_turned, b_turned, is_double;
    const void *a, *b;
    void *c;
    size_t count;
};

static char fault[300];

const char *peer_fault(void) {
    return fault;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double peer_time(struct peer *p, long repeat) {
    double start = now();
    for (long i = 0; i < repeat; i++)
        p->run(p);
    return (now() - start) / (double)repeat;
}

void peer_close(struct peer *p) {
    free(p);
}

/* --- libraries: the names of functions that say what they run on */

static void *library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!handle)
        snprintf(fault, sizeof fault, "%s", dlerror());
    return handle;
}

static void *symbol(const char *path, const char *name) {
    void *handle = library(path), *s = handle ? dlsym(handle, name) : NULL;
    if (handle && !s)
        snprintf(fault, sizeof fault, "%s has no %s", path, name);
    return s;
}

/* dlsym gives a data pointer; POSIX says that it holds a function. */
typedef void any_function(void);
static any_function *function(const char *path, const char *name) {
    void *s = symbol(path, name);
    any_function *f;
    memcpy(&f, &s, sizeof f);
    return f;
}

/* Version and core of a library: "SkylakeX", "skx", ... */
const char *peer_describe(const char *which, const char *path) {
    static char text[400];
    snprintf(text, sizeof text, "absent");
    if (strcmp(which, "openblas") == 0) {
        const char *(*config)(void) = (const char *(*)(void))function(path, "openblas_get_config");
        const char *(*core)(void) = (const char *(*)(void))function(path, "openblas_get_corename");
        if (config && core)
            snprintf(text, sizeof text, "%s, core %s", config(), core());
    } else if (strcmp(which, "blis") == 0) {
        const char *(*version)(void) =
            (const char *(*)(void))function(path, "bli_info_get_version_str");
        int (*id)(void) = (int (*)(void))function(path, "bli_arch_query_id");
        const char *(*name)(int) = (const char *(*)(int))function(path, "bli_arch_string");
        any_function *init = function(path, "bli_init"); /* else BLIS_ARCH_TYPE aborts the query */
        if (version && id && name && init) {
            init();
            snprintf(text, sizeof text, "BLIS %s, core %s", version(), name(id()));
        }
    } else if (strcmp(which, "mkl") == 0) {
        void (*version)(char *, int) =
            (void (*)(char *, int))function(path, "mkl_get_version_string");
        if (version) {
            version(text, (int)sizeof text - 1);
            text[sizeof text - 1] = 0;
        }
    } else if (strcmp(which, "onednn") == 0) {
        struct version {
            int major, minor, patch;
        };
        const struct version *(*version)(void) =
            (const struct version *(*)(void))function(path, "dnnl_version");
        int (*isa)(void) = (int (*)(void))function(path, "dnnl_get_effective_cpu_isa");
        if (version)
            snprintf(text, sizeof text, "oneDNN %d.%d.%d, isa mask %#x", version()->major,
                     version()->minor, version()->patch, isa ? (unsigned)isa() : 0);
    } else if (strcmp(which, "libxsmm") == 0) {
#ifdef HAVE_LIBXSMM
        libxsmm_init();
        snprintf(text, sizeof text, "libxsmm %s, core %s", LIBXSMM_VERSION,
                 libxsmm_get_target_arch());
#endif
    }
    return text;
}

/* --- matmul, row-major */

typedef void gemm32(int, int, int, int, int, int, float, const float *, int, const float *, int,
                    float, float *, int);
typedef void gemm64(int, int, int, int, int, int, double, const double *, int, const double *, int,
                    double, double *, int);
typedef void gemv32(int, int, int, int, float, const float *, int, const float *, int, float,
                    float *, int);
typedef void gemv64(int, int, int, int, double, const double *, int, const double *, int, double,
                    double *, int);
typedef int dnnl_gemm(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                      const float *, int64_t, float, float *, int64_t);

enum { ROW_MAJOR = 101, PLAIN = 111, TURNED = 112 };

static void run_gemm(struct peer *p) {
    int a = p->a_turned ? TURNED : PLAIN, b = p->b_turned ? TURNED : PLAIN;
    if (p->is_double)
        ((gemm64 *)p->function)(ROW_MAJOR, a, b, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, 0,
                                p->c, p->ldc);
    else
        ((gemm32 *)p->function)(ROW_MAJOR, a, b, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, 0,
                                p->c, p->ldc);
}

/* One row times a matrix, or a matrix times one column. */
static void run_gemv(struct peer *p) {
    bool row = p->m == 1;
    const void *matrix = row ? p->b : p->a, *vector = row ? p->a : p->b;
    bool stored_turned = row ? p->b_turned : p->a_turned;
    int ld = row ? p->ldb : p->lda, outer = row ? p->k : p->m, inner = row ? p->n : p->k;
    int rows = stored_turned ? inner : outer, columns = stored_turned ? outer : inner;
    int how = row != stored_turned ? TURNED : PLAIN;
    int step = row ? (p->a_turned ? p->lda : 1) : (p->b_turned ? 1 : p->ldb);
    int step_c = row ? 1 : p->ldc;
    if (p->is_double)
        ((gemv64 *)p->function)(ROW_MAJOR, how, rows, columns, 1, matrix, ld, vector, step, 0, p->c,
                                step_c);
    else
        ((gemv32 *)p->function)(ROW_MAJOR, how, rows, columns, 1, matrix, ld, vector, step, 0, p->c,
                                step_c);
}

static void run_dnnl(struct peer *p) {
    ((dnnl_gemm *)p->function)(p->a_turned ? 'T' : 'N', p->b_turned ? 'T' : 'N', p->m, p->n, p->k,
                               1, p->a, p->lda, p->b, p->ldb, 0, p->c, p->ldc);
}

#ifdef HAVE_LIBXSMM
static void run_xsmm(struct peer *p) {
    if (p->is_double)
        ((libxsmm_dmmfunction)p->function)(p->b, p->a, p->c);
    else
        ((libxsmm_smmfunction)p->function)(p->b, p->a, p->c);
}

/* Column-major: the product of the transposes, so b comes first. Only its second operand may be
 * turned. NULL where it makes no kernel. */
static any_function *xsmm_kernel(const struct peer *p) {
    int flags = p->a_turned ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    float one = 1, zero = 0;
    double one64 = 1, zero64 = 0;
    if (p->b_turned)
        return NULL;
    if (p->is_double)
        return (any_function *)libxsmm_dmmdispatch(p->n, p->m, p->k, &p->ldb, &p->lda, &p->ldc,
                                                   &one64, &zero64, &flags, NULL);
    return (any_function *)libxsmm_smmdispatch(p->n, p->m, p->k, &p->ldb, &p->lda, &p->ldc, &one,
                                               &zero, &flags, NULL);
}
#endif

static bool choose_gemm(struct peer *p, const char *which, const char *path, bool gemv) {
    if (strcmp(which, "onednn") == 0) {
        snprintf(fault, sizeof fault, "oneDNN has no f64");
        p->run = run_dnnl;
        p->function = p->is_double || gemv ? NULL : function(path, "dnnl_sgemm");
    } else if (strcmp(which, "libxsmm") == 0) {
        snprintf(fault, sizeof fault, "libxsmm makes no kernel for this");
#ifdef HAVE_LIBXSMM
        p->run = run_xsmm;
        p->function = gemv ? NULL : xsmm_kernel(p);
#endif
    } else if (gemv) {
        p->run = run_gemv;
        p->function = function(path, p->is_double ? "cblas_dgemv" : "cblas_sgemv");
    } else {
        p->run = run_gemm;
        p->function = function(path, p->is_double ? "cblas_dgemm" : "cblas_sgemm");
    }
    return p->function != NULL;
}

/* c [m, n] = a [m, k] b [k, n]; a and b stored row-major, or turned, with the given leading strides;
 * NULL (and peer_fault()) where the library cannot. */
struct peer *peer_gemm(const char *which, const char *path, int gemv, int is_double, int m, int n,
                       int k, const void *a, int lda, int a_turned, const void *b, int ldb,
                       int b_turned, void *c, int ldc) {
    struct peer *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (struct peer){.m = m, .n = n, .k = k, .a = a, .b = b, .c = c};
    p->lda = lda, p->ldb = ldb, p->ldc = ldc, p->is_double = is_double;
    p->a_turned = a_turned, p->b_turned = b_turned;
    if (choose_gemm(p, which, path, gemv))
        return p;
    free(p);
    return NULL;
}

/* --- vector math: y[i] = f(x[i]); what is not a function of libmvec is the plain formula of one that
 *     is: sigmoid 1 / (1 + exp(-x)), silu x sigmoid(x), gelu x/2 (1 + erf(x / sqrt 2)) */

enum formula { ITSELF, SIGMOID, SILU, GELU };

struct vector_peer {
    struct peer peer; /* first: freed and run as a peer */
    enum formula formula;
};

#define VECTOR_LOOP(name, target_isa, V, item, lanes, load, store, set1, add, mul, div)            \
    typedef V name##_function(V);                                                                  \
    __attribute__((target(target_isa))) static V name##_one(name##_function *f,                    \
                                                            enum formula formula, V x) {           \
        if (formula == ITSELF)                                                                     \
            return f(x);                                                                           \
        if (formula == GELU)                                                                       \
            return mul(mul(set1((item)0.5), x),                                                    \
                       add(set1((item)1), f(mul(x, set1((item)0.70710678118654752440)))));         \
        V s = div(set1((item)1), add(set1((item)1), f(mul(x, set1((item)-1)))));                   \
        return formula == SIGMOID ? s : mul(x, s);                                                 \
    }                                                                                              \
    __attribute__((target(target_isa))) static void name(struct peer *p) {                         \
        name##_function *f = (name##_function *)p->function;                                       \
        enum formula formula = ((struct vector_peer *)p)->formula;                                 \
        const item *x = p->a;                                                                      \
        item *y = p->c, tail[lanes] = {0};                                                         \
        size_t i = 0;                                                                              \
        for (; i + lanes <= p->count; i += lanes)                                                  \
            store(y + i, name##_one(f, formula, load(x + i)));                                     \
        if (i < p->count) {                                                                        \
            memcpy(tail, x + i, (p->count - i) * sizeof *x);                                       \
            store(tail, name##_one(f, formula, load(tail)));                                       \
            memcpy(y + i, tail, (p->count - i) * sizeof *x);                                       \
        }                                                                                          \
    }
VECTOR_LOOP(mvec_f32_wide, "avx512f", __m512, float, 16, _mm512_loadu_ps, _mm512_storeu_ps,
            _mm512_set1_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_div_ps)
VECTOR_LOOP(mvec_f64_wide, "avx512f", __m512d, double, 8, _mm512_loadu_pd, _mm512_storeu_pd,
            _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_div_pd)
VECTOR_LOOP(mvec_f32, "avx2", __m256, float, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps,
            _mm256_add_ps, _mm256_mul_ps, _mm256_div_ps)
VECTOR_LOOP(mvec_f64, "avx2", __m256d, double, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
            _mm256_add_pd, _mm256_mul_pd, _mm256_div_pd)

struct peer *peer_mvec(const char *op, int is_double, int is_wide, size_t count, const void *x,
                       void *y) {
    struct vector_peer *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (struct vector_peer){.peer = {.a = x, .c = y, .count = count}};
    p->formula = strcmp(op, "sigmoid") == 0 ? SIGMOID
                 : strcmp(op, "silu") == 0  ? SILU
                 : strcmp(op, "gelu") == 0  ? GELU
                                            : ITSELF;
    const char *base = p->formula == GELU ? "erf" : p->formula == ITSELF ? op : "exp";
    char name[60];
    snprintf(name, sizeof name, "_ZGV%cN%dv_%s%s", is_wide ? 'e' : 'd',
             (is_wide ? 16 : 8) / (is_double ? 2 : 1), base, is_double ? "" : "f");
    p->peer.run =
        is_double ? (is_wide ? mvec_f64_wide : mvec_f64) : (is_wide ? mvec_f32_wide : mvec_f32);
    p->peer.function = function("libmvec.so.1", name);
    if (p->peer.function)
        return &p->peer;
    free(p);
    return NULL;
}

/* MKL's vector math at its highest accuracy (under 1 ulp). */
typedef void vml(int64_t, const void *, void *, int64_t);

static void run_vml(struct peer *p) {
    enum { HIGH_ACCURACY = 2 };
    ((vml *)p->function)((int64_t)p->count, p->a, p->c, HIGH_ACCURACY);
}

struct peer *peer_vml(const char *path, const char *name, size_t count, const void *x, void *y) {
    struct peer *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (struct peer){.run = run_vml, .a = x, .c = y, .count = count};
    p->function = function(path, name);
    if (p->function)
        return p;
    free(p);
    return NULL;
}

/* --- KANN's training step, from a library that exports it: dense layers with relu, its cost layer, RMSprop (it has
 *     no Adam, which is dearer); rows of labels are one-hot */

struct kann { /* the head of its kann_t */
    int n;
    void **nodes;
    float *x, *g, *c;
};

struct kann_peer {
    struct peer peer; /* first: timed as a peer */
    struct kann *net;
    float *rms, *bound[2];
    float (*cost)(struct kann *, int, int);
    void (*step)(int, float, const float *, float, const float *, float *, float *);
    int variables;
};

static void run_kann(struct peer *peer) {
    struct kann_peer *p = (struct kann_peer *)peer;
    p->cost(p->net, 0, 1);
    p->step(p->variables, 1e-3f, NULL, 0.9f, p->net->g, p->net->x, p->rms);
}

float peer_kann_loss(struct peer *p) {
    return ((struct kann_peer *)p)->cost(((struct kann_peer *)p)->net, 0, 0);
}

struct peer *peer_kann(const char *path, int layers, const int64_t *widths, int64_t batch,
                       int entropy, float *x, float *target) {
    enum { IN = 1, TRUTH = 4, SOFTMAX_ENTROPY = 2, SQUARES = 4 };
    void *(*input)(int) = (void *(*)(int))function(path, "kann_layer_input");
    void *(*dense)(void *, int) = (void *(*)(void *, int))function(path, "kann_layer_dense");
    void *(*relu)(void *) = (void *(*)(void *))function(path, "kad_relu");
    void *(*cost)(void *, int, int) =
        (void *(*)(void *, int, int))function(path, "kann_layer_cost");
    struct kann *(*make)(void *, int) = (struct kann * (*)(void *, int)) function(path, "kann_new");
    int (*batches)(int, void **, int) = (int (*)(int, void **, int))function(path, "kad_sync_dim");
    int (*bind)(struct kann *, uint32_t, int32_t, float **) =
        (int (*)(struct kann *, uint32_t, int32_t, float **))function(path, "kann_feed_bind");
    void (*training)(struct kann *, int) =
        (void (*)(struct kann *, int))function(path, "kann_switch");
    int (*variables)(int, void **) = (int (*)(int, void **))function(path, "kad_size_var");
    struct kann_peer *p = calloc(1, sizeof *p);
    if (!p || !input || !dense || !relu || !cost || !make || !batches || !bind || !training ||
        !variables)
        return free(p), NULL;
    p->cost = (float (*)(struct kann *, int, int))function(path, "kann_cost");
    p->step = (void (*)(int, float, const float *, float, const float *, float *, float *))function(
        path, "kann_RMSprop");
    void *t = input((int)widths[0]);
    for (int i = 1; i < layers; i++)
        t = relu(dense(t, (int)widths[i]));
    p->net = make(cost(t, (int)widths[layers], entropy ? SOFTMAX_ENTROPY : SQUARES), 0);
    p->bound[0] = x, p->bound[1] = target;
    batches(p->net->n, p->net->nodes, (int)batch);
    bind(p->net, IN, 0, &p->bound[0]), bind(p->net, TRUTH, 0, &p->bound[1]);
    training(p->net, 1);
    p->variables = variables(p->net->n, p->net->nodes);
    p->rms = calloc((size_t)p->variables, sizeof *p->rms);
    p->peer.run = run_kann;
    return &p->peer;
}
