/* SPDX-License-Identifier: Apache-2.0 */
/* What: WWW-Authenticate of registries: what they want to be shown (RFC 9110, section 11; the token specification of distribution).
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: none; what makes no sense is not understood, and nothing is sent. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

enum { CHALLENGE_MAX = 16 * 1024 }; /* bytes of the header that are looked at */

struct challenge {
    bool basic, bearer;
    str realm, service, scope; /* of Bearer; realm is the address of the token service */
};

/* Adds what a header of the answer says; there may be several, of several challenges each. Of two Bearers the first counts. */
void challenge_add(struct arena *a, str header, struct challenge *c);
