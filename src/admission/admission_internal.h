/* SPDX-License-Identifier: Apache-2.0 */
/* What: the single steps of admission, one file each. Private to this folder.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: 0, or a negative code with ret->status set. */
#pragma once

#include "admission/admission.h"

typedef int admission_step(const struct admission_facts *facts, const struct admission_write *write,
                           struct admission_outcome *ret);

/* admission_namespaces.c: what is in a namespace needs one that is there and stays; some namespaces are not deleted. */
admission_step namespaces_step;
/* admission_requester.c: installs and permissions tell who asked for them, and nobody else does. */
admission_step requester_step;
/* admission_accounts.c: the ServiceAccount of a pod, and of a Secret that is to hold its token. */
admission_step accounts_step;
/* admission_priorities.c: pods have the priority of their class; one class at most is that of all others. */
admission_step priorities_step;
admission_step priority_classes_step;
/* admission_certificates.c: a request for a certificate says who sent it, and stays so; signers are approved and signed for by those who
 * may. */
admission_step certificates_step;
admission_step signers_step;
/* admission_approvals.c: a ClusterPermission is approved by those who may, an install by those who hold what it needs. */
admission_step approvals_step;
admission_step install_approvals_step;
/* admission_executors.c: a ManifestWork is written by those who may act as its executor. */
admission_step executors_step;
/* admission_aggregation.c: an aggregated ClusterRole has the rules that its selectors select. */
admission_step aggregation_step;
/* admission_owners.c: who blocks the deletion of an owner must be able to unblock it. */
admission_step owners_step;

/* Refuses: `pods "x" is forbidden: why`. */
int step_forbid(const struct admission_write *write, str why, struct admission_outcome *ret);
/* The object's name as messages have it: what will be made up is told by generateName. */
str step_name(const struct admission_write *write);
bool step_is(const struct admission_write *write, const char *group, const char *plural);
