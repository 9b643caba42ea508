/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/arena.h"

#include <inttypes.h>
#include <unistd.h>

static bool is_bare(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f)
            return false;
    }
    return s.n > 0 && str_is_utf8(s);
}

static void add_value(struct buf *b, str v)
{
    if (is_bare(v))
        buf_add_str(b, v);
    else
        buf_add_quoted(b, v);
}

void log_write(const struct log *l, enum log_level level, const char *msg, const struct log_field *fields, size_t n)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if (level < l->level)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    int64_t now = clock_wall_ns(&l->clock);
    buf_add_str(&b, S("time="));
    time_format(&b, now / 1000000000, (uint32_t)(now % 1000000000), 3);
    buf_fmt(&b, " level=%s msg=", names[level]);
    add_value(&b, str_of(msg));
    for (size_t i = 0; i < n; i++) {
        buf_fmt(&b, " %s=", fields[i].key);
        if (fields[i].is_int)
            buf_fmt(&b, "%" PRId64, fields[i].number);
        else
            add_value(&b, fields[i].text);
    }
    buf_add_char(&b, '\n');
    l->write(l->ctx, buf_str(&b));
}

static bool limit_allows(struct log_limit *limit, int64_t now)
{
    int64_t paid = (now - limit->since) / LOG_INTERVAL_NS;
    if (paid >= limit->n) {
        limit->n = 0;
        limit->since = now;
    } else if (paid > 0) {
        limit->n -= (unsigned)paid;
        limit->since += paid * LOG_INTERVAL_NS;
    }
    if (limit->n == LOG_BURST)
        return false;
    limit->n++;
    return true;
}

void log_write_limited(const struct log *l, struct log_limit *limit, enum log_level level, const char *msg,
                       const struct log_field *fields, size_t n)
{
    if (limit == NULL || level < l->level) {
        log_write(l, level, msg, fields, n);
        return;
    }
    if (!limit_allows(limit, clock_mono_ns(&l->clock))) {
        limit->suppressed++;
        return;
    }
    struct arena scratch ARENA_SCOPE = {0};
    struct log_field *all = ARENA_ARRAY(&scratch, struct log_field, n + 1);
    for (size_t i = 0; i < n; i++)
        all[i] = fields[i];
    all[n] = LOG_INT("suppressed", limit->suppressed);
    log_write(l, level, msg, all, limit->suppressed ? n + 1 : n);
    limit->suppressed = 0;
}

static void write_stderr(void *ctx, str line)
{
    (void)ctx;
    ssize_t lost = write(STDERR_FILENO, line.p, line.n);
    (void)lost; /* there is nowhere to report it */
}

struct log log_to_stderr(enum log_level level)
{
    return (struct log){level, clock_system, write_stderr, NULL};
}
