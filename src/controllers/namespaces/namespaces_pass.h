/* SPDX-License-Identifier: Apache-2.0 */
/* What: one pass over the content of a namespace that goes away: where it leads, what it found, and what is told of it.
 * Owns: a pass owns its table of finalizers; texts live in its arena.
 * Threads: pure but for the clock passed in.
 * Errors: those that a pass met are part of what it found.
 *
 *   discovery ─► pass_targets ─► (namespaces_content.c empties each) ─► pass_add_rest ─┬─► pass_is_over ─► finalize
 *                                                            pass_fail      └─► pass_tell: the conditions of the namespace
 *
 * Conditions, reasons and texts are those of Kubernetes, letter by letter: people and programs wait for them. */
#pragma once

#include "base/clock.h"
#include "base/vec.h"
#include "client/client_discovery.h"

/* ---- Where to. ---- */

struct pass_targets {
    const struct client_discovered *const *p;
    size_t n;
};

/* All that has a namespace and can be deleted and found: pods first, so that what they use outlives them as far as possible, then in the
 * order of discovery. */
struct pass_targets pass_targets(struct arena *a, const struct client_discovery *discovery);
bool pass_is_pods(const struct client_resource *resource);
/* The longest time that one of these pods may take to end, in seconds; those that have ended do not count. */
int64_t pass_pods_grace(const struct json *pods);

/* ---- What was found. ---- */

struct pass_rest {
    const struct client_resource *resource;
    size_t n;         /* objects that are still there */
    bool is_held;     /* a finalizer holds at least one of them, … */
    bool is_expected; /* …or pods may take their time */
};

struct pass {
    struct arena *arena;
    bool has_found; /* there was something when it came by, whether or not it went */
    VEC(struct pass_rest) rest;
    struct map finalizers; /* name → size_t * */
    VEC(str) failures;     /* one text per resource that could not be emptied */
    str discovery_failure; /* empty: all resources are known */
};

void pass_done(struct pass *p);
#define PASS_SCOPE __attribute__((cleanup(pass_done)))

/* Objects of a resource that are still there, all or some of them: calls about the same resource follow each other.
 * is_expected: pods that may still end by themselves. */
void pass_add_rest(struct pass *p, const struct client_resource *resource, const struct json *items, bool is_expected);
/* All rests have been added: what stays though nothing holds it is a failure. */
void pass_check_rests(struct pass *p, str namespace);
void pass_fail(struct pass *p, str text);
/* What discovery had to say; NULL for err if it was answered. */
void pass_add_discovery(struct pass *p, const struct client_discovery *discovery, const struct err *err);
/* Nothing is left, and nothing is unknown. */
bool pass_is_over(const struct pass *p);

/* ---- What is told. ---- */

/* In place: the five conditions of a namespace. False when all of them were so already. */
bool pass_tell(struct arena *a, const struct pass *p, struct json *namespace, const struct clock *clock);
/* What is sent to the finalize subresource: the namespace without "kubernetes" among spec.finalizers. False: it is not there. */
bool pass_finalize(struct arena *a, const struct json *namespace, struct json *ret);

enum { PASS_SOON_MS = 100, PASS_LATE_MS = 8000 };

/* How long to wait until the next pass when something is left. Grows with the time since the deletion, by a quarter of it: what
 * takes seconds is met within a second, and never later than Kubernetes would, which waits for eight. */
int64_t pass_wait_ns(const struct json *namespace, const struct clock *clock);
