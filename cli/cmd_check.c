/* cotangent check: every derivative of the op table, and of a network, three ways. */
#include "command.h"
#include "cotangent.h"
#include "digits.h"
#include "network.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

static const char me[] = "check";

static const char about[] =
    "Compares, for each op of the table and for the network that 'cotangent train' trains, three\n"
    "answers for the derivative: reverse mode on the tape, forward mode by dual numbers, and\n"
    "five-point differences. The differences test the formulas; the other two take theirs from "
    "the\n"
    "same table, and test each other's machinery to the last digits.\n"
    "\n"
    "A line tells the verdict, the largest relative error of each pair, the largest of any pair "
    "in\n"
    "the second derivatives, and at how many places they were compared, both orders counted. An "
    "op\n"
    "goes by the name in which a tape lists it: ct_var_sum() is recorded as 'summed'. The exit\n"
    "status is 1 when one of them fails.\n";

static const char examples[] = "  cotangent check\n"
                               "  cotangent check softmax\n";

/* What the last line tells. */
struct tally {
    int checked, failed;
    double worst;
    const char *name; /* of the worst */
};

static int read_op(int argc, char **argv, const char **op) {
    const struct option_row rows[] = {
        {"op", OPTION_TEXT, op, 0, 0, "NAME", "this op alone, as the argument OP"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, "OP", about, examples, rows};
    const char *operand;
    int status = options_read(&table, argc, argv, &operand);
    if (status < 0 && operand && *op)
        return usage_failed(me, "there are two ops, '%s' and '%s': name one, or none for all", *op,
                            operand);
    if (operand)
        *op = operand;
    return status;
}

/* ---- the table that is printed */

static void print_head(void) {
    printf("%-14s  %-7s  %9s  %15s  %15s  %12s  %5s\n", "op", "verdict", "tape-dual",
           "tape-difference", "dual-difference", "second order", "items");
}

static void print_report(const char *name, ct_status status, const struct ct_check_report *report,
                         struct tally *tally) {
    static const char *const words[] = {
        [CT_CHECK_PASS] = "pass", [CT_CHECK_KINK] = "kink", [CT_CHECK_FAIL] = "FAIL"};
    tally->checked++;
    if (status != CT_OK) {
        tally->failed++;
        printf("%-14s  FAIL     could not be checked: %s\n", name, ct_error()->message);
        return;
    }
    printf("%-14s  %-7s  %9.1e  %15.1e  %15.1e  %12.1e  %5zu\n", name, words[report->verdict],
           report->worst_tape_dual, report->worst_tape_diff, report->worst_dual_diff,
           report->worst_second, report->checked);
    if (report->verdict == CT_CHECK_FAIL) {
        tally->failed++;
        printf("%-14s  %s\n", "", report->message);
    }
    double worst = report_worst(report);
    if (!tally->name || worst > tally->worst) {
        tally->worst = worst;
        tally->name = name;
    }
}

static int print_tally(const struct tally *tally) {
    printf("%d checked, %d failed", tally->checked, tally->failed);
    if (tally->name)
        printf("; worst %.1e (%s)", tally->worst, tally->name);
    putchar('\n');
    return tally->failed ? EXIT_FAILED : EXIT_DONE;
}

/* ---- what is checked */

static void check_op(enum ct_op op, struct tally *tally) {
    struct ct_check_report report;
    struct ct_check_options options = ct_check_options_init();
    options.second_order = true;
    ct_status status = ct_check_op(op, &options, &report);
    print_report(ct_op_name(op), status, &report, tally);
}

static void check_network(struct tally *tally) {
    struct digits digits;
    struct ct_check_report report;
    ct_mlp *mlp = network_new(1);
    ct_status status = ct_error()->code;
    if (mlp && digits_load(&digits)) {
        status = network_check_twice(mlp, &digits, &report);
        digits_free(&digits);
    }
    ct_mlp_free(mlp);
    print_report("network", status, &report, tally);
}

static void check_all(struct tally *tally) {
    for (int op = 0; op < CT_OP_COUNT && output_arrives(); op++)
        check_op((enum ct_op)op, tally);
    check_network(tally);
}

/* ---- a name that is none */

static size_t common_prefix(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* The ops whose names begin most like this one, if they share two letters or more. */
static void print_nearest(const char *name) {
    size_t longest = 2;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        size_t shared = common_prefix(name, ct_op_name((enum ct_op)op));
        longest = shared > longest ? shared : longest;
    }
    const char *before = "Near to it: ";
    for (int op = 0; op < CT_OP_COUNT; op++) {
        if (common_prefix(name, ct_op_name((enum ct_op)op)) < longest)
            continue;
        fprintf(stderr, "%s%s", before, ct_op_name((enum ct_op)op));
        before = ", ";
    }
    if (before[0] == ',')
        fputs(".\n", stderr);
}

static int unknown_op(const char *name) {
    usage_failed(me, "there is no op '%s'", name);
    print_nearest(name);
    fputs("The ops are", stderr);
    for (int op = 0; op < CT_OP_COUNT; op++)
        fprintf(stderr, " %s", ct_op_name((enum ct_op)op));
    fputs(".\n", stderr);
    return EXIT_USAGE;
}

int cmd_check(int argc, char **argv) {
    const char *name = NULL;
    int status = read_op(argc, argv, &name);
    if (status >= 0)
        return status;
    enum ct_op op = name ? ct_op_by_name(name) : CT_OP_COUNT;
    if (name && op == CT_OP_COUNT)
        return unknown_op(name);
    struct tally tally = {0};
    print_head();
    if (name)
        check_op(op, &tally);
    else
        check_all(&tally);
    return print_tally(&tally);
}
