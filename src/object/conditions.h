/* SPDX-License-Identifier: Apache-2.0 */
/* What: status.conditions: find, set and check them.
 * Owns: nothing; new entries live in the arena given and borrow nothing.
 * Threads: pure but for the clock passed in.
 * Errors: field errors when a list is checked. */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "object/field_error.h"
#include "json/json.h"

struct condition {
    str type;                    /* "Ready" */
    str status;                  /* "True", "False" or "Unknown" */
    str reason, message;         /* "AsExpected", "all is well" */
    int64_t observed_generation; /* 0: not set */
};

/* The entry with this type, or NULL. */
const struct json *condition_find(const struct json *conditions, str type);
/* Whether status.conditions of an object has type at this status. */
bool condition_is(const struct json *object, str type, str status);
/* In place: adds or changes one entry of the list. lastTransitionTime moves only when the status does. False when all
 * was so already. */
bool condition_set(struct arena *a, struct json *conditions, const struct condition *c, const struct clock *clock);
bool condition_remove(struct json *conditions, str type);
/* status.conditions, made when absent. The object must be one. */
struct json *conditions_of(struct arena *a, struct json *object);
/* The rules of meta/v1 Conditions. */
void conditions_validate(struct field_errors *errs, str field, const struct json *conditions);
