/* SPDX-License-Identifier: Apache-2.0 */
/* What: pods and the templates of pods that workloads hold: what is filled in and what is refused.
 * Owns: nothing; new parts of a tree come from the arena given.
 * Threads: pure functions.
 * Errors: added to the list. */
#pragma once

#include "kinds/strategy_check.h"

/* In place; NULL and what is no object stay as they are. */
void pod_fill_spec(struct arena *a, struct json *spec);
void pod_fill_template(struct arena *a, struct json *template);
/* A volume, and the claim that an ephemeral volume makes (pod_volume.c). */
void pod_fill_volume(struct arena *a, struct json *volume);
void pod_fill_claim_spec(struct arena *a, struct json *spec);
void pod_fill_field_ref(struct arena *a, struct json *parent);

void pod_check_spec(struct field_errors *errs, const struct place *at, const struct json *spec);
void pod_check_template(struct field_errors *errs, const struct place *at, const struct json *template);
/* Limits and requests (pod_container.c). */
void pod_check_resources(struct field_errors *errs, const struct place *at, const struct json *resources);
/* A container, whichever list it is in (pod_container.c). */
void pod_check_container(struct field_errors *errs, const struct place *at, const struct json *container,
                         const struct map *volumes);
/* Its hooks and probes. */
void pod_check_probes(struct field_errors *errs, const struct place *at, const struct json *container);
void pod_check_no_backsteps(struct field_errors *errs, const struct place *at, str path);
/* Volumes by name: those without a fault become the set that mounts may name (pod_volume.c). */
void pod_check_volumes(struct field_errors *errs, const struct place *at, const struct json *volumes,
                       struct map *ret_names);
