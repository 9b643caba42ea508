/* SPDX-License-Identifier: Apache-2.0 */
/* What: tells the echo of a visit's own writes, which informers bring, from what others did. Without it each visit would cause
 *       another one, and a hub with tens of thousands of permissions would do everything twice.
 * Owns: notes about the permissions that are being visited, and those with writes that no informer has told of yet.
 * Threads: any.
 * Errors: none. In doubt a permission is visited.
 *
 *   echo_begin ─► echo_wrote … ─► echo_end ─► true: something happened meanwhile that was not this visit's doing
 *        │  changes that are heard of meanwhile wait for the end
 *        ▼
 *   a write is known by the version that the server answered; who hears of that version, or an older one, hears of the visit */
#pragma once

#include "base/str.h"

struct echoes;

struct echoes *echoes_new(void);
/* Takes NULL. */
void echoes_free(struct echoes *e);

void echo_begin(struct echoes *e, str namespace, str permission);
/* object: the name of a work; empty: the permission itself. */
void echo_wrote(struct echoes *e, str namespace, str permission, str object, str version);
bool echo_end(struct echoes *e, str namespace, str permission);
/* A change of an object of this permission. True: it is to be visited; false: that was a visit's own, or the visit at work sees to
 * it. */
bool echo_hear(struct echoes *e, str namespace, str permission, str object, str version);
/* The permission is gone. */
void echo_forget(struct echoes *e, str namespace, str permission);
