/* SPDX-License-Identifier: Apache-2.0 */
/* What: the garbage collector: objects go when all their owners are gone; before their owners or without them, as those ask for.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: see controllers.h.
 *
 * Background: the owner goes, what it owns follows. Foreground: the owner waits until all that block it are gone. Orphan: what it
 * owns forgets it. Same decisions as Kubernetes 1.32; docs/COMPAT.md says where it is more careful. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row garbage_row;
