/* SPDX-License-Identifier: Apache-2.0 */
/* What: the scale subresource: the number of replicas of an object, whatever kind it is, as an autoscaling/v1 Scale.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"
#include "object/field_error.h"

void scale_get(struct api_request *r);
void scale_update(struct api_request *r);
void scale_patch(struct api_request *r);

/* What the scale paths of a custom kind point at: whole numbers that are not negative. */
void scale_validate(struct field_errors *errs, const struct kind *kind, str subresource, const struct json *object);
