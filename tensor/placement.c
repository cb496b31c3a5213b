#include "tensor/placement.h"

#include <stdbool.h>
#include <unistd.h>

#ifdef __linux__

pid_t ct__thread_id(void) {
    return gettid();
}

void ct__placement_start(struct ct__placement *placement) {
    placement->avoided = -1;
    if (sched_getaffinity(0, sizeof placement->home, &placement->home) != 0)
        CPU_ZERO(&placement->home); // more CPUs than a cpu_set_t holds: workers stay where they are
    placement->given = placement->home;
}

/// Takes over what was changed behind our back.
static void look_again(struct ct__placement *placement, pid_t worker) {
    cpu_set_t now;
    if (!worker || sched_getaffinity(worker, sizeof now, &now) != 0 ||
        CPU_EQUAL(&now, &placement->given))
        return;
    placement->home = placement->given = now;
}

static void give(struct ct__placement *placement, const cpu_set_t *set,
                 const _Atomic pid_t *workers, int count) {
    for (int i = 0; i < count; i++) {
        pid_t worker = workers[i]; // 0 would be the caller
        if (!worker || sched_setaffinity(worker, sizeof *set, set) != 0)
            placement->avoided = -1; // once more at the next loop
        else if (i == 0)
            placement->given = *set;
    }
}

void ct__placement_keep_off(struct ct__placement *placement, const _Atomic pid_t *workers,
                            int count) {
    int here = sched_getcpu();
    if (here == placement->avoided || count == 0)
        return;
    placement->avoided = here;
    look_again(placement, workers[0]);
    if (here < 0 || here >= CPU_SETSIZE || count >= CPU_COUNT(&placement->home))
        return;
    cpu_set_t set = placement->home;
    CPU_CLR((size_t)here, &set);
    give(placement, &set, workers, count);
}

#else

pid_t ct__thread_id(void) {
    return 1;
}

void ct__placement_start(struct ct__placement *placement) {
    placement->avoided = -1;
}

void ct__placement_keep_off(struct ct__placement *placement, const _Atomic pid_t *workers,
                            int count) {
    (void)placement;
    (void)workers;
    (void)count;
}

#endif
