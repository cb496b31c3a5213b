/* The UCI handwritten digits, compiled into the command (data/README.md). */
#ifndef CLI_DIGITS_H
#define CLI_DIGITS_H

#include "tensor/ct_tensor.h"

enum {
    DIGIT_PIXELS = 64,
    DIGIT_CLASSES = 10,
    DIGIT_ROWS = 1797,
    DIGIT_TEST_ROWS = DIGIT_ROWS / 5,
    DIGIT_TRAIN_ROWS = DIGIT_ROWS - DIGIT_TEST_ROWS
};

/* Pixels in 0 .. 1, f32 [n, 64], and labels, i64 [n]; the held-out fifth is always the same. */
struct digits {
    ct_tensor *train_x, *train_labels;
    ct_tensor *test_x, *test_labels;
};

/* Fills the set; false with ct_error() and nothing held when memory is gone. */
bool digits_load(struct digits *digits);
void digits_free(struct digits *digits);

#endif
