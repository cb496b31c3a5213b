#include "progress.h"

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

struct progress progress_begin(void) {
    const char *term = getenv("TERM");
    bool plain = !term || strcmp(term, "dumb") == 0;
    return (struct progress){.terminal = !plain && isatty(STDOUT_FILENO)};
}

static void draw_bar(const struct ct_epoch *epoch) {
    int full = BAR_WIDTH * epoch->epoch / epoch->epochs;
    printf("\r  [");
    for (int i = 0; i < BAR_WIDTH; i++)
        putchar(i < full ? '#' : '.');
    printf("] %*d/%d  loss %.4f  held out %5.2f %%", epoch->epochs < 10 ? 1 : 2, epoch->epoch,
           epoch->epochs, epoch->loss, 100 * epoch->test_accuracy);
    if (epoch->epoch == epoch->epochs)
        putchar('\n');
}

bool progress_epoch(void *context, const struct ct_epoch *epoch) {
    struct progress *progress = context;
    progress->last = *epoch;
    if (progress->terminal)
        draw_bar(epoch);
    else
        printf("epoch %d of %d: loss %.4f, accuracy %.2f %% on its rows, %.2f %% held out\n",
               epoch->epoch, epoch->epochs, epoch->loss, 100 * epoch->train_accuracy,
               100 * epoch->test_accuracy);
    progress->broken = !output_arrives();
    return !progress->broken;
}
