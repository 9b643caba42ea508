/* SPDX-License-Identifier: Apache-2.0 */
/* What: discovery documents read: resources gathered from them, versions that remain to be asked for. No effects.
 * Owns: nothing; what it keeps lives in the arena given, and shares the texts of the documents.
 * Threads: one at a time.
 * Errors: none; what makes no sense in a document is left out, as client-go does.
 *
 *   /api, /apis ─► discovery_read_groups ─┬─ aggregated: resources, stale versions
 *                                         └─ not: versions to be asked for ─► discovery_read_version each
 *                                                          all of it ─► discovery_finish */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "client/client_discovery.h"

struct discovery_version {
    str group, version;
    bool is_preferred; /* of its group */
};

struct discovery_failure {
    str group_version, text;
};

struct discovery_found {
    struct client_discovered what; /* without its lists */
    VEC(str) versions, subresources, short_names;
    bool is_preferred; /* found in the preferred version */
    size_t rank;       /* found after so many others */
};

/* Zero-initialise with an arena; discovery_reader_done in the end. */
struct discovery_reader {
    struct arena *arena;
    struct map known; /* "group/plural" → struct discovery_found */
    VEC(struct discovery_found *) found;
    VEC(struct discovery_failure) failures;
    VEC(struct discovery_version) todo;
};

void discovery_reader_done(struct discovery_reader *r);
#define DISCOVERY_READER_SCOPE __attribute__((cleanup(discovery_reader_done)))

/* What /api or /apis answered, in either form. False: it is neither, and says nothing about what there is. */
bool discovery_read_groups(struct discovery_reader *r, const struct json *doc);
/* What /apis/GROUP/VERSION answered: an APIResourceList. False: it is none. */
bool discovery_read_version(struct discovery_reader *r, const struct discovery_version *v, const struct json *doc);
/* "apps/v1", "v1" */
str discovery_group_version(struct arena *a, str group, str version);
void discovery_fail(struct discovery_reader *r, str group_version, str text);
void discovery_finish(struct discovery_reader *r, struct client_discovery *ret);
