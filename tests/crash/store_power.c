/* SPDX-License-Identifier: Apache-2.0 */
/* The power fails. All writes of a store to its file are remembered, with the moments when they were made durable and the
 * moments when somebody was told that a write is done. From that, files are built as a disk may have left them: everything
 * up to the last sync before a random moment, and of what was written after it a random choice of pages. Each must open,
 * be consistent, and hold all that had been acknowledged at that moment. usage: store_power [FILES [SEED]] */
#include "disk.h"
#include "lib/scratch.h"
#include "load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FILES = 200, WRITES = 1500, PAGE = 4096 };

struct run {
    struct load load;
    struct load_acks acks;
    int wake;
};

static void wake(void *ctx)
{
    const struct run *r = ctx;
    uint64_t one = 1;
    if (write(r->wake, &one, sizeof one) != sizeof one)
        abort();
}

static void on_event(void *ctx, const struct store_event *event)
{
    load_event(&((struct run *)ctx)->load, event);
}

static void on_ack(void *ctx, const struct load_ack *ack)
{
    struct run *r = ctx;
    load_acks_add(&r->acks, ack);
    disk_note(ack->revision + ack->parts - 1);
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "store_power: %s: %m\n", what);
    exit(2);
}

/* A growing picture of the file. */
struct image {
    char *p;
    size_t n, cap;
};

static void image_put(struct image *im, uint64_t at, const char *p, size_t n)
{
    if (at + n > im->cap) {
        im->cap = (at + n) * 2;
        im->p = xrealloc(im->p, im->cap);
    }
    if (at + n > im->n) {
        memset(im->p + im->n, 0, at + n - im->n);
        im->n = at + n;
    }
    memcpy(im->p + at, p, n);
}

static void image_load(struct image *im, const char *path)
{
    char page[PAGE];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(path);
    for (ssize_t n; (n = read(fd, page, sizeof page)) > 0;)
        image_put(im, im->n, page, (size_t)n);
    close(fd);
}

static void image_save(const struct image *im, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        fail(path);
    for (size_t at = 0; at < im->n;) {
        ssize_t n = write(fd, im->p + at, im->n - at);
        if (n < 0)
            fail(path);
        at += (size_t)n;
    }
    close(fd);
}

/* The store does its work; returns with all of it remembered. */
static void record(struct run *r, const char *dir, const char *path, struct image *base)
{
    struct store_options options = {
        .dir = dir,
        .map_bytes = (size_t)256 << 20,
        .keep_bytes = 200000,
        .clock = clock_system,
        .wake = wake,
        .on_event = on_event,
        .ctx = r,
    };
    struct store *s;
    struct err err;
    if (store_open(&options, &s, &err) < 0)
        fail(err.msg);
    load_start(&r->load, s);
    image_load(base, path);
    disk_watch(path);
    while (r->load.acked < WRITES) {
        uint64_t n;
        load_submit(&r->load);
        if (read(r->wake, &n, sizeof n) != sizeof n)
            fail("wait");
        store_poll(s);
    }
    store_close(s);
}

/* What a disk may hold of a write that was not made durable: any of its pages. A piece of a page is written whole or not. */
static void put_some(struct image *im, const struct disk_step *step, const struct random *random)
{
    for (size_t done = 0, n; done < step->n; done += n) {
        n = PAGE - (step->at + done) % PAGE;
        if (n > step->n - done)
            n = step->n - done;
        if (random_below(random, 2))
            image_put(im, step->at + done, step->bytes + done, n);
    }
}

/* Walks once through what is remembered and stops at random moments. */
struct disk_walk {
    const struct disk_steps *steps;
    struct image durable;
    size_t applied; /* steps before this one are in `durable`, if they are durable */
    rev acked;
};

static void walk_to(struct disk_walk *w, size_t cut, struct image *ret, const struct random *random)
{
    size_t synced = w->applied;
    for (size_t i = w->applied; i < cut; i++)
        if (w->steps->list.p[i].kind == DISK_SYNC)
            synced = i + 1;
    for (; w->applied < synced; w->applied++) {
        const struct disk_step *step = &w->steps->list.p[w->applied];
        if (step->kind == DISK_WRITE || step->kind == DISK_WRITE_DURABLE)
            image_put(&w->durable, step->at, step->bytes, step->n);
    }
    ret->n = 0;
    image_put(ret, 0, w->durable.p, w->durable.n);
    for (size_t i = synced; i <= cut && i < w->steps->list.n; i++) {
        const struct disk_step *step = &w->steps->list.p[i];
        bool returned = i < cut; /* the one at the cut was under way */
        if (step->kind == DISK_WRITE_DURABLE && returned)
            image_put(ret, step->at, step->bytes, step->n);
        else if (step->kind == DISK_WRITE || step->kind == DISK_WRITE_DURABLE)
            put_some(ret, step, random);
    }
    w->acked = 0;
    for (size_t i = 0; i < cut; i++)
        if (w->steps->list.p[i].kind == DISK_NOTE && w->steps->list.p[i].at > w->acked)
            w->acked = w->steps->list.p[i].at;
}

static int by_value(const void *x, const void *y)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return (a > b) - (a < b);
}

static int try_all(struct run *r, const char *dir, const char *path, struct disk_walk *w, size_t files, struct err *err)
{
    size_t *cuts = calloc(files, sizeof *cuts);
    struct image image = {0};
    int code = 0;
    if (cuts == NULL)
        abort();
    for (size_t i = 0; i < files; i++)
        cuts[i] = random_below(&r->load.random, (uint32_t)w->steps->list.n + 1);
    qsort(cuts, files, sizeof *cuts, by_value);
    for (size_t i = 0; i < files && code == 0; i++) {
        walk_to(w, cuts[i], &image, &r->load.random);
        image_save(&image, path);
        code = load_check(dir, &r->acks, w->acked, err);
        if (code < 0)
            code = err_wrap(err, "power failed at step %zu of %zu", cuts[i], w->steps->list.n);
    }
    free(cuts);
    free(image.p);
    return code;
}

int main(int argc, char **argv)
{
    uint64_t files = FILES, seed = 1;
    char dir[SCRATCH_MAX], path[SCRATCH_MAX + 16];
    struct run run = {.wake = eventfd(0, EFD_CLOEXEC)};
    struct disk_walk w = {0};
    struct err err;
    if ((argc > 1 && !str_to_uint64(str_of(argv[1]), &files)) || (argc > 2 && !str_to_uint64(str_of(argv[2]), &seed)))
        return 2;
    scratch_make(dir, "reeve-power");
    (void)snprintf(path, sizeof path, "%s/data.mdb", dir);
    struct random_seeded source = {seed};
    run.load = (struct load){.random = random_of_seed(&source), .on_ack = on_ack, .ctx = &run};
    record(&run, dir, path, &w.durable);
    w.steps = disk_steps();
    int code = try_all(&run, dir, path, &w, files, &err);
    printf("1..1\n%s 1 - after a power failure all that was acknowledged is there\n", code ? "not ok" : "ok");
    if (code)
        printf("# seed %" PRIu64 ": %s\n", seed, err.msg);
    else
        printf("# %" PRIu64 " files from %zu steps, %" PRIu64 " revisions\n", files, w.steps->list.n, run.acks.last);
    free(w.durable.p);
    disk_forget();
    arena_done(&run.acks.arena);
    close(run.wake);
    scratch_remove(dir);
    return code ? 1 : 0;
}
