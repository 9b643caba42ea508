/* SPDX-License-Identifier: Apache-2.0 */
/* What: an informer, and a server that says what the test makes it say; time moves when the test says so. What handlers are
 *       told is written down as text: "+ns/name@version" new, "~" changed, "-" gone, "." settled, "!" synced.
 * Owns: all of it.
 * Threads: one.
 * Errors: fail the test. */
#pragma once

#include "control/informer.h"
#include "wire.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

struct scene {
    struct clock_fake time;
    struct clock clock;
    struct random_seeded seed;
    struct loop *loop;
    struct wire wire;
    struct client *client;
    struct informer *informer;
    struct informer_handler handler; /* the one that writes down what it is told */
    struct arena arena;
    struct buf told;
};

void scene_open(struct scene *w);
/* loop, client, resource (ConfigMaps) and random are filled in. */
void scene_open_with(struct scene *w, const struct informer_options *options);
/* Synced by a list within a watch with these lines, at version 10. */
void scene_open_synced(struct scene *w, const char *what);
/* Stops the informer; nothing is left open, and no timer fires any more. */
void scene_close(struct scene *w);

/* ---- Time. ---- */

void scene_pass(struct scene *w, int64_t ns);
/* Waits until the next request comes; how long that took. */
int64_t scene_await(struct scene *w, int64_t most);

/* ---- What the server was asked by the one open call. ---- */

void scene_asked(struct scene *w, const char *name, const char *value);
void scene_lists_by_watch(struct scene *w);
void scene_lists(struct scene *w);
void scene_watches_from(struct scene *w, const char *version);

/* ---- What the server says in it. ---- */

/* Lines parted by ";": "ADDED ns/name uid version", "BOOKMARK version", "END version" (of the initial events). */
str scene_lines(struct scene *w, const char *what);
/* They come in one piece. */
void scene_say(struct scene *w, const char *what);
void scene_end(struct scene *w, int status, const char *body);
/* A page of a list: objects "ns/name uid version" parted by ";". */
void scene_end_page(struct scene *w, const char *version, const char *token, const char *objects);

#define STATUS(code, reason) "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"code\":" #code "}"
#define EXPIRED STATUS(410, "Expired")

/* ---- What came of it. ---- */

/* Everything told since the last question. */
void scene_told(struct scene *w, const char *expected);
void scene_cached(struct scene *w, const char *expected);
