/* Kinks, ends and other special points against PyTorch's answers, and ours where they differ on
   purpose: a part of suite_golden. */
#ifndef CT_GOLDEN_SPECIAL_H
#define CT_GOLDEN_SPECIAL_H

#include <check.h>

void add_special_points(Suite *suite);

#endif
