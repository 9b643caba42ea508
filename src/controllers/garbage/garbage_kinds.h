/* SPDX-License-Identifier: Apache-2.0 */
/* What: the kinds that the server has, as they were when it was asked: from what references say to what paths need.
 * Owns: its memory; counted. Nothing changes but what is found out about a kind.
 * Threads: any.
 * Errors: those of client_discover. */
#pragma once

#include "client/client_discovery.h"

struct kinds;

/* On any thread but the loop's. */
int kinds_ask(struct client *client, struct kinds **ret, struct err *err);
struct kinds *kinds_ref(struct kinds *k);
/* Takes NULL. */
void kinds_unref(struct kinds *k);

const struct client_discovery *kinds_all(const struct kinds *k);
/* NULL: the server has no such kind, or does not serve it in this version, or could not tell. */
const struct client_resource *kinds_find(const struct kinds *k, str api_version, str kind);
/* The server could not tell about this group, so that what is missing in it need not be gone. */
bool kinds_is_unsure(const struct kinds *k, str group);

/* Refuses strategic patches, as somebody found out. */
bool kinds_is_plain(const struct kinds *k, const struct client_resource *resource);
void kinds_set_plain(const struct kinds *k, const struct client_resource *resource);

/* To be watched: can be listed, watched and deleted, and is not an Event. */
bool kinds_is_collected(const struct client_discovered *d);
