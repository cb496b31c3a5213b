/* A small convolutional network on the digits, for pictures: two blocks of convolution, relu and pool, and a dense layer. */
#ifndef CLI_CONVNET_H
#define CLI_CONVNET_H

#include "digits.h"
#include "nn/ct_nn.h"

#define CONVNET_TEXT "CNN 8-16-10, 3x3 kernels, relu, 2x2 pools"

/* Its parameters, in f32; NULL with ct_error(). */
ct_params *convnet_params_new(uint64_t seed);

/* Records one training step (network, loss, gradients) on the first rows of a set. */
ct_status convnet_record_step(ct_params *params, ct_tape *tape, const struct digits *digits,
                              int64_t rows);

#endif
