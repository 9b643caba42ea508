/* SPDX-License-Identifier: Apache-2.0 */
/* What: the times of objects, parsed as Go does and printed as Kubernetes does.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with Go's words. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum timestamp_form {
    TIMESTAMP_SECONDS, /* metav1.Time: decimals are allowed and dropped */
    TIMESTAMP_MICROS,  /* metav1.MicroTime: exactly six decimals */
};

/* Reads text and gives the same instant in UTC: "2026-11-15T21:22:23Z". Empty: the first second of year 1, which
 * Kubernetes takes for no time at all. */
int timestamp_normalize(struct arena *a, str text, enum timestamp_form form, str *ret, struct err *err);
