#include "tensor/alloc.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/checked.h"
#include "tensor/fail.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

// Sizes are rounded up to a class: 64, 128, 192, then four steps to each power of two. A freed block is kept in its class,
// newest first, and in one list over all classes by age, from which the oldest are given back when the bound is reached.
//
// In front of this cache of the process each thread has one of its own for small blocks. A thread's cache has a flag for a
// lock, which is contended only while somebody empties all caches; they are found in a list.

static const size_t huge_page = (size_t)2 << 20;
static const size_t huge_block = (size_t)4 << 20;
static const size_t largest_class = (size_t)256 << 20;
static const uint64_t magic_live = 0x434f54414e47454eU;
static const uint64_t magic_kept = 0x6b6570745f626c6bU;

enum {
    CLASSES = 3 + 4 * 20 + 1,      // 64, 128, 192; 256 << 0..19 in four steps; 256 MiB
    LOCAL_CLASSES = 3 + 4 * 8 + 2, // up to 80 KiB: a descriptor and 64 KiB of items
    LOCAL_LARGEST = 80 << 10,
    LOCAL_BYTES = 1 << 20, // in a thread's cache at most: half of a common L2
    LOCAL_LEAST = 8 << 20  // with a lower bound of the cache threads have none of their own
};

struct links {
    struct block *newer, *older;
};

/// What precedes the caller's bytes. The lists are used while the block is kept.
struct block {
    _Alignas(CT__ALIGNMENT) uint64_t magic;
    size_t capacity;
    size_t class; // of the capacity, where it has one
    struct links age;
    struct links same; // those of one class
};

static_assert(sizeof(struct block) == CT__ALIGNMENT, "the header must keep the alignment");

struct list {
    struct block *newest, *oldest;
};

static void *default_allocate(void *ctx, size_t bytes, size_t align);
static void default_release(void *ctx, void *p, size_t bytes);

static struct ct_allocator allocator = {default_allocate, default_release, NULL};
static atomic_bool frozen;
static atomic_size_t allocator_calls;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; // everything below, and `allocator` until frozen
static struct list by_age;
static struct list by_class[CLASSES];
static size_t kept_bytes;
static size_t kept_limit = (size_t)256 << 20;
static bool limit_is_set; // by the user: it is strict then
static size_t outside,
    most_outside;            // bytes in use or in the caches of threads, now and at most of late
static struct local *locals; // the caches of threads

/// The cache of a thread.
struct local {
    atomic_bool busy;                     // what follows is in use
    enum { NOT_YET, JOINED, GONE } state; // in the list of caches, or no longer
    size_t bytes;
    atomic_size_t live; // blocks made less blocks freed by this thread, who alone writes it
    struct block *newest[LOCAL_CLASSES];
    struct local *next, *previous;
};

static _Thread_local struct local own;
static atomic_bool locals_allowed = true; // written with the lock held
static atomic_size_t live_elsewhere; // blocks made less blocks freed by threads without a cache
static pthread_key_t at_thread_exit;
static bool have_key;

// ---- the default allocator

static void *default_allocate(void *ctx, size_t bytes, size_t align) {
    (void)ctx;
    void *p = NULL;
    bool huge = bytes >= huge_block;
    if (posix_memalign(&p, huge && align < huge_page ? huge_page : align, bytes))
        return NULL;
    if (huge)
        (void)madvise(p, bytes / huge_page * huge_page, MADV_HUGEPAGE); // advice: may be refused
    return p;
}

static void default_release(void *ctx, void *p, size_t bytes) {
    (void)ctx;
    (void)bytes;
    free(p);
}

// ---- the locks and first use

static void enter(void) {
    pthread_mutex_lock(&lock);
}

static void leave(void) {
    pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void wait_for_local(struct local *l) {
    while (atomic_exchange_explicit(&l->busy, true, memory_order_acquire))
        sched_yield();
}

static inline void take_local(struct local *l) {
    if (atomic_exchange_explicit(&l->busy, true, memory_order_acquire))
        wait_for_local(l);
}

static inline void leave_local(struct local *l) {
    atomic_store_explicit(&l->busy, false, memory_order_release);
}

ct_status ct_set_allocator(const struct ct_allocator *replacement) {
    if (!replacement)
        return ct__fail_null_operand(__func__);
    if (!replacement->allocate || !replacement->release)
        return ct__fail(CT_EINVAL, __func__, "an allocator needs both allocate and release");
    enter();
    bool late = atomic_load_explicit(&frozen, memory_order_relaxed);
    if (!late)
        allocator = *replacement;
    leave();
    if (late)
        return ct__fail(CT_EINVAL, __func__,
                        "the allocator can be replaced only before the library first allocates");
    return CT_OK;
}

// ---- size classes

static unsigned floor_log2(size_t x) {
    return 63u - (unsigned)__builtin_clzll(x);
}

/// The class of a size up to the largest class.
static inline size_t class_of(size_t bytes) {
    if (bytes <= 256)
        return bytes ? (bytes - 1) / CT__ALIGNMENT : 0;
    unsigned power = floor_log2(bytes - 1);
    return 3 + 4 * (size_t)(power - 8) + (((bytes - 1) >> (power - 2)) & 3) + 1;
}

/// Rounds up to a class; above the largest class to whole lines. False when header and block do not fit in size_t.
static bool round_up(size_t bytes, size_t *capacity) {
    size_t step = CT__ALIGNMENT;
    if (bytes > 256 && bytes <= largest_class)
        step = (size_t)1 << (floor_log2(bytes - 1) - 2);
    size_t padded;
    if (!ct__add_size(bytes ? bytes : 1, step - 1 + sizeof(struct block), &padded))
        return false;
    *capacity = (padded - sizeof(struct block)) / step * step;
    return true;
}

// ---- calls to the allocator, never made with the lock held

/// Keeps the caller's hands off a block, or off the slack behind its bytes; off for builds without AddressSanitizer.
static void poison(struct block *b, size_t used) {
#ifdef WITH_ASAN
    ASAN_UNPOISON_MEMORY_REGION(b + 1, used);
    ASAN_POISON_MEMORY_REGION((unsigned char *)(b + 1) + used, b->capacity - used);
#else
    (void)b;
    (void)used;
#endif
}

static void give_back(struct block *b) {
    size_t total = sizeof *b + b->capacity;
    poison(b, b->capacity);
    b->magic = 0;
    atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
    allocator.release(allocator.ctx, b, total);
}

static struct block *fetch(size_t capacity) {
    size_t total = sizeof(struct block) + capacity; // capacity was checked for this
    atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
    struct block *b = allocator.allocate(allocator.ctx, total, CT__ALIGNMENT);
    if (b && (uintptr_t)b % CT__ALIGNMENT) {
        atomic_fetch_add_explicit(&allocator_calls, 1, memory_order_relaxed);
        allocator.release(allocator.ctx, b, total); // unusable: as good as no memory
        return NULL;
    }
    if (b) {
        b->capacity = capacity;
        b->class = capacity <= largest_class ? class_of(capacity) : CLASSES;
    }
    return b;
}

static void give_back_all(struct block *b) {
    while (b) {
        struct block *next = b->age.newer;
        give_back(b);
        b = next;
    }
}

/// Puts one chain through age.newer behind another.
static struct block *chained(struct block *b, struct block *rest) {
    struct block *last = b;
    while (last && last->age.newer)
        last = last->age.newer;
    if (last)
        last->age.newer = rest;
    return b ? b : rest;
}

// ---- the cache; all with the lock held

static struct links *links_in(struct block *b, bool age) {
    return age ? &b->age : &b->same;
}

static void push(struct list *list, struct block *b, bool age) {
    *links_in(b, age) = (struct links){NULL, list->newest};
    if (list->newest)
        links_in(list->newest, age)->newer = b;
    else
        list->oldest = b;
    list->newest = b;
}

static void unlink_from(struct list *list, struct block *b, bool age) {
    struct links at = *links_in(b, age);
    if (at.newer)
        links_in(at.newer, age)->older = at.older;
    else
        list->newest = at.older;
    if (at.older)
        links_in(at.older, age)->newer = at.newer;
    else
        list->oldest = at.newer;
}

static void keep(struct block *b) {
    b->magic = magic_kept;
    push(&by_age, b, true);
    push(&by_class[b->class], b, false);
    kept_bytes += b->capacity;
}

static void unkeep(struct block *b) {
    unlink_from(&by_age, b, true);
    unlink_from(&by_class[b->class], b, false);
    kept_bytes -= b->capacity;
}

/// Takes the oldest blocks out until at most @p limit bytes are kept; returns them as a chain through age.newer.
static struct block *shrink_to(size_t limit) {
    struct block *first = NULL, *last = NULL;
    while (kept_bytes > limit) {
        struct block *b = by_age.oldest;
        unkeep(b);
        b->age.newer = NULL;
        if (last)
            last->age.newer = b;
        else
            first = b;
        last = b;
    }
    return first;
}

static struct block *take_kept(size_t capacity) {
    if (capacity > largest_class)
        return NULL;
    struct block *b = by_class[class_of(capacity)].newest;
    if (b)
        unkeep(b);
    return b;
}

/// How many bytes may be kept now. A loop whose turns need more than the first bound gets it all back: what is kept and what
/// is not stay below 5/4 of the most that was in use of late; a quarter, since blocks of other sizes may be in use then.
static size_t bound(void) {
    size_t most = most_outside + most_outside / 4;
    size_t unused = most > outside ? most - outside : 0;
    return limit_is_set || unused < kept_limit ? kept_limit : unused;
}

/// Keeps a block that is outside where there is room for it; returns what has to be given back.
static struct block *keep_bounded(struct block *b) {
    outside -= b->capacity;
    size_t most = bound();
    b->age.newer = NULL;
    if (b->capacity > largest_class || b->capacity > most)
        return b;
    struct block *out = shrink_to(most - b->capacity);
    keep(b);
    return out;
}

/// Counts a block that is outside from now on. The peak fades by a 1024th of what goes out, so that one large job does not
/// bind its memory for ever.
static void count_outside(size_t capacity) {
    size_t fade = capacity / 1024;
    outside += capacity;
    most_outside -= fade < most_outside ? fade : most_outside;
    if (most_outside < outside)
        most_outside = outside;
}

// ---- the caches of threads

/// Takes all out of a thread's cache, with its lock held; returns them as a chain through age.newer.
static struct block *drain(struct local *l) {
    struct block *all = NULL;
    for (int i = 0; i < LOCAL_CLASSES; i++)
        while (l->newest[i]) {
            struct block *b = l->newest[i];
            l->newest[i] = b->same.older;
            b->age.newer = all;
            all = b;
        }
    l->bytes = 0;
    return all;
}

/// That of all threads, with the process's lock held.
static struct block *drain_all(void) {
    struct block *all = NULL;
    for (struct local *l = locals; l; l = l->next) {
        take_local(l);
        outside -= l->bytes;
        all = chained(drain(l), all);
        leave_local(l);
    }
    return all;
}

/// Gives a thread's cache and its count of blocks to the process, with both locks held; returns what does not fit.
static struct block *dissolve(struct local *l) {
    struct block *out = NULL;
    for (struct block *b = drain(l), *next; b; b = next) {
        next = b->age.newer;
        out = chained(keep_bounded(b), out);
    }
    if (l->next)
        l->next->previous = l->previous;
    *(l->previous ? &l->previous->next : &locals) = l->next;
    l->state = GONE;
    atomic_fetch_add_explicit(&live_elsewhere, atomic_load_explicit(&l->live, memory_order_relaxed),
                              memory_order_relaxed);
    return out;
}

/// When a thread ends.
static void part(void *cache) {
    struct local *l = cache;
    enter();
    take_local(l);
    struct block *out = dissolve(l);
    leave_local(l);
    leave();
    give_back_all(out);
}

static inline void count_own(struct local *l, size_t blocks) {
    size_t live = atomic_load_explicit(&l->live, memory_order_relaxed);
    atomic_store_explicit(&l->live, live + blocks, memory_order_relaxed);
}

/// Gives the calling thread a cache, if there is none yet and the library is loaded whole.
static void join(void) {
    if (own.state != NOT_YET || !have_key || pthread_setspecific(at_thread_exit, &own))
        return;
    enter();
    own.next = locals;
    if (locals)
        locals->previous = &own;
    locals = &own;
    own.state = JOINED;
    leave();
}

/// A block of at least @p bytes, few, from the cache of the calling thread, counted as live; or NULL.
static inline struct block *take_own(struct local *l, size_t bytes) {
    struct block **newest = &l->newest[class_of(bytes)];
    take_local(l);
    struct block *b = *newest;
    if (b) {
        *newest = b->same.older;
        l->bytes -= b->capacity;
        count_own(l, 1);
    }
    leave_local(l);
    return b;
}

/// Keeps a block there, no longer live; false where there is no room.
static inline bool keep_own(struct local *l, struct block *b) {
    if (b->capacity > LOCAL_LARGEST)
        return false;
    struct block **newest = &l->newest[b->class];
    take_local(l);
    size_t bytes = l->bytes + b->capacity;
    bool room = bytes <= LOCAL_BYTES && atomic_load_explicit(&locals_allowed, memory_order_relaxed);
    if (room) {
        b->magic = magic_kept;
        b->same.older = *newest;
        *newest = b;
        l->bytes = bytes;
        count_own(l, (size_t)-1);
    }
    leave_local(l);
    return room;
}

/// Counts a block made (1) or freed (-1, as a size_t).
static void count_live(size_t blocks) {
    if (own.state == JOINED)
        count_own(&own, blocks);
    else
        atomic_fetch_add_explicit(&live_elsewhere, blocks, memory_order_relaxed);
}

size_t ct_live_blocks(void) {
    enter();
    size_t live = atomic_load_explicit(&live_elsewhere, memory_order_relaxed);
    for (const struct local *l = locals; l; l = l->next)
        live += atomic_load_explicit(&l->live, memory_order_relaxed);
    leave();
    return live;
}

// ---- fork

static void lock_before_fork(void) {
    enter();
    for (struct local *l = locals; l; l = l->next)
        take_local(l);
}

static void unlock_in_parent(void) {
    for (struct local *l = locals; l; l = l->next)
        leave_local(l);
    leave();
}

/// The other threads are not there, and their memory may be used for new ones: what they kept goes to the process.
static void unlock_in_child(void) {
    struct block *out = NULL;
    for (struct local *l = locals, *next; l; l = next) {
        next = l->next;
        if (l != &own)
            out = chained(dissolve(l), out);
        leave_local(l);
    }
    leave();
    give_back_all(out);
}

/// When the library is loaded: later, a fork might come halfway.
__attribute__((constructor)) static void watch_threads(void) {
    pthread_atfork(lock_before_fork, unlock_in_parent, unlock_in_child);
    have_key = pthread_key_create(&at_thread_exit, part) == 0;
}

// ---- the bound

void ct_cache_limit(size_t bytes) {
    enter();
    kept_limit = bytes;
    limit_is_set = true;
    atomic_store_explicit(&locals_allowed, bytes >= LOCAL_LEAST, memory_order_relaxed);
    struct block *out = shrink_to(bytes);
    if (bytes < LOCAL_LEAST)
        out = chained(drain_all(), out);
    leave();
    give_back_all(out);
}

/// Empties the caches; true when there was something in them.
static bool clear_cache(void) {
    enter();
    struct block *out = shrink_to(0);
    out = chained(drain_all(), out);
    leave();
    give_back_all(out);
    return out != NULL;
}

void ct_cache_clear(void) {
    clear_cache();
}

/// A replaced allocator may be gone by now; the default one is not. The library may be about to be unloaded.
__attribute__((destructor)) static void clear_cache_at_exit(void) {
    if (have_key)
        pthread_key_delete(at_thread_exit);
    have_key = false;
    if (allocator.release == default_release)
        clear_cache();
}

// ---- blocks

static struct block *header_of(void *block) {
    struct block *b = (struct block *)block - 1;
#ifdef CT_DEBUG
    assert(b->magic == magic_live && "not a live block of this library");
#endif
    return b;
}

static __attribute__((noinline)) struct block *obtain(size_t capacity) {
    join();
    enter();
    atomic_store_explicit(&frozen, true, memory_order_relaxed);
    struct block *b = take_kept(capacity);
    count_outside(capacity);
    leave();
    if (!b)
        b = fetch(capacity);
    if (!b && clear_cache())
        b = fetch(capacity);
    if (!b) {
        enter();
        outside -= capacity;
        leave();
    }
    return b;
}

static void *hand_out(struct block *b, size_t bytes) {
    b->magic = magic_live;
    poison(b, bytes);
    return b + 1;
}

static __attribute__((noinline)) void *alloc_elsewhere(size_t bytes) {
    size_t capacity;
    struct block *b = round_up(bytes, &capacity) ? obtain(capacity) : NULL;
    if (!b)
        return NULL;
    count_live(1);
    return hand_out(b, bytes);
}

void *ct__alloc(size_t bytes) {
    struct local *l = &own;
    struct block *b = bytes <= LOCAL_LARGEST && l->state == JOINED ? take_own(l, bytes) : NULL;
    return b ? hand_out(b, bytes) : alloc_elsewhere(bytes);
}

void *ct__alloc_zero(size_t bytes) {
    void *block = ct__alloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

static __attribute__((noinline)) void free_elsewhere(struct block *b) {
    count_live((size_t)-1);
    enter();
    struct block *out = keep_bounded(b);
    leave();
    give_back_all(out);
}

void ct__free(void *block) {
    struct local *l = &own;
    if (!block)
        return;
    struct block *b = header_of(block);
    poison(b, 0);
    if (l->state != JOINED || !keep_own(l, b))
        free_elsewhere(b);
}

void *ct__realloc(void *block, size_t bytes) {
    if (!block)
        return ct__alloc(bytes);
    struct block *b = header_of(block);
    if (bytes <= b->capacity && (bytes >= b->capacity / 2 || b->capacity <= 256)) {
        poison(b, bytes);
        return block;
    }
    void *moved = ct__alloc(bytes);
    if (!moved)
        return NULL;
    poison(b, b->capacity);
    memcpy(moved, block, bytes < b->capacity ? bytes : b->capacity);
    ct__free(block);
    return moved;
}

size_t ct_allocator_calls(void) {
    return atomic_load_explicit(&allocator_calls, memory_order_relaxed);
}
