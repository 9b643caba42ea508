/* SPDX-License-Identifier: Apache-2.0 */
/* What: what an install would get or change that its requester may not be allowed to give or change, and whether it is approved.
 * Owns: nothing; needs live in the arena of the visit.
 * Threads: those of the visit. Asks the server: never call needs_decide with the lock held.
 * Errors: those of the server.
 *
 * A need is a text and cluster-wide access: who holds that access may approve it. Whoever finds one while an install is checked
 * adds it with needs_add; needs_decide then decides about all of them at once, before anything is accepted:
 *
 *   no needs ───────────────────────────────────────────────────────────────────────────► given
 *   decided for this generation and image, and needs no more than then ─────────────────► given   (status.approval)
 *   annotation GROUP/approved is the id of just these needs ────────────────────────────► given   (guarded by admission)
 *   the server recorded who asked (reeve up only), and that user holds all of the access ► given   (unless it changes what others use)
 *   else ───────────────────────────────────────────────────────────────────────────────► awaited (status.pendingApproval)
 *
 * The id is "GENERATION-HASH": another generation, image or access is another id, so an approval never covers more than what its
 * author saw. On Kubernetes so is another policy: what was approved while none guarded approvals is not accepted afterwards. Admission lets a user set the annotation only to the id in status.pendingApproval, and only if that user holds the
 * access listed there (admission/admission_approvals.c; on Kubernetes deploy/approval). What is installed keeps what it was given until new
 * needs are approved; taking the annotation away withdraws what was given by it. */
#pragma once

#include "controllers/installs/installs_internal.h"

/* access: cluster-wide. format: what would happen, as a clause ("ServiceAccount a/b would get …"). */
void needs_add(struct visit *v, struct rules access, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds the cluster-wide access of a namespaced install, and what it takes to run in a namespace of Kubernetes itself. */
void needs_add_plan(struct visit *v, const struct plan *plan);
/* Decides about v->needs for this package, and has it reported. False: it is awaited, and *ret_why says what and how to approve. */
int needs_decide(struct visit *v, const struct package *p, bool *ret, str *ret_why, struct err *err);
/* Cluster-wide access that was given before and was not withdrawn: what an install keeps while more is awaited. */
struct rules needs_given(struct visit *v);
