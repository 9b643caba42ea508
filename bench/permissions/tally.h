/* SPDX-License-Identifier: Apache-2.0 */
/* What: a watch that counts objects of one kind, and how many of them are as they should be.
 * Owns: a connection of its own, as an administrator.
 * Threads: one; the loop turns only within these functions.
 * Errors: see bench/server/server.h. */
#pragma once

#include "../server/server.h"

#include "client/client.h"

struct tally;

/* Returns when all there is has been counted. is_good NULL: all are. */
struct tally *tally_open(struct server *s, const struct client_resource *resource, str field_selector,
                         bool (*is_good)(const struct json *object));
void tally_close(struct tally *t);

/* Until so many are good. */
void tally_wait(struct tally *t, size_t n);
/* Until this one is good at that generation. */
void tally_wait_for(struct tally *t, str namespace, str name, int64_t generation);
/* That came so far. */
uint64_t tally_events(const struct tally *t);
