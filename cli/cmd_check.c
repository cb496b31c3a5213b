/* cotangent check: every row of the op table in f32 and f64, and a network. */
#include "check_rows.h"
#include "command.h"
#include "cotangent.h"
#include "digits.h"
#include "network.h"
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char me[] = "check";
static const char network_row[] = "network"; /* its name, beside those of the ops */

static const char about[] =
    "Checks each op of the table, in f32 and in f64, and the network that 'cotangent train' "
    "trains.\n"
    "A line per op and type tells\n"
    "\n"
    "  value    the worst error, in units in the last place, against the same op in long double,\n"
    "           and what it is held to; 0 is exact\n"
    "  tape     the worst error of reverse mode: in f64 against five-point differences, in f32\n"
    "           against f64, relative to the largest item\n"
    "  dual     of forward mode, by dual numbers, likewise\n"
    "  second   of the second derivatives, likewise\n"
    "  inner    of <u, J v> in forward mode against <J^T u, v> in reverse, for random u and v\n"
    "  special  at how many zeros, ties, infinities, NaN and ends of the type the value was right\n"
    "           and both modes gave the same derivative\n"
    "\n"
    "and '-' where there is nothing to compare: logic has no derivative, the network no exact\n"
    "value. An op goes by the name in which a tape lists it: ct_var_sum() is recorded as "
    "'summed'.\n"
    "The exit status is 1 when a row fails; the line below it says why.\n";

static const char examples[] =
    "  cotangent check\n"
    "  cotangent check softmax\n"
    "  cotangent check network\n"
    "  cotangent check --json | jq -r 'select(.verdict != \"pass\").op'\n";

struct request {
    const char *op;
    bool all, json;
};

static int read_request(int argc, char **argv, struct request *request) {
    const struct option_row rows[] = {
        {"op", OPTION_TEXT, &request->op, 0, 0, "NAME",
         "this op alone, or network, as the argument OP"},
        {"all", OPTION_FLAG, &request->all, 0, 0, NULL, "every op and the network (the default)"},
        {"json", OPTION_FLAG, &request->json, 0, 0, NULL, "a line of JSON per op and type"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, "OP", about, examples, rows};
    const char *operand;
    int status = options_read(&table, argc, argv, &operand);
    if (status < 0 && operand && request->op)
        return usage_failed(me, "there are two ops, '%s' and '%s': name one, or none for all",
                            request->op, operand);
    if (operand)
        request->op = operand;
    if (status < 0 && request->op && request->all)
        return usage_failed(me, "--all checks every op: leave it or '%s' away", request->op);
    return status;
}

/* ---- what is checked */

static void check_op(enum ct_op op, bool json, struct check_tally *tally) {
    static const ct_scalar *const scalars[] = {CT_F32, CT_F64};
    for (int s = 0; s < 2; s++) {
        struct check_row row = {ct_op_name(op), scalars[s]->name, CT_OK, {0}};
        row.status = ct_check_op_all(op, scalars[s], NULL, &row.report);
        check_rows_print(&row, json, tally);
    }
}

/* The gradient check's report as a row. */
static struct ct_op_report as_row(const struct ct_check_report *from) {
    struct ct_op_report r = {.verdict = from->verdict,
                             .value = (double)NAN,
                             .value_bar = (double)NAN,
                             .tape = from->worst_tape_diff,
                             .dual = from->worst_dual_diff,
                             .second = from->worst_second,
                             .inner = (double)NAN,
                             .checked = from->checked};
    snprintf(r.message, sizeof r.message, "%s", from->message);
    return r;
}

static void check_network(bool json, struct check_tally *tally) {
    struct digits digits;
    struct ct_check_report report = {0};
    ct_mlp *mlp = network_new(1);
    struct check_row row = {network_row, "f64", CT_OK, {0}};
    bool loaded = mlp && digits_load(&digits);
    row.status = loaded ? network_check_twice(mlp, &digits, &report) : ct_error()->code;
    if (loaded)
        digits_free(&digits);
    ct_mlp_free(mlp);
    row.report = as_row(&report);
    check_rows_print(&row, json, tally);
}

static void check_all(bool json, struct check_tally *tally) {
    for (int op = 0; op < CT_OP_COUNT && output_arrives(); op++)
        check_op((enum ct_op)op, json, tally);
    check_network(json, tally);
}

/* ---- a name that is none */

static size_t common_prefix(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* The name of a row: the ops, then the network. */
static const char *row_name(int row) {
    return row < CT_OP_COUNT ? ct_op_name((enum ct_op)row) : network_row;
}

/* The rows whose names begin most like this one, if they share two letters or more. */
static void print_nearest(const char *name) {
    size_t longest = 2;
    for (int row = 0; row <= CT_OP_COUNT; row++) {
        size_t shared = common_prefix(name, row_name(row));
        longest = shared > longest ? shared : longest;
    }
    const char *before = "Near to it: ";
    for (int row = 0; row <= CT_OP_COUNT; row++) {
        if (common_prefix(name, row_name(row)) < longest)
            continue;
        fprintf(stderr, "%s%s", before, row_name(row));
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
    fputs("; 'network' is the network.\n", stderr);
    return EXIT_USAGE;
}

int cmd_check(int argc, char **argv) {
    struct request request = {0};
    int status = read_request(argc, argv, &request);
    if (status >= 0)
        return status;
    enum ct_op op = request.op ? ct_op_by_name(request.op) : CT_OP_COUNT;
    bool network = request.op && strcmp(request.op, network_row) == 0;
    if (request.op && op == CT_OP_COUNT && !network)
        return unknown_op(request.op);
    struct check_tally tally = {0};
    if (!request.json)
        check_rows_head();
    if (network)
        check_network(request.json, &tally);
    else if (request.op)
        check_op(op, request.json, &tally);
    else
        check_all(request.json, &tally);
    if (!request.json)
        check_rows_tally(&tally);
    return tally.failed ? EXIT_FAILED : EXIT_DONE;
}
