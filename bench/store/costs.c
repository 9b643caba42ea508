/* SPDX-License-Identifier: Apache-2.0 */
/* What the store costs: durable writes against bare LMDB that commits the same bytes in groups as large as the number of
 * writers (rounds of both take turns, the ratio is the median); reading; the file under churn; memory after reading all. */
#include "base/arena.h"
#include "base/clock.h"
#include "store/store.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    WRITERS = 64,
    SMALL = 620,
    LARGE = 30000,
    PER_ROUND = 6400,
    ROUNDS = 7,
    MANY = 50000,
    CRDS = 2000,
    CHURN = 10000
};

struct bench {
    char dir[64];
    struct store *store;
    uint32_t table;
    int wake;
    size_t in_flight, next, until, size, keys; /* keys 0: each write makes a new object */
    rev *standing;                             /* by key */
};

static char bytes[LARGE];

static double now(void)
{
    return (double)clock_mono_ns(&clock_system) / 1e9;
}

static void must(int code, const char *what)
{
    if (code == 0)
        return;
    (void)fprintf(stderr, "bench: %s: %d\n", what, code);
    exit(1);
}

static void wake(void *ctx)
{
    uint64_t one = 1;
    must(write(((struct bench *)ctx)->wake, &one, sizeof one) != sizeof one, "wake");
}

static void make_dir(char dir[64])
{
    (void)snprintf(dir, 64, "%s/reeve-bench-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    must(mkdtemp(dir) == NULL, "make directory");
}

static void remove_dir(const char *dir)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock"};
    char path[96];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static void open_store(struct bench *b, uint64_t keep_bytes)
{
    struct err err;
    struct store_options options = {
        .dir = b->dir, .clock = clock_system, .wake = wake, .ctx = b, .keep_bytes = keep_bytes};
    if (store_open(&options, &b->store, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    b->table = store_table(b->store, S("things"));
}

/* ---- Writing. ---- */

static void submit(struct bench *b);

struct flight {
    struct bench *bench;
    size_t key;
};

static void done(void *ctx, const struct store_result *result)
{
    struct flight *f = ctx;
    struct bench *b = f->bench;
    must(result->code, "write");
    if (b->keys)
        b->standing[f->key] = result->revision;
    free(f);
    b->in_flight--;
    if (b->next < b->until)
        submit(b);
}

static void submit(struct bench *b)
{
    char name[32];
    struct flight *f = malloc(sizeof *f);
    must(f == NULL, "memory");
    *f = (struct flight){b, b->keys ? b->next % b->keys : b->next};
    b->next++;
    (void)snprintf(name, sizeof name, "object-%08zu", f->key);
    struct store_change c = {.table = b->table,
                             .namespace = S("default"),
                             .name = str_of(name),
                             .expect = b->keys ? b->standing[f->key] : 0,
                             .value = {bytes, b->size}};
    struct err err;
    must(store_submit(b->store, &(struct store_write){.changes = &c, .n_changes = 1, .done = done, .ctx = f}, &err),
         "submit");
    b->in_flight++;
}

/* n writes, so many at a time; seconds. */
static double write_store(struct bench *b, size_t n, size_t writers)
{
    double start = now();
    b->until = b->next + n;
    for (size_t i = 0; i < writers && b->next < b->until; i++)
        submit(b);
    while (b->in_flight) {
        uint64_t wakes;
        must(read(b->wake, &wakes, sizeof wakes) != sizeof wakes, "wait");
        store_poll(b->store);
    }
    return now() - start;
}

struct bare {
    char dir[64];
    MDB_env *env;
    MDB_dbi log, idx;
    uint64_t revision;
};

static void bare_open(struct bare *l)
{
    MDB_txn *txn;
    make_dir(l->dir);
    must(mdb_env_create(&l->env), "lmdb");
    must(mdb_env_set_maxdbs(l->env, 2), "lmdb");
    must(mdb_env_set_mapsize(l->env, (size_t)64 << 30), "lmdb");
    must(mdb_env_open(l->env, l->dir, 0, 0600), "lmdb");
    must(mdb_txn_begin(l->env, NULL, 0, &txn), "lmdb");
    must(mdb_dbi_open(txn, "log", MDB_CREATE, &l->log), "lmdb");
    must(mdb_dbi_open(txn, "idx", MDB_CREATE, &l->idx), "lmdb");
    must(mdb_txn_commit(txn), "lmdb");
}

static double write_bare(struct bare *l, size_t n, size_t group, size_t size)
{
    double start = now();
    for (size_t i = 0; i < n;) {
        MDB_txn *txn;
        must(mdb_txn_begin(l->env, NULL, 0, &txn), "lmdb");
        for (size_t j = 0; j < group && i < n; j++, i++) {
            char name[48];
            uint64_t revision = __builtin_bswap64(++l->revision);
            int len = snprintf(name, sizeof name, "0001default/object-%08zu", (size_t)l->revision);
            char entry[40] = {0};
            MDB_val k = {sizeof revision, &revision}, v = {48 + (size_t)len + size, NULL};
            must(mdb_put(txn, l->log, &k, &v, MDB_APPEND | MDB_RESERVE), "lmdb");
            memcpy((char *)v.mv_data + 48 + len, bytes, size);
            k = (MDB_val){(size_t)len, name};
            v = (MDB_val){sizeof entry, entry};
            must(mdb_put(txn, l->idx, &k, &v, 0), "lmdb");
        }
        must(mdb_txn_commit(txn), "lmdb");
    }
    return now() - start;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

static void compare(struct bench *b, struct bare *l, size_t writers, size_t n)
{
    double store[ROUNDS], bare[ROUNDS], ratio[ROUNDS];
    uint64_t commits = store_stats(b->store).commits;
    for (size_t i = 0; i < ROUNDS; i++) {
        store[i] = (double)n / write_store(b, n, writers);
        bare[i] = (double)n / write_bare(l, n, writers, b->size);
        ratio[i] = store[i] / bare[i];
    }
    commits = store_stats(b->store).commits - commits;
    printf("durable creates of %d B, %3zu writers   store %8.0f/s   bare LMDB %8.0f/s   ratio %.2f   %.1f per commit\n",
           SMALL, writers, median(store, ROUNDS), median(bare, ROUNDS), median(ratio, ROUNDS),
           (double)(n * ROUNDS) / (double)commits);
}

/* ---- Reading. ---- */

static void read_all(struct bench *b)
{
    struct store_item item;
    struct err err;
    double start = now();
    for (size_t i = 0; i < MANY; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "object-%08zu", i * 7919 % MANY);
        must(store_get(b->store, b->table, S("default"), str_of(name), &item, &err), "get");
    }
    double get = (double)MANY / (now() - start);
    double rates[2];
    for (size_t keys_only = 0; keys_only < 2; keys_only++) {
        size_t n = 0;
        start = now();
        struct store_list *l = store_list_open(
            b->store, &(struct store_range){.table = b->table, .all_namespaces = true, .keys_only = keys_only});
        while (store_list_next(l, &item, &err) > 0)
            n++;
        rates[keys_only] = (double)n / (now() - start);
        store_list_close(l);
    }
    struct store_log *log;
    struct store_event event;
    size_t n = 0;
    start = now();
    must(store_log_open(b->store, store_oldest(b->store), &log, &err), "log");
    while (store_log_next(log, &event, &err) > 0)
        n++;
    printf("reads per second: get %.0f   list %.0f   list of keys %.0f   log %.0f\n", get, rates[0], rates[1],
           (double)n / (now() - start));
    store_log_close(log);
}

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    char line[128] = {0};
    str rest, word;
    int64_t pages = 0;
    must(f == NULL || fgets(line, sizeof line, f) == NULL, "statm");
    (void)fclose(f);
    if (!str_cut(str_of(line), ' ', &word, &rest) || !str_cut(rest, ' ', &word, &rest) || !str_to_int64(word, &pages))
        exit(1);
    return (long)(pages * (sysconf(_SC_PAGESIZE) / 1024));
}

/* Objects of 30 KB: made, read, then changed over and over with a short history. */
static void large(struct bench *b)
{
    struct store_item item;
    struct err err;
    b->size = LARGE;
    b->keys = CRDS;
    b->standing = calloc(CRDS, sizeof *b->standing);
    must(b->standing == NULL, "memory");
    long idle = resident_kib();
    double seconds = write_store(b, CRDS, 1);
    long made = resident_kib();
    struct store_list *l = store_list_open(b->store, &(struct store_range){.table = b->table, .all_namespaces = true});
    size_t n = 0;
    while (store_list_next(l, &item, &err) > 0)
        n += item.value.n;
    store_list_close(l);
    printf("%d objects of %d B: one writer %.2f s   memory %ld KiB, after writing +%ld, after reading %zu MB +%ld\n",
           CRDS, LARGE, seconds, idle, made - idle, n / 1000000, resident_kib() - idle);
    double live = (double)CRDS * LARGE;
    for (size_t i = 1; i <= 4; i++) {
        seconds = write_store(b, CHURN, 16);
        struct store_stats stats = store_stats(b->store);
        printf("after %5zu updates: %6.0f/s   file %.2f x live data   pages in use %.2f x   history %.1f MB\n",
               i * CHURN, (double)CHURN / seconds, (double)stats.file_bytes / live, (double)stats.used_bytes / live,
               (double)stats.log_bytes / 1e6);
    }
    free(b->standing);
}

int main(void)
{
    struct bench b = {.wake = eventfd(0, EFD_CLOEXEC), .size = SMALL};
    struct bare l = {.revision = 0};
    memset(bytes, 'x', sizeof bytes);
    make_dir(b.dir);
    open_store(&b, 0);
    bare_open(&l);
    compare(&b, &l, 1, PER_ROUND / 16);
    compare(&b, &l, WRITERS, PER_ROUND);
    compare(&b, &l, 256, PER_ROUND);
    if (b.next < MANY)
        write_store(&b, MANY - b.next, 256);
    read_all(&b);
    store_close(b.store);
    mdb_env_close(l.env);
    remove_dir(b.dir);
    remove_dir(l.dir);
    make_dir(b.dir);
    b.next = 0;
    open_store(&b, 60 << 20);
    large(&b);
    store_close(b.store);
    remove_dir(b.dir);
    close(b.wake);
    return 0;
}
