/* SPDX-License-Identifier: Apache-2.0 */
/* What: figures for Prometheus: histograms, and the lines of its text form.
 * Owns: nothing; a histogram is a plain value that borrows its bounds.
 * Threads: plain values.
 * Errors: none.
 *
 * Lines of one name belong together, under one head:
 *
 *   metric_head(b, "x_seconds", "histogram", "How long x took.");
 *   metric_histogram(b, "x_seconds", labels_of_one, &one);
 *   metric_histogram(b, "x_seconds", labels_of_two, &two); */
#pragma once

#include "base/str.h"

enum { HISTOGRAM_BOUNDS_MAX = 48 };

/* Zero-initialise and set bounds: upper ends in rising order, which must live as long. */
struct histogram {
    const double *bounds;
    size_t n_bounds;
    double sum;
    uint64_t buckets[HISTOGRAM_BOUNDS_MAX + 1]; /* the last: above all bounds */
};

void histogram_add(struct histogram *h, double value);
uint64_t histogram_count(const struct histogram *h);

/* "# HELP …" and "# TYPE …"; help has neither line ends nor backslashes. */
void metric_head(struct buf *b, const char *name, const char *type, const char *help);
/* One line. labels: what stands between the braces (a="x",b="y"), made with metric_label; empty: none. */
void metric_value(struct buf *b, const char *name, str labels, double value);
/* The same of a whole number, exactly. */
void metric_count(struct buf *b, const char *name, str labels, uint64_t value);
/* The lines of a histogram: its buckets, _sum and _count. */
void metric_histogram(struct buf *b, const char *name, str labels, const struct histogram *h);
/* Appends name="value", the value escaped, after a comma if something is there. */
void metric_label(struct buf *labels, const char *name, str value);
