/* The rows that 'cotangent check' prints. */
#include "check_rows.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {[CT_CHECK_PASS] = "pass",
                                       [CT_CHECK_KINK] = "kink",
                                       [CT_CHECK_BLIND] = "blind",
                                       [CT_CHECK_FAIL] = "FAIL"};

/* ---- numbers */

enum { NUMBER_BYTES = 32 };

/* "-" where nothing was compared, "0", "4.5e-08". */
static const char *slope_text(char text[NUMBER_BYTES], double error) {
    if (isnan(error))
        return "-";
    if (error == 0)
        return "0";
    snprintf(text, NUMBER_BYTES, "%.1e", error);
    return text;
}

/* "0.55", and "0" where the value is exact. */
static const char *value_text(char text[NUMBER_BYTES], double error) {
    if (isnan(error))
        return "-";
    if (error == 0)
        return "0";
    snprintf(text, NUMBER_BYTES, error < 1000 ? "%.2f" : "%.1e", error);
    return text;
}

static const char *special_text(char text[NUMBER_BYTES], const struct ct_op_report *r) {
    if (r->special_points == 0)
        return "-";
    if (r->special_wrong > 0)
        snprintf(text, NUMBER_BYTES, "%zu WRONG", r->special_wrong);
    else
        snprintf(text, NUMBER_BYTES, "%zu right", r->special_points);
    return text;
}

/* ---- the table */

static int name_width(void) {
    size_t width = 0;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        size_t length = strlen(ct_op_name((enum ct_op)op));
        width = length > width ? length : width;
    }
    return (int)width;
}

void check_rows_head(void) {
    printf("%*s            |     value, ulp | derivatives: largest error            |\n",
           name_width(), "");
    printf("%-*s  type  verdict |  worst     bar |    tape     dual   second    inner | special "
           "points\n",
           name_width(), "op");
}

static void print_line(const struct check_row *row) {
    const struct ct_op_report *r = &row->report;
    char value[NUMBER_BYTES], tape[NUMBER_BYTES], dual[NUMBER_BYTES], second[NUMBER_BYTES],
        inner[NUMBER_BYTES], special[NUMBER_BYTES], bar[NUMBER_BYTES] = "-";
    if (!isnan(r->value))
        snprintf(bar, sizeof bar, "%g", r->value_bar);
    printf("%-*s  %-4s  %-7s | %6s  %6s | %7s  %7s  %7s  %7s | %s\n", name_width(), row->name,
           row->type, verdicts[r->verdict], value_text(value, r->value), bar,
           slope_text(tape, r->tape), slope_text(dual, r->dual), slope_text(second, r->second),
           slope_text(inner, r->inner), special_text(special, r));
    if (r->verdict >= CT_CHECK_BLIND)
        printf("    %s\n", r->message);
}

/* ---- JSON */

/* null where nothing was compared; JSON has no infinity, and the largest number stands for it. */
static json_t *number(double error) {
    return isnan(error) ? json_null() : json_real(isinf(error) ? DBL_MAX : error);
}

static void print_json(const struct check_row *row) {
    static const char *const words[] = {[CT_CHECK_PASS] = "pass",
                                        [CT_CHECK_KINK] = "kink",
                                        [CT_CHECK_BLIND] = "blind",
                                        [CT_CHECK_FAIL] = "fail"};
    const struct ct_op_report *r = &row->report;
    bool known = row->status == CT_OK, passes = known && r->verdict == CT_CHECK_PASS;
    const char *message = passes ? NULL : known ? r->message : ct_error()->message;
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:s?}", "op", row->name,
        "dtype", row->type, "verdict", words[known ? r->verdict : CT_CHECK_FAIL], "value_ulp",
        number(r->value), "value_bar", number(isnan(r->value) ? r->value : r->value_bar), "tape",
        number(r->tape), "dual", number(r->dual), "second", number(r->second), "inner",
        number(r->inner), "special_points", (json_int_t)r->special_points, "special_wrong",
        (json_int_t)r->special_wrong, "compared", (json_int_t)r->checked, "message", message);
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(4)) : NULL;
    puts(text ? text : "{}");
    free(text);
    json_decref(line);
}

/* ---- counting */

static double worst_slope(const struct ct_op_report *r) {
    return fmax(fmax(r->tape, r->dual), r->second); // a NaN yields to a number
}

/* A NaN is no error. */
static void raise_to(struct check_worst *worst, double error, const struct check_row *row) {
    if (!isnan(error) && (!worst->name || error > worst->error))
        *worst = (struct check_worst){error, row->name, row->type};
}

static void count(const struct check_row *row, struct check_tally *tally) {
    bool known = row->status == CT_OK;
    tally->checked++;
    tally->failed += !known || row->report.verdict >= CT_CHECK_BLIND;
    if (!known)
        return;
    raise_to(&tally->value, row->report.value, row);
    raise_to(strcmp(row->type, "f32") == 0 ? &tally->single : &tally->wide,
             worst_slope(&row->report), row);
}

void check_rows_print(const struct check_row *row, bool json, struct check_tally *tally) {
    count(row, tally);
    if (json)
        print_json(row);
    else if (row->status == CT_OK)
        print_line(row);
    else
        printf("%-*s  %-4s  FAIL\n    could not be checked: %s\n", name_width(), row->name,
               row->type, ct_error()->message);
}

void check_rows_tally(const struct check_tally *tally) {
    char text[NUMBER_BYTES];
    printf("%d checked, %d failed", tally->checked, tally->failed);
    if (tally->value.name)
        printf("; worst value %s ulp (%s, %s)", value_text(text, tally->value.error),
               tally->value.name, tally->value.type);
    if (tally->single.name)
        printf("; worst derivative in f32 %s (%s)", slope_text(text, tally->single.error),
               tally->single.name);
    if (tally->wide.name)
        printf("%s in f64 %s (%s)", tally->single.name ? "," : "; worst derivative",
               slope_text(text, tally->wide.error), tally->wide.name);
    putchar('\n');
}
