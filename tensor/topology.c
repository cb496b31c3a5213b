#include "tensor/topology.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CT_NO_HWLOC
#include <hwloc.h>
#endif

enum { LEVELS = 3 };

static struct {
    int cores;
    size_t cache_bytes[LEVELS];
} machine; // constant once `known`

static atomic_bool known;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER; // also keeps forks from coming halfway

// ---- without hwloc; also what is used where hwloc knows nothing

static int cores_by_affinity(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN); // more CPUs than a cpu_set_t holds
}

static size_t cache_by_sysconf(int index) {
    static const int names[LEVELS] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                      _SC_LEVEL3_CACHE_SIZE};
    long bytes = sysconf(names[index]);
    return bytes > 0 ? (size_t)bytes : 0;
}

// ---- with hwloc

#ifndef CT_NO_HWLOC
static const hwloc_obj_type_t cache_types[LEVELS] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                                     HWLOC_OBJ_L3CACHE};

static int bound_cores(hwloc_topology_t topology) {
    int cores = 0;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(topology));
        cores = hwloc_bitmap_weight(set);
    }
    hwloc_bitmap_free(set);
    return cores;
}

static size_t smallest_cache(hwloc_topology_t topology, hwloc_obj_type_t type) {
    size_t bytes = 0;
    hwloc_obj_t cache = NULL;
    while ((cache = hwloc_get_next_obj_by_type(topology, type, cache))) {
        size_t size = (size_t)cache->attr->cache.size;
        if (size && (!bytes || size < bytes))
            bytes = size;
    }
    return bytes;
}

/// Only processing units and caches, and without binding this thread to each CPU in turn.
static bool load(hwloc_topology_t topology) {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (int i = 0; i < LEVELS; i++)
        hwloc_topology_set_type_filter(topology, cache_types[i], HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020500
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
    return hwloc_topology_load(topology) == 0;
}

static void ask_hwloc(void) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (load(topology)) {
        machine.cores = bound_cores(topology);
        for (int i = 0; i < LEVELS; i++)
            machine.cache_bytes[i] = smallest_cache(topology, cache_types[i]);
    }
    hwloc_topology_destroy(topology);
}
#endif

static void look(void) {
#ifndef CT_NO_HWLOC
    ask_hwloc();
#endif
    if (machine.cores < 1)
        machine.cores = cores_by_affinity();
    if (machine.cores < 1)
        machine.cores = 1;
    for (int i = 0; i < LEVELS; i++)
        if (!machine.cache_bytes[i])
            machine.cache_bytes[i] = cache_by_sysconf(i);
}

static void lock_before_fork(void) {
    pthread_mutex_lock(&reading);
}

static void unlock_after_fork(void) {
    pthread_mutex_unlock(&reading);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

static void look_once(void) {
    if (atomic_load_explicit(&known, memory_order_acquire))
        return;
    pthread_mutex_lock(&reading);
    if (!atomic_load_explicit(&known, memory_order_relaxed))
        look();
    atomic_store_explicit(&known, true, memory_order_release);
    pthread_mutex_unlock(&reading);
}

int ct__usable_cores(void) {
    look_once();
    return machine.cores;
}

size_t ct__cache_bytes(int level) {
    look_once();
    return level >= 1 && level <= LEVELS ? machine.cache_bytes[level - 1] : 0;
}

// ---- cgroups

/// Reads a small file as a string; false when it cannot be read.
static bool slurp(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t got;
    while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    close(fd);
    text[used] = '\0';
    return used > 0;
}

/// CPUs rounded up; 0 for no quota ("max", -1, nonsense).
static int cpus_of(const char *quota, const char *period) {
    long long time = strtoll(quota, NULL, 10), each = strtoll(period, NULL, 10);
    if (time <= 0 || each <= 0)
        return 0;
    long long cpus = time / each + (time % each != 0);
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/// Version 2: "cpu.max" holds quota and period.
static int quota_v2(const char *folder) {
    char path[PATH_MAX], text[64];
    if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path ||
        !slurp(path, text, sizeof text))
        return 0;
    const char *period = strchr(text, ' ');
    return period ? cpus_of(text, period) : 0;
}

/// Version 1: quota and period are files.
static int quota_v1(const char *folder) {
    char path[PATH_MAX], quota[32], period[32];
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= (int)sizeof path ||
        !slurp(path, quota, sizeof quota))
        return 0;
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= (int)sizeof path ||
        !slurp(path, period, sizeof period))
        return 0;
    return cpus_of(quota, period);
}

static int tighter(int a, int b) {
    return !a || (b && b < a) ? b : a;
}

/// The tightest quota of a group and its parents. Inside a container the group's own folder may not be visible; the
/// mount's root then stands for it.
static int tightest(const char *mount, const char *group, int (*quota)(const char *folder)) {
    char folder[PATH_MAX];
    size_t root = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return quota(mount);
    int cpus = 0;
    for (size_t end = strlen(folder); end > root;) {
        cpus = tighter(cpus, quota(folder));
        while (end > root && folder[end] != '/')
            end--;
        folder[end] = '\0';
    }
    return tighter(cpus, quota(mount));
}

/// Whether "cpu" is in a list such as "cpu,cpuacct".
static bool lists_cpu(const char *list) {
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == 3 && strncmp(list, "cpu", 3) == 0)
            return true;
    return false;
}

/// The quota that one line of /proc/self/cgroup, "number:controllers:group", leads to.
static int quota_of_line(const char *root, char *line) {
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *group++ = '\0';
    controllers++;
    bool v2 = *controllers == '\0';
    if (!v2 && !lists_cpu(controllers))
        return 0;
    if (snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/",
                 v2 ? "" : controllers) >= (int)sizeof mount)
        return 0;
    return tightest(mount, group, v2 ? quota_v2 : quota_v1);
}

int ct__cpu_quota(const char *root) {
    char path[PATH_MAX], text[8192], *rest = NULL;
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path ||
        !slurp(path, text, sizeof text))
        return 0;
    int cpus = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        cpus = tighter(cpus, quota_of_line(root, line));
    return cpus;
}
