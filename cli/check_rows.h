/* The rows that 'cotangent check' prints: a line of a table each, or a line of JSON. */
#ifndef CLI_CHECK_ROWS_H
#define CLI_CHECK_ROWS_H

#include "autodiff/ct_check.h"

/* What the last line tells. */
struct check_tally {
    int checked, failed;
    /* Of values in units in the last place; of derivatives in f32 and in f64. */
    struct check_worst {
        double error;
        const char *name, *type; /* NULL at first */
    } value, single, wide;
};

/* One row: an op, or the network, in a type. */
struct check_row {
    const char *name, *type;
    ct_status status; /* if not CT_OK, the report says nothing and ct_error() why */
    struct ct_op_report report;
};

void check_rows_head(void);
/* Prints a row and counts it. */
void check_rows_print(const struct check_row *row, bool json, struct check_tally *tally);
/* The last line. */
void check_rows_tally(const struct check_tally *tally);

#endif
