#include "digits.h"

#include "tensor/ct_random.h"
#include "tensor/fail.h"

#include <stdlib.h>

extern const unsigned char digits_csv[];
extern const size_t digits_csv_size;

enum { MAX_PIXEL = 16, SPLIT_SEED = 1998 };

/* The rows as they stand in the file. */
struct raw {
    float x[DIGIT_ROWS][DIGIT_PIXELS];
    int64_t label[DIGIT_ROWS];
};

/* The next number of the file, or -1 at its end. */
static int next_number(size_t *at) {
    while (*at < digits_csv_size && (digits_csv[*at] < '0' || digits_csv[*at] > '9'))
        ++*at;
    if (*at == digits_csv_size)
        return -1;
    int number = 0;
    for (; *at < digits_csv_size && digits_csv[*at] >= '0' && digits_csv[*at] <= '9'; ++*at)
        number = (10 * number + digits_csv[*at] - '0') % 1000;
    return number;
}

static bool parse_rows(struct raw *raw) {
    size_t at = 0;
    for (int row = 0; row < DIGIT_ROWS; row++) {
        for (int i = 0; i < DIGIT_PIXELS; i++) {
            int pixel = next_number(&at);
            if (pixel < 0 || pixel > MAX_PIXEL)
                return false;
            raw->x[row][i] = (float)pixel / MAX_PIXEL;
        }
        int label = next_number(&at);
        if (label < 0 || label >= DIGIT_CLASSES)
            return false;
        raw->label[row] = label;
    }
    return next_number(&at) < 0;
}

/* The rows order[0 .. n-1] as two tensors. */
static bool gather(const struct raw *raw, size_t n, const int64_t *order, ct_tensor **x,
                   ct_tensor **labels) {
    *x = ct_zeros(CT_F32, 2, (int64_t[]){(int64_t)n, DIGIT_PIXELS});
    *labels = ct_zeros(CT_I64, 1, (int64_t[]){(int64_t)n});
    float *pixels = *x ? ct_data_for_write(*x) : NULL;
    int64_t *label = *labels ? ct_data_for_write(*labels) : NULL;
    if (!pixels || !label)
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < DIGIT_PIXELS; j++)
            pixels[i * DIGIT_PIXELS + j] = raw->x[order[i]][j];
        label[i] = raw->label[order[i]];
    }
    return true;
}

static bool split(const struct raw *raw, struct digits *digits) {
    int64_t order[DIGIT_ROWS];
    ct_random random = ct_random_of(SPLIT_SEED, 0);
    ct_random_permutation(&random, DIGIT_ROWS, order);
    return gather(raw, DIGIT_TEST_ROWS, order, &digits->test_x, &digits->test_labels) &&
           gather(raw, DIGIT_TRAIN_ROWS, order + DIGIT_TEST_ROWS, &digits->train_x,
                  &digits->train_labels);
}

bool digits_load(struct digits *digits) {
    *digits = (struct digits){0};
    struct raw *raw = malloc(sizeof *raw);
    bool done = false;
    if (!raw)
        ct__fail(CT_ENOMEM, __func__, "there is no memory for the digits");
    else if (!parse_rows(raw))
        ct__fail(CT_EFORMAT, __func__, "the digits compiled into this program are damaged");
    else
        done = split(raw, digits);
    free(raw);
    if (!done)
        digits_free(digits);
    return done;
}

void digits_free(struct digits *digits) {
    ct_free(digits->train_x);
    ct_free(digits->train_labels);
    ct_free(digits->test_x);
    ct_free(digits->test_labels);
    *digits = (struct digits){0};
}
