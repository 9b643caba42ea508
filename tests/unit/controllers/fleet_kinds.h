/* SPDX-License-Identifier: Apache-2.0 */
/* What: the kinds of a fleet on a fake API server, with schemas that take everything; and objects, changed by JSON texts.
 * Owns: nothing.
 * Threads: the test's.
 * Errors: fail the test. */
#pragma once

#include "lib/fake.h"

/* CRDs of all kinds of object/fleet.h, established. */
void fleet_kinds(struct fake *fake);
/* Merges a JSON text into what is at path, as if somebody else patched it. */
void fleet_patch(struct fake *fake, const char *path, const char *patch);
/* The condition's status, "" if there is none; text lives in the arena. */
str fleet_condition(struct fake *fake, struct arena *a, const char *path, const char *type);
