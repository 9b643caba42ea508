/* SPDX-License-Identifier: Apache-2.0 */
/* What: what was found out about a credential, kept so that it need not be found out with every request.
 * Owns: its entries, each with an arena of its own; never more than CACHE_SETS * CACHE_WAYS of them.
 * Threads: one thread.
 * Errors: none; an entry may be gone at any time.
 *
 * A key belongs to one set, by its hash; in a full set the entry that was not used for longest makes room. So there is no list to
 * keep and nothing grows, and who has few credentials cannot push out more than a few of others'. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { CACHE_SETS = 2048, CACHE_WAYS = 4 }; /* a hub has thousands of agents, each with a token of its own */

struct authn_cache;

struct authn_cache *authn_cache_new(void);
void authn_cache_free(struct authn_cache *c);
/* What was put for this key, borrowed until the next authn_cache_put, or NULL. */
const void *authn_cache_get(struct authn_cache *c, str key);
/* Takes the arena, in which key and value live, and leaves an empty one. */
void authn_cache_put(struct authn_cache *c, struct arena *owner, str key, const void *value);
