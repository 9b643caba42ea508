/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric.h"

#include <assert.h>

void histogram_add(struct histogram *h, double value)
{
    assert(h->n_bounds <= HISTOGRAM_BOUNDS_MAX);
    size_t at = 0;
    while (at < h->n_bounds && value > h->bounds[at])
        at++;
    h->buckets[at]++;
    h->sum += value;
}

uint64_t histogram_count(const struct histogram *h)
{
    uint64_t n = 0;
    for (size_t i = 0; i <= h->n_bounds; i++)
        n += h->buckets[i];
    return n;
}

void metric_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_name(struct buf *b, const char *name, str labels)
{
    buf_add_str(b, str_of(name));
    if (labels.n)
        buf_fmt(b, "{%.*s}", STR(labels));
    buf_add_char(b, ' ');
}

void metric_value(struct buf *b, const char *name, str labels, double value)
{
    add_name(b, name, labels);
    buf_fmt(b, "%.17g\n", value);
}

void metric_count(struct buf *b, const char *name, str labels, uint64_t value)
{
    add_name(b, name, labels);
    buf_add_uint(b, value);
    buf_add_char(b, '\n');
}

void metric_histogram(struct buf *b, const char *name, str labels, const struct histogram *h)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= h->n_bounds; i++) {
        sum += h->buckets[i];
        buf_fmt(b, "%s_bucket{%.*s%sle=\"", name, STR(labels), labels.n ? "," : "");
        if (i < h->n_bounds)
            buf_fmt(b, "%g", h->bounds[i]);
        else
            buf_add_str(b, S("+Inf"));
        buf_fmt(b, "\"} %llu\n", (unsigned long long)sum);
    }
    const char *open = labels.n ? "{" : "", *close = labels.n ? "}" : "";
    buf_fmt(b, "%s_sum%s%.*s%s %.9g\n", name, open, STR(labels), close, h->sum);
    buf_fmt(b, "%s_count%s%.*s%s %llu\n", name, open, STR(labels), close, (unsigned long long)sum);
}

void metric_label(struct buf *labels, const char *name, str value)
{
    if (labels->n)
        buf_add_char(labels, ',');
    buf_add_str(labels, str_of(name));
    buf_add_str(labels, S("=\""));
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\n') {
            buf_add_str(labels, S("\\n"));
            continue;
        }
        if (value.p[i] == '"' || value.p[i] == '\\')
            buf_add_char(labels, '\\');
        buf_add_char(labels, value.p[i]);
    }
    buf_add_char(labels, '"');
}
