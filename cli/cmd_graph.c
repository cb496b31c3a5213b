/* cotangent graph: the picture of one training step, in Graphviz's language. */
#include "command.h"
#include "convnet.h"
#include "cotangent.h"
#include "digits.h"
#include "network.h"
#include "options.h"
#include "picture.h"

#include <math.h>
#include <string.h>

static const char me[] = "graph";

enum { ROWS_DEFAULT = 32 };

static const char about[] = "Records one training step of a network on the digits and writes its "
                            "tape, forward and backward, in\n"
                            "Graphviz's language: to a file, or to standard output. The network is "
                            "the one that 'cotangent train'\n"
                            "trains (" NETWORK_TEXT "), or with --network cnn a convolutional one\n"
                            "(" CONVNET_TEXT "). The same options give the same bytes.\n";

static const char examples[] = "  cotangent graph --out step.dot\n"
                               "  cotangent graph --values --gradients | dot -Tsvg > step.svg\n"
                               "  cotangent graph --network cnn --fold 2 | dot -Tsvg > cnn.svg\n"
                               "  cotangent graph --network cnn --text --values | less\n";

struct graph_wishes {
    int64_t batch, fold, nodes;
    const char *network, *out;
    bool text, values, gradients, spoilt, cnn;
};

static int check_wishes(struct graph_wishes *wishes) {
    wishes->cnn = strcmp(wishes->network, "cnn") == 0;
    if (!wishes->cnn && strcmp(wishes->network, "mlp") != 0)
        return usage_failed(me, "--network takes mlp or cnn, not '%s'", wishes->network);
    if (wishes->text && wishes->out)
        return usage_failed(me, "--text writes to standard output; leave --out away");
    if (wishes->text && wishes->fold)
        return usage_failed(me, "--text has a line for every node; leave --fold away");
    return -1;
}

static int read_graph_wishes(int argc, char **argv, struct graph_wishes *wishes) {
    const struct option_row rows[] = {
        {"network", OPTION_TEXT, &wishes->network, 0, 0, "NAME", "mlp or cnn (mlp)"},
        {"batch", OPTION_COUNT, &wishes->batch, 1, 1000, "N", "rows in the step (32)"},
        {"fold", OPTION_COUNT, &wishes->fold, 1, 1000, "DEPTH",
         "one node for each scope this deep, 1 for the outermost"},
        {"values", OPTION_FLAG, &wishes->values, 0, 0, NULL,
         "least, largest and mean item of each value, and the share of zeros"},
        {"gradients", OPTION_FLAG, &wishes->gradients, 0, 0, NULL,
         "the norm of the gradient for each value"},
        {"nan", OPTION_FLAG, &wishes->spoilt, 0, 0, NULL,
         "put a NaN into the first weight, to see how it spreads"},
        {"max-nodes", OPTION_COUNT, &wishes->nodes, 1, 1000000000, "N",
         "leave out all after so many"},
        {"out", OPTION_TEXT, &wishes->out, 0, 0, "FILE", "the file (standard output)"},
        {"text", OPTION_FLAG, &wishes->text, 0, 0, NULL,
         "one line per node instead, to standard output"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, NULL, about, examples, rows};
    *wishes = (struct graph_wishes){.batch = ROWS_DEFAULT, .network = "mlp"};
    const char *operand;
    int status = options_read(&table, argc, argv, &operand);
    return status < 0 ? check_wishes(wishes) : status;
}

static ct_status write_tape(const ct_tape *tape, const struct graph_wishes *wishes) {
    struct ct_dot_options options = ct_dot_options_init();
    options.title =
        wishes->cnn ? "one training step of " CONVNET_TEXT : "one training step of " NETWORK_TEXT;
    options.legend = true;
    options.values = wishes->values;
    options.gradients = wishes->gradients;
    options.fold_depth = (int)wishes->fold;
    options.max_nodes = (size_t)wishes->nodes;
    if (wishes->text)
        return picture_print_text(tape, &options);
    if (wishes->out)
        return picture_write(tape, &options, wishes->out);
    return picture_print(tape, &options);
}

/* A NaN in the middle of the first parameter. */
static ct_status spoil(ct_params *params) {
    const ct_tensor *value = ct_params_value(params, 0);
    int64_t index[CT_MAX_RANK];
    for (int i = 0; i < ct_rank(value); i++)
        index[i] = ct_shape(value)[i] / 2;
    ct_tensor *spoilt = ct_copy(value);
    ct_status status =
        spoilt ? ct_set(spoilt, ct_rank(value), index, (double)NAN) : ct_error()->code;
    if (status == CT_OK)
        status = ct_params_set(params, 0, spoilt);
    ct_free(spoilt);
    return status;
}

static ct_status record_and_write(ct_tape *tape, ct_mlp *mlp, ct_params *params,
                                  const struct graph_wishes *wishes) {
    struct digits digits = {0};
    ct_status status = digits_load(&digits) ? CT_OK : ct_error()->code;
    if (status == CT_OK && wishes->spoilt)
        status = spoil(params);
    if (status == CT_OK)
        status = wishes->cnn ? convnet_record_step(params, tape, &digits, wishes->batch)
                             : network_record_step(mlp, tape, &digits, wishes->batch);
    if (status == CT_OK)
        status = write_tape(tape, wishes);
    digits_free(&digits);
    return status;
}

static ct_status graph(const struct graph_wishes *wishes) {
    ct_mlp *mlp = wishes->cnn ? NULL : network_new(1);
    ct_params *own = wishes->cnn ? convnet_params_new(1) : NULL;
    ct_params *params = own ? own : mlp ? ct_mlp_params(mlp) : NULL;
    ct_tape *tape = ct_tape_new();
    ct_status status =
        params && tape ? record_and_write(tape, mlp, params, wishes) : ct_error()->code;
    ct_tape_free(tape);
    ct_params_free(own);
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
