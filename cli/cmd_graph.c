/* cotangent graph: the picture of one training step, in Graphviz's language. */
#include "command.h"
#include "cotangent.h"
#include "digits.h"
#include "network.h"
#include "options.h"
#include "picture.h"

static const char me[] = "graph";

enum { ROWS_DEFAULT = 32 };

static const char about[] =
    "Records one training step of the network that 'cotangent train' trains (" NETWORK_TEXT ")\n"
    "and writes its tape, forward and backward, in Graphviz's language: to a file, or to standard\n"
    "output. The same options give the same bytes.\n";

static const char examples[] = "  cotangent graph --out step.dot\n"
                               "  cotangent graph | dot -Tsvg > step.svg\n";

struct graph_wishes {
    int64_t batch;
    const char *out;
    bool text;
};

static int read_graph_wishes(int argc, char **argv, struct graph_wishes *wishes) {
    const struct option_row rows[] = {
        {"batch", OPTION_COUNT, &wishes->batch, 1, 1000, "N", "rows in the step (32)"},
        {"out", OPTION_TEXT, &wishes->out, 0, 0, "FILE", "the file (standard output)"},
        {"text", OPTION_FLAG, &wishes->text, 0, 0, NULL,
         "one line per node instead, to standard output"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, NULL, about, examples, rows};
    *wishes = (struct graph_wishes){.batch = ROWS_DEFAULT};
    const char *operand;
    int status = options_read(&table, argc, argv, &operand);
    if (status < 0 && wishes->text && wishes->out)
        return usage_failed(me, "--text writes to standard output; leave --out away");
    return status;
}

static ct_status write_tape(const ct_tape *tape, const struct graph_wishes *wishes) {
    static const char title[] = "one training step of " NETWORK_TEXT;
    if (wishes->text)
        return picture_print_text(tape);
    if (wishes->out)
        return picture_write(tape, title, wishes->out);
    return picture_print(tape, title);
}

static ct_status graph(const struct graph_wishes *wishes) {
    struct digits digits = {0};
    ct_mlp *mlp = network_new(1);
    ct_tape *tape = ct_tape_new();
    ct_status status = mlp && tape && digits_load(&digits) ? CT_OK : ct_error()->code;
    if (status == CT_OK)
        status = network_record_step(mlp, tape, &digits, wishes->batch);
    if (status == CT_OK)
        status = write_tape(tape, wishes);
    digits_free(&digits);
    ct_tape_free(tape);
    ct_mlp_free(mlp);
    return status;
}

int cmd_graph(int argc, char **argv) {
    struct graph_wishes wishes;
    int status = read_graph_wishes(argc, argv, &wishes);
    if (status >= 0)
        return status;
    if (graph(&wishes) == CT_OK)
        return EXIT_DONE;
    return output_arrives() ? library_failed(me) : EXIT_FAILED;
}
