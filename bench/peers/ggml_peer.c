/* ggml's training step, as its mnist example makes it: dense layers with relu, ggml_opt with static graphs, AdamW
 * without decay. A shared library of its own, built by run.sh where ggml is there (ggml.sh). */
#include "ggml.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-opt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ggml_peer {
    ggml_backend_t backend;
    ggml_backend_sched_t sched;
    ggml_backend_buffer_t buffer;
    struct ggml_context *fixed, *computed;
    ggml_opt_context_t opt;
};

static void quiet(enum ggml_log_level level, const char *text, void *user) {
    (void)level, (void)text, (void)user;
}

static struct ggml_opt_optimizer_params rates(void *user) {
    struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(user);
    p.adamw.alpha = 1e-3f;
    p.adamw.wd = 0;
    return p;
}

static struct ggml_tensor *parameter(struct ggml_context *c, int64_t n, int64_t m) {
    struct ggml_tensor *t = ggml_new_tensor_2d(c, GGML_TYPE_F32, n, m);
    ggml_set_param(t);
    return t;
}

static void fill(struct ggml_tensor *t, float scale) {
    size_t n = (size_t)ggml_nelements(t);
    float *values = malloc(n * sizeof *values);
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = scale * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    ggml_backend_tensor_set(t, values, 0, n * sizeof *values);
    free(values);
}

struct ggml_peer *ggml_peer_open(int layers, const int64_t *widths, int64_t batch, int entropy,
                                 const float *x, const float *target) {
    struct ggml_peer *p = calloc(1, sizeof *p);
    ggml_log_set(quiet, NULL);
    p->backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(p->backend, 1);
    p->sched = ggml_backend_sched_new(&p->backend, NULL, 1, GGML_DEFAULT_GRAPH_SIZE, false, false);
    struct ggml_init_params room = {16 << 20, NULL, true};
    p->fixed = ggml_init(room), p->computed = ggml_init(room);
    struct ggml_tensor *in = ggml_new_tensor_2d(p->fixed, GGML_TYPE_F32, widths[0], batch), *h = in;
    ggml_set_input(in);
    struct ggml_tensor *w[16], *b[16];
    for (int i = 0; i < layers; i++) {
        w[i] = parameter(p->fixed, widths[i], widths[i + 1]);
        b[i] = parameter(p->fixed, widths[i + 1], 1);
    }
    for (int i = 0; i < layers; i++) {
        h = ggml_add(p->computed, ggml_mul_mat(p->computed, w[i], h), b[i]);
        if (i + 1 < layers)
            h = ggml_relu(p->computed, h);
    }
    ggml_set_output(h);
    p->buffer = ggml_backend_alloc_ctx_tensors(p->fixed, p->backend);
    for (int i = 0; i < layers; i++)
        fill(w[i], 0.05f), fill(b[i], 0);
    struct ggml_opt_params params =
        ggml_opt_default_params(p->sched, entropy ? GGML_OPT_LOSS_TYPE_CROSS_ENTROPY
                                                  : GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    params.ctx_compute = p->computed, params.inputs = in, params.outputs = h;
    params.get_opt_pars = rates;
    p->opt = ggml_opt_init(params);
    ggml_opt_alloc(p->opt, true);
    ggml_backend_tensor_set(ggml_opt_inputs(p->opt), x, 0, ggml_nbytes(in));
    ggml_backend_tensor_set(ggml_opt_labels(p->opt), target, 0, ggml_nbytes(h));
    ggml_opt_eval(p->opt, NULL);
    return p;
}

/* The loss after the last step: it must fall. */
float ggml_peer_loss(struct ggml_peer *p) {
    float loss = 0;
    ggml_backend_tensor_get(ggml_opt_loss(p->opt), &loss, 0, sizeof loss);
    return loss;
}

double ggml_peer_time(struct ggml_peer *p, long repeat) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < repeat; i++) {
        ggml_opt_alloc(p->opt, true);
        ggml_opt_eval(p->opt, NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) /
           (double)repeat;
}

void ggml_peer_close(struct ggml_peer *p) {
    ggml_opt_free(p->opt);
    ggml_backend_buffer_free(p->buffer);
    ggml_free(p->computed), ggml_free(p->fixed);
    ggml_backend_sched_free(p->sched), ggml_backend_free(p->backend);
    free(p);
}
