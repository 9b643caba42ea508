/* SPDX-License-Identifier: Apache-2.0 */
/* What: values as Go's fmt prints them with %v, for the messages of Kubernetes that quote whole values.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: none. */
#pragma once

#include "json/json.h"

/* map[a:1 b:[x y] c:<nil>]: no quotes, members sorted. */
void go_text(struct buf *b, const struct json *v);
/* The Go type a decoded value has there: "string", "int64", "map[string]interface {}", "<nil>". */
const char *go_type_name(const struct json *v);
/* The shortest digits that mean d, with an exponent from 1e+06 on. */
void go_text_real(struct buf *b, double d);
