/* SPDX-License-Identifier: Apache-2.0 */
/* A child writes to a store and says through a pipe what was acknowledged, until it is killed at some moment or other. Then
 * everything it was told is done must be there, whole, and nothing that is half a write. The next child goes on with the
 * same files. usage: store_crash [ROUNDS [SEED]] */
#include "lib/scratch.h"
#include "load.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 60, MOST_ACKS = 200 };

struct child {
    struct load load;
    int wake, pipe;
};

static void wake(void *ctx)
{
    const struct child *c = ctx;
    uint64_t one = 1;
    if (write(c->wake, &one, sizeof one) != sizeof one)
        abort();
}

static void on_event(void *ctx, const struct store_event *event)
{
    load_event(&((struct child *)ctx)->load, event);
}

static void on_ack(void *ctx, const struct load_ack *ack)
{
    const struct child *c = ctx;
    if (write(c->pipe, ack, sizeof *ack) != sizeof *ack)
        _exit(0);
}

/* Small histories in every other round, so that compaction too is hit by the end. */
static void write_until_killed(const char *dir, int fd, uint64_t round, uint64_t seed)
{
    struct random_seeded source = {seed * 1000 + round};
    struct child c = {.pipe = fd, .wake = eventfd(0, EFD_CLOEXEC)};
    struct store_options options = {
        .dir = dir,
        .map_bytes = (size_t)256 << 20,
        .keep_bytes = round % 2 ? 30000 : 0,
        .clock = clock_system,
        .wake = wake,
        .on_event = on_event,
        .ctx = &c,
    };
    struct store *s;
    struct err err;
    c.load = (struct load){.random = random_of_seed(&source), .number = round << 32, .on_ack = on_ack, .ctx = &c};
    on_ack(&c, &(struct load_ack){0}); /* it may be killed while it opens */
    if (store_open(&options, &s, &err) < 0) {
        (void)fprintf(stderr, "child: %s\n", err.msg);
        _exit(1);
    }
    load_start(&c.load, s);
    for (;;) {
        uint64_t n;
        load_submit(&c.load);
        if (read(c.wake, &n, sizeof n) != sizeof n)
            _exit(1);
        store_poll(s);
    }
}

/* False when the child ended by itself. */
static bool run_round(const char *dir, struct load_acks *acks, uint64_t round, uint64_t seed)
{
    struct random_seeded source = {seed + round};
    struct random random = random_of_seed(&source);
    uint32_t left = random_below(&random, 8) ? 1 + random_below(&random, MOST_ACKS) : 1;
    struct load_ack ack;
    int fds[2], status;
    if (pipe(fds) < 0)
        abort();
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        close(fds[0]);
        write_until_killed(dir, fds[1], round, seed);
    }
    close(fds[1]);
    while (read(fds[0], &ack, sizeof ack) == sizeof ack) { /* to the end: what was said before the end counts too */
        if (ack.parts)
            load_acks_add(acks, &ack);
        if (left && --left == 0)
            kill(child, SIGKILL);
    }
    close(fds[0]);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int main(int argc, char **argv)
{
    uint64_t rounds = ROUNDS, seed = 1;
    char dir[SCRATCH_MAX];
    struct load_acks acks = {0};
    struct err err = {0};
    if ((argc > 1 && !str_to_uint64(str_of(argv[1]), &rounds)) || (argc > 2 && !str_to_uint64(str_of(argv[2]), &seed)))
        return 2;
    scratch_make(dir, "reeve-crash");
    int code = 0;
    uint64_t round = 0;
    for (; round < rounds && code == 0; round++) {
        if (!run_round(dir, &acks, round, seed))
            code = err_set(&err, ERR_INTERNAL, "the child ended by itself");
        if (code == 0)
            code = load_check(dir, &acks, acks.last, &err);
    }
    printf("1..1\n%s 1 - after kill -9 all that was acknowledged is there\n", code ? "not ok" : "ok");
    if (code)
        printf("# seed %" PRIu64 ", round %" PRIu64 ": %s\n", seed, round - 1, err.msg);
    else
        printf("# %" PRIu64 " rounds, %" PRIu64 " revisions\n", rounds, acks.last);
    scratch_remove(dir);
    arena_done(&acks.arena);
    return code ? 1 : 0;
}
