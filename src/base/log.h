/* SPDX-License-Identifier: Apache-2.0 */
/* What: log lines in logfmt: time=… level=info msg="listening" address=127.0.0.1:6443
 * Owns: nothing; the sink and the clock are the caller's.
 * Threads: one line is one write call, so several threads may share a sink that writes whole lines.
 * Errors: a line that cannot be written is lost. Only the edges of the program log (pipeline, controllers, main, cli). */
#pragma once

#include "base/clock.h"
#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log {
    enum log_level level; /* lines below it are not made */
    struct clock clock;
    void (*write)(void *ctx, str line); /* line ends with a newline */
    void *ctx;
};

struct log_field {
    const char *key;
    bool is_int;
    int64_t number;
    str text;
};

#define LOG_STR(k, v) ((struct log_field){.key = (k), .text = (v)})
#define LOG_INT(k, v) ((struct log_field){.key = (k), .is_int = true, .number = (v)})

/* log_line(log, LOG_INFO, "listening", LOG_STR("address", a), LOG_INT("pid", p)) */
#define log_line(l, lvl, msg, ...)                                                   \
    log_write((l), (lvl), (msg), (const struct log_field[]){{0}, ##__VA_ARGS__} + 1, \
              sizeof((const struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field) - 1)

void log_write(const struct log *l, enum log_level level, const char *msg, const struct log_field *fields, size_t n);
/* Bounds how many lines of one kind are written: LOG_BURST at once, then one every LOG_INTERVAL_NS. The next line after some were
 * left out says how many: suppressed=123. For lines that a peer can cause. Zero-initialise; one thread at a time. */
enum { LOG_BURST = 20, LOG_INTERVAL_NS = 1000000000 };

struct log_limit {
    int64_t since; /* monotonic: up to here lines have been paid for */
    unsigned n;    /* lines written that are not paid for yet */
    int64_t suppressed;
};

/* log_line with a limit; NULL: none. Lines below the level are not counted. */
#define log_line_limited(l, limit, lvl, msg, ...)                                                     \
    log_write_limited((l), (limit), (lvl), (msg), (const struct log_field[]){{0}, ##__VA_ARGS__} + 1, \
                      sizeof((const struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field) - 1)

void log_write_limited(const struct log *l, struct log_limit *limit, enum log_level level, const char *msg,
                       const struct log_field *fields, size_t n);
/* A log to standard error. */
struct log log_to_stderr(enum log_level level);
