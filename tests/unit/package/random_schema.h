/* SPDX-License-Identifier: Apache-2.0 */
/* What: structural schemas made at random, schemas that differ from them a little, and objects that may fit them.
 * Owns: nothing; everything lives in the arena given.
 * Threads: one.
 * Errors: none. */
#pragma once

#include "base/clock.h"
#include "json/json.h"

struct dice {
    struct arena *arena;
    struct random random;
};

/* A number below n. */
size_t roll(struct dice *d, size_t n);

/* The schema of a field; depth bounds what is below it. */
struct json random_schema(struct dice *d, int depth);
/* A copy with one thing changed somewhere; it may be wider, narrower, or different. */
struct json random_change(struct dice *d, const struct json *schema);
/* A value that has a fair chance to be valid. */
struct json random_value(struct dice *d, const struct json *schema, int depth);
/* A whole definition of things.example.org whose openAPIV3Schema holds that schema as spec. */
struct json random_crd(struct arena *a, const struct json *spec);
