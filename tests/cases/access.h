/* SPDX-License-Identifier: Apache-2.0 */
/* What: a step of cases that shows everything somebody may do, as the server answers SubjectAccessReviews.
 * Owns: nothing.
 * Threads: one.
 * Errors: as in case.h.
 *
 *     --- rights jane in app          when all is settled: what the user jane may do in namespace app, all of it: every verb was tried
 *     secrets all                     on every resource that the server has, and on its status
 *     pods create,read                verbs, "all", or "read" for get, list and watch
 *     roles.rbac.authorization.k8s.io all,bind
 *     --- rights group:x              without "in": in the whole cluster. A group instead of a user. Nothing behind it: nothing
 */
#pragma once

#include "cases/objects.h"

/* False: the section is none of these. */
bool access_step(const struct objects_door *door, const struct case_section *s);
