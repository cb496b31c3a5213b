/* cotangent train: a network on the digits, its gradients checked, its tape drawn, its weights saved. */
#include "command.h"
#include "cotangent.h"
#include "digits.h"
#include "network.h"
#include "options.h"
#include "picture.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic_file.h"

static const char me[] = "train";

enum { EPOCHS = 30, QUICK_EPOCHS = 2, BATCH = 32, DRAWN_ROWS = 32 };

struct wishes {
    int64_t epochs, batch;
    uint64_t seed;
    double lr;
    const char *out;
    bool quick;
};

/* What is held while the command runs. */
struct run {
    struct wishes wishes;
    struct digits digits;
    ct_mlp *mlp;
    ct_optim *optim;
    ct_tape *tape;
    bool made_folder;
    char digest[CT_SHA256_TEXT_BYTES];
};

static const char about[] =
    "Trains a network (" NETWORK_TEXT ") with Adam on 1,797 handwritten digits, which are part of\n"
    "this program; a fifth of them is held out to measure it. Then checks the gradients of the "
    "network\n"
    "three ways and writes into the folder:\n"
    "\n"
    "  model.safetensors   the weights, for any program that reads safetensors\n"
    "  tape.dot, tape.svg  the picture of one training step (the second needs Graphviz)\n"
    "\n"
    "The last line is the SHA-256 of the weights. It is the same for the same options on any "
    "number of\n"
    "threads (CT_NUM_THREADS) and any instruction set (CT_ISA=scalar|avx2|avx512).\n";

static const char examples[] = "  cotangent train --out run\n"
                               "  cotangent train --epochs 60 --lr 0.001 --seed 7 --out run7\n";

static int read_wishes(int argc, char **argv, struct wishes *wishes) {
    const struct option_row rows[] = {
        {"epochs", OPTION_COUNT, &wishes->epochs, 1, 100000, "N", "passes over the rows (30)"},
        {"batch", OPTION_COUNT, &wishes->batch, 1, DIGIT_TRAIN_ROWS, "N", "rows in a step (32)"},
        {"seed", OPTION_SEED, &wishes->seed, 0, 0, "N", "of the weights and the order of rows (1)"},
        {"lr", OPTION_REAL, &wishes->lr, 0, 0, "X", "learning rate (0.01)"},
        {"out", OPTION_TEXT, &wishes->out, 0, 0, "DIR",
         "folder for the files, made if missing (run)"},
        {"quick", OPTION_FLAG, &wishes->quick, 0, 0, NULL, "2 epochs only, in place of --epochs"},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL, NULL},
    };
    const struct option_table table = {me, NULL, about, examples, rows};
    *wishes = (struct wishes){.batch = BATCH, .seed = 1, .lr = 0.01, .out = "run"};
    const char *operand;
    int status = options_read(&table, argc, argv, &operand);
    if (status < 0 && wishes->quick && wishes->epochs)
        return usage_failed(me, "--quick is --epochs %d: leave one of the two away", QUICK_EPOCHS);
    if (wishes->epochs == 0)
        wishes->epochs = wishes->quick ? QUICK_EPOCHS : EPOCHS;
    return status;
}

/* ---- the folder */

static void name_file(const struct run *run, const char *file, char path[static 4096]) {
    snprintf(path, 4096, "%s/%s", run->wishes.out, file);
}

/* Makes sure of the folder before time is spent on training. */
static int open_folder(struct run *run) {
    const char *out = run->wishes.out;
    struct stat found;
    if (strlen(out) > 4000)
        return command_failed(me, "the name of the folder is too long");
    run->made_folder = mkdir(out, 0777) == 0;
    if (!run->made_folder && errno != EEXIST)
        return command_failed(me, "cannot make the folder '%s': %s; choose another with --out", out,
                              strerror(errno));
    if (stat(out, &found) != 0)
        return command_failed(me, "cannot look at '%s': %s", out, strerror(errno));
    if (!S_ISDIR(found.st_mode))
        return command_failed(me, "'%s' is not a folder; choose another with --out", out);
    static const char *const files[] = {"model.safetensors", "tape.dot", "tape.svg"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        name_file(run, files[i], path);
        struct ct__atomic_file *probe = ct__atomic_begin(path, __func__);
        if (!probe)
            return library_failed(me);
        ct__atomic_abandon(probe);
    }
    return -1;
}

/* ---- training */

static ct_optim *make_adam(double lr) {
    struct ct_adam_options options = ct_adam_options_init();
    options.lr = lr;
    return ct_adam_new(&options);
}

static bool prepare(struct run *run) {
    run->mlp = network_new(run->wishes.seed);
    run->optim = make_adam(run->wishes.lr);
    run->tape = ct_tape_new();
    return run->mlp && run->optim && run->tape && digits_load(&run->digits);
}

static int fit(struct run *run) {
    const struct digits *digits = &run->digits;
    printf("cotangent " CT_VERSION ", instruction set %s, %d thread%s\n", ct_isa_name(),
           ct_num_threads(), ct_num_threads() == 1 ? "" : "s");
    printf(NETWORK_TEXT ", Adam: %" PRId64 " digits to learn from, %" PRId64 " held out\n",
           ct_extent(digits->train_labels, 0), ct_extent(digits->test_labels, 0));
    struct progress progress = progress_begin();
    struct ct_fit_options options = ct_fit_options_init();
    options.epochs = (int)run->wishes.epochs;
    options.batch = run->wishes.batch;
    options.seed = run->wishes.seed;
    options.on_epoch = progress_epoch;
    options.context = &progress;
    ct_status status =
        ct_fit(run->mlp, run->optim, &(struct ct_rows){digits->train_x, digits->train_labels},
               &(struct ct_rows){digits->test_x, digits->test_labels}, &options);
    if (progress.broken)
        return EXIT_FAILED;
    if (status != CT_OK)
        return library_failed(me);
    printf("accuracy on the held-out digits: %.2f %%\n", 100 * progress.last.test_accuracy);
    return -1;
}

static int check_gradients(struct run *run) {
    struct ct_check_report report;
    if (network_check(run->mlp, &run->digits, &report) != CT_OK)
        return library_failed(me);
    printf("gradients checked three ways (tape, dual numbers, differences) at %zu places: worst "
           "relative error %.1e\n",
           report.checked, report_worst(&report));
    if (report.zeros == report.checked)
        puts("all of these gradients are zero, which says little: the network is saturated");
    else if (report.zeros > report.checked / 2)
        printf("%zu of these gradients are zero, which says little: the network is saturated\n",
               report.zeros);
    if (report.verdict == CT_CHECK_BLIND)
        printf("%s: the loss is too large for them\n", report.message);
    else if (report.verdict != CT_CHECK_PASS)
        return command_failed(me, "the gradient check did not pass: %s", report.message);
    return -1;
}

/* ---- files */

static int draw(struct run *run) {
    char dot[4096], svg[4096];
    name_file(run, "tape.dot", dot);
    name_file(run, "tape.svg", svg);
    if (network_record_step(run->mlp, run->tape, &run->digits, DRAWN_ROWS) != CT_OK)
        return command_failed(me, "%s", ct_tape_message(run->tape));
    struct ct_dot_options options = ct_dot_options_init();
    options.title = "one training step of " NETWORK_TEXT;
    options.legend = true;
    if (picture_write(run->tape, &options, dot) != CT_OK)
        return library_failed(me);
    printf("wrote %s\n", dot);
    switch (picture_draw(dot, svg)) {
    case DRAWN:
        printf("wrote %s\n", svg);
        return -1;
    case NO_DOT:
        printf("no %s: Graphviz's program 'dot' is not installed (apt-get install graphviz)\n",
               svg);
        return -1;
    case NOT_DRAWN:
        break;
    }
    return library_failed(me);
}

static int save(struct run *run) {
    char path[4096], seed[32];
    name_file(run, "model.safetensors", path);
    snprintf(seed, sizeof seed, "%" PRIu64, run->wishes.seed);
    const ct_params *params = ct_mlp_params(run->mlp);
    struct ct_named_tensor tensors[NETWORK_PARAMETERS];
    for (size_t i = 0; i < NETWORK_PARAMETERS; i++)
        tensors[i] =
            (struct ct_named_tensor){ct_params_name(params, i), ct_params_value(params, i)};
    const char *const metadata[] = {"made_by", "cotangent " CT_VERSION,
                                    "network", NETWORK_TEXT,
                                    "data",    "UCI handwritten digits, pixels / 16",
                                    "seed",    seed};
    if (ct_safetensors_save(path, NETWORK_PARAMETERS, tensors, 4, metadata, run->digest) != CT_OK)
        return library_failed(me);
    printf("wrote %s\n", path);
    return -1;
}

static int print_digest(struct run *run) {
    printf("sha256 %s isa=%s threads=%d\n", run->digest, ct_isa_name(), ct_num_threads());
    return -1;
}

static int train(struct run *run) {
    static int (*const steps[])(struct run *) = {open_folder, fit,  check_gradients,
                                                 save,        draw, print_digest};
    if (!prepare(run))
        return library_failed(me);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int status = steps[i](run);
        if (status >= 0)
            return status;
        if (!output_arrives())
            return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static void clean_up(struct run *run, int status) {
    digits_free(&run->digits);
    ct_mlp_free(run->mlp);
    ct_optim_free(run->optim);
    ct_tape_free(run->tape);
    if (status != EXIT_DONE && run->made_folder)
        rmdir(run->wishes.out); /* stays where something was written */
}

int cmd_train(int argc, char **argv) {
    struct run run = {0};
    int status = read_wishes(argc, argv, &run.wishes);
    if (status >= 0)
        return status;
    status = train(&run);
    clean_up(&run, status);
    return status;
}
