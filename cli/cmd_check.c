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
    "independent answers for the derivative: reverse mode on the tape, forward mode by dual "
    "numbers,\n"
    "and five-point differences. A line tells the verdict, the largest relative error of each "
    "pair,\n"
    "and how many places were compared. The exit status is 1 when one of them fails.\n";

static const char examples[] = "  cotangent check\n"
                               "  cotangent check --op softmax\n";

static int read_op(int argc, char **argv, const char **op) {
    const struct option_row rows[] = {
        {"op", OPTION_TEXT, op, 0, 0, "NAME", "this op alone"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, NULL, about, examples, rows};
    const char *operand;
    return options_read(&table, argc, argv, &operand);
}

/* Prints a line; returns whether it is a failure. */
static bool print_report(const char *name, ct_status status, const struct ct_check_report *report) {
    static const char *const words[] = {
        [CT_CHECK_PASS] = "pass", [CT_CHECK_KINK] = "kink", [CT_CHECK_FAIL] = "FAIL"};
    if (status != CT_OK) {
        printf("%-14s FAIL  could not be checked: %s\n", name, ct_error()->message);
        return true;
    }
    printf("%-14s %s  tape-dual %.1e  tape-difference %.1e  dual-difference %.1e  at %zu\n", name,
           words[report->verdict], report->worst_tape_dual, report->worst_tape_diff,
           report->worst_dual_diff, report->checked);
    if (report->verdict == CT_CHECK_FAIL)
        printf("%-14s       %s\n", "", report->message);
    return report->verdict == CT_CHECK_FAIL;
}

static bool check_op(enum ct_op op) {
    struct ct_check_report report;
    ct_status status = ct_check_op(op, NULL, &report);
    return print_report(ct_op_name(op), status, &report);
}

static bool check_network(void) {
    struct digits digits;
    struct ct_check_report report;
    ct_mlp *mlp = network_new(1);
    ct_status status = ct_error()->code;
    if (mlp && digits_load(&digits)) {
        status = network_check(mlp, &digits, &report);
        digits_free(&digits);
    }
    ct_mlp_free(mlp);
    return print_report("(network)", status, &report);
}

static int unknown_op(const char *name) {
    usage_failed(me, "there is no op '%s'", name);
    fputs("The ops are", stderr);
    for (int op = 0; op < CT_OP_COUNT; op++)
        fprintf(stderr, " %s", ct_op_name((enum ct_op)op));
    fputs(".\n", stderr);
    return EXIT_USAGE;
}

static int check_all(void) {
    int failed = 0, checked = 0;
    for (int op = 0; op < CT_OP_COUNT && output_arrives(); op++, checked++)
        failed += check_op((enum ct_op)op);
    failed += check_network();
    checked++;
    printf("%d checked, %d failed\n", checked, failed);
    return failed ? EXIT_FAILED : EXIT_DONE;
}

int cmd_check(int argc, char **argv) {
    const char *name = NULL;
    int status = read_op(argc, argv, &name);
    if (status >= 0)
        return status;
    if (!name)
        return check_all();
    enum ct_op op = ct_op_by_name(name);
    if (op == CT_OP_COUNT)
        return unknown_op(name);
    return check_op(op) ? EXIT_FAILED : EXIT_DONE;
}
