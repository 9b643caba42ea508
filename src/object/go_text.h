/* SPDX-License-Identifier: Apache-2.0 */
/* What: values as Go's fmt prints them with %v, for the messages of Kubernetes that quote whole values; and times,
 *       parsed as Go does and printed as Kubernetes does.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with Go's text for an invalid time. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

/* map[a:1 b:[x y] c:<nil>]: no quotes, members sorted. */
void go_text(struct buf *b, const struct json *v);
/* The Go type a decoded value has there: "string", "int64", "map[string]interface {}", "<nil>". */
const char *go_type_name(const struct json *v);
/* The shortest digits that mean d, with an exponent from 1e+06 on. */
void go_text_real(struct buf *b, double d);

/* ---- Times. ---- */

enum timestamp_form {
    TIMESTAMP_SECONDS, /* metav1.Time: decimals are allowed and dropped */
    TIMESTAMP_MICROS,  /* metav1.MicroTime: exactly six decimals */
};

/* Reads text and gives the same instant in UTC: "2026-11-15T21:22:23Z". Empty: the first second of year 1, which
 * Kubernetes takes for no time at all. */
int timestamp_normalize(struct arena *a, str text, enum timestamp_form form, str *ret, struct err *err);
