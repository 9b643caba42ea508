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
/* A log to standard error. */
struct log log_to_stderr(enum log_level level);
