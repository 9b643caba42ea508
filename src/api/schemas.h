/* SPDX-License-Identifier: Apache-2.0 */
/* What: the compiled schemas of custom resources, made when first used and dropped when long unused.
 * Owns: the schemas; they are counted, so that a request may go on with one that was replaced meanwhile.
 * Threads: the loop thread.
 * Errors: ERR_INTERNAL when a stored CRD has no such version. */
#pragma once

#include "api/server.h"
#include "schema/schema.h"

struct schemas *schemas_new(struct api *api);
void schemas_free(struct schemas *s);
/* The schema of a custom kind, borrowed until the next event of the store; inside a task until its step ends. NULL in *ret: the
 * version has none (keeps all). */
int schemas_get(struct schemas *s, const struct kind *kind, const struct schema **ret, struct err *err);
/* metadata.generation of the CRD that the kind was made from: changes whenever a schema may have. */
uint32_t schemas_generation(struct schemas *s, const struct kind *kind);
/* A CRD has changed or gone. */
void schemas_forget(struct schemas *s, str crd);
