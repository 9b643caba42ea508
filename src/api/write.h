/* SPDX-License-Identifier: Apache-2.0 */
/* What: the one door by which objects change: create, update, patch, apply, delete, and the same for subresources.
 * Owns: writes at work.
 * Threads: the loop thread.
 * Errors: answered.
 *
 *   load current ─► build next (body, patch, apply, deletion) ─► default ─► admission: mutate ─► escalation check ─► validate
 *        ▲                                                                                  ─► admission: validate
 *        │                                                                                         │
 *        └──────────── changed meanwhile, and no resourceVersion was asked for ◄──── store ◄───────┘ unless nothing changed
 *                                                                                     │              or it is a dry run
 *                                                                                     └──► answer, after all indexes know */
#pragma once

#include "api/server.h"

void write_create(struct api_request *r);
void write_update(struct api_request *r); /* PUT, subresources included */
void write_patch(struct api_request *r);  /* JSON, merge and strategic merge patches; apply */
void write_delete(struct api_request *r);
void write_delete_collection(struct api_request *r);

/* The refusal of a new resource whose definition is on its way out. */
struct json write_terminating(struct arena *a, const struct kind *kind);
