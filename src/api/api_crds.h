/* SPDX-License-Identifier: Apache-2.0 */
/* What: what happens to CRDs by itself: when one is being deleted its objects go first; when names become free, a CRD that
 *       waited for them gets them.
 * Owns: the list of CRDs whose objects are being deleted. Each deletion runs with the permission to delete objects of that one
 *       resource, and only while the resource is served by that CRD, by name and uid.
 * Threads: the loop thread.
 * Errors: what fails is logged and tried again. */
#pragma once

#include "api/server.h"

struct crds *crds_new(struct api *api);
void crds_free(struct crds *c);
/* A CRD is there as this tree (at start, or because it changed); or gone: tree is NULL. */
void crds_seen(struct crds *c, str name, const struct json *crd);
/* After the events of one poll: writes what names have come to. */
void crds_settle(struct crds *c);
/* An object of this table was deleted: perhaps the last one. */
void crds_object_deleted(struct crds *c, uint32_t table);

/* The table of the objects of a CRD that owns some (crd_owns_objects). */
uint32_t crds_table(struct api *api, const struct json *crd);

/* In place: which of its names the CRD gets, and what its conditions NamesAccepted and Established say of that. For every
 * write of a CRD itself, so that it is established when its creation is answered. */
void crds_accept_names(struct api *api, struct arena *a, struct json *crd);

#define CRDS_FINALIZER S("customresourcecleanup.apiextensions.k8s.io")
