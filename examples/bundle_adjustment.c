// Bundle adjustment: how far points, seen by cameras with radial distortion, land from where they were
// measured; and the sparse Jacobian that its solvers need. The objective is ADBench's (Šrajer, Kukelova,
// Fitzgibbon, 2018).
#include "cotangent.h"
#include <stdio.h>

// A camera is rotation (3), centre (3), focal length, principal point (2), radial distortion (2).
enum { CAMERA = 11, POINT = 3 };

struct scene {
    int64_t cameras, points, sightings;
    ct_tensor *camera_of, *point_of; // of each sighting
    ct_tensor *measured;             // sightings x 2
};

static ct_var columns(ct_var rows, int64_t from, int64_t to) {
    return ct_var_slice(rows, 1, from, to, 1);
}

static ct_var number(ct_var like, double value) {
    return ct_constant_of(like.tape, ct_dtype(ct_value(like)), value);
}

static ct_var row_dot(ct_var a, ct_var b) {
    return ct_var_sum(ct_var_mul(a, b), 1, true);
}

static ct_var cross(ct_var a, ct_var b) {
    ct_var part[3];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        ct_var aj = columns(a, j, j + 1), ak = columns(a, k, k + 1);
        ct_var one = ct_var_mul(aj, columns(b, k, k + 1));
        part[i] = ct_var_sub(one, ct_var_mul(ak, columns(b, j, j + 1)));
    }
    return ct_var_concat(3, part, 1);
}

// Rodrigues' formula: rows x turned by the angle |r| about r.
static ct_var rotated(ct_var r, ct_var x) {
    ct_var angle = ct_var_sqrt(row_dot(r, r));
    ct_var c = ct_var_cos(angle), s = ct_var_sin(angle), axis = ct_var_div(r, angle);
    ct_var along = row_dot(axis, x);
    along = ct_var_mul(along, ct_var_sub(number(x, 1), c));
    ct_var turned = ct_var_mul(x, c), across = ct_var_mul(cross(axis, x), s);
    turned = ct_var_add(turned, across);
    return ct_var_add(turned, ct_var_mul(axis, along));
}

static ct_var distorted(ct_var p, ct_var radial) {
    ct_var r2 = row_dot(p, p);
    ct_var first = ct_var_mul(columns(radial, 0, 1), r2);
    ct_var second = ct_var_mul(columns(radial, 1, 2), ct_var_square(r2));
    ct_var factor = ct_var_add(ct_var_add(number(p, 1), first), second);
    return ct_var_mul(p, factor);
}

static ct_var projected(ct_var camera, ct_var x) {
    ct_var turn = columns(camera, 0, 3);
    ct_var seen = rotated(turn, ct_var_sub(x, columns(camera, 3, 6)));
    ct_var flat = columns(seen, 0, 2);
    flat = ct_var_div(flat, columns(seen, 2, 3));
    ct_var image = distorted(flat, columns(camera, 9, 11));
    image = ct_var_mul(image, columns(camera, 6, 7));
    return ct_var_add(image, columns(camera, 7, 9));
}

static ct_var reshaped(ct_var v, int64_t rows, int64_t width) {
    return ct_var_reshape(v, 2, (int64_t[]){rows, width});
}

// Of one vector: cameras, then points, then a weight per sighting. First the 2 errors of each sighting,
// weighed, then 1 - weight^2.
static ct_var residuals(void *context, ct_tape *tape, size_t n, const ct_var *in) {
    const struct scene *s = context;
    int64_t a = s->cameras * CAMERA, b = a + s->points * POINT, c = b + s->sightings;
    (void)n;
    ct_var cameras = reshaped(ct_var_slice(in[0], 0, 0, a, 1), s->cameras, CAMERA);
    ct_var points = reshaped(ct_var_slice(in[0], 0, a, b, 1), s->points, POINT);
    ct_var weights = ct_var_slice(in[0], 0, b, c, 1);
    ct_var camera_of = ct_constant(tape, s->camera_of, NULL);
    ct_var point_of = ct_constant(tape, s->point_of, NULL);
    ct_tensor *lifted = ct_astype(s->measured, ct_dtype(ct_value(in[0])));
    ct_var measured = ct_constant(tape, lifted, NULL);
    ct_free(lifted);
    ct_var camera = ct_var_take(cameras, 0, camera_of);
    ct_var image = projected(camera, ct_var_take(points, 0, point_of));
    ct_var error = ct_var_sub(image, measured);
    error = ct_var_mul(error, ct_var_expand_dims(weights, 1));
    ct_var both[2] = {ct_var_reshape(error, 1, (int64_t[]){2 * s->sightings})};
    both[1] = ct_var_sub(number(weights, 1), ct_var_square(weights));
    return ct_var_concat(2, both, 0);
}

// A scene in which sighting i is of point i mod points, by camera i mod cameras.
static struct scene scene_of(int64_t cameras, int64_t points, int64_t sightings) {
    struct scene s = {cameras, points, sightings, NULL, NULL, NULL};
    s.camera_of = ct_zeros(CT_I64, 1, &sightings);
    s.point_of = ct_zeros(CT_I64, 1, &sightings);
    s.measured = ct_zeros(CT_F64, 2, (int64_t[]){sightings, 2});
    for (int64_t i = 0; i < sightings; i++) {
        ct_set_flat(s.camera_of, i, (double)(i % cameras));
        ct_set_flat(s.point_of, i, (double)(i % points));
    }
    return s;
}

static void free_scene(struct scene *s) {
    ct_free(s->camera_of), ct_free(s->point_of), ct_free(s->measured);
}

int main(void) {
    struct scene s = scene_of(3, 40, 120);
    const int64_t unknowns = s.cameras * CAMERA + s.points * POINT + s.sightings;
    ct_random random = ct_random_of(1, 0);
    ct_tensor *x = ct_uniform(&random, CT_F64, 1, &unknowns, 0.5, 1.5);
    const ct_tensor *const in[] = {x};
    ct_pattern *pattern = ct_jacobian_pattern(residuals, &s, 1, in, 0);
    ct_tensor *entries = ct_jacobian_sparse(residuals, &s, 1, in, 0, pattern);
    ct_tensor *whole = ct_jacobian(residuals, &s, 1, in, 0, CT_MODE_REVERSE);
    ct_tensor *dense = ct_pattern_dense(pattern, entries);
    bool same = dense && whole && ct_all_close(dense, whole, 1e-10, 1e-10);
    if (!entries || !whole || !dense)
        fprintf(stderr, "%s\n", ct_error()->message);
    else
        printf("%zu x %zu, %zu entries of %zu may differ from 0\n"
               "%zu evaluations with a tangent each, and %zu backward passes, give them all: %s\n",
               ct_pattern_rows(pattern), ct_pattern_columns(pattern), ct_pattern_count(pattern),
               ct_count(whole), ct_pattern_colours(pattern), ct_pattern_full_rows(pattern),
               same ? "they agree with the whole Jacobian" : "they differ from the whole Jacobian");
    ct_free(x), ct_free(entries), ct_free(whole), ct_free(dense);
    ct_pattern_free(pattern), free_scene(&s);
    return !same;
}
