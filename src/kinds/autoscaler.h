/* SPDX-License-Identifier: Apache-2.0 */
/* What: HorizontalPodAutoscalers of autoscaling/v1 and v2, which are the same objects. They are kept as v2. v1 knows one
 *       target, the use of the CPU; everything else of v2 stands in its annotations, as JSON:
 *
 *           autoscaling.alpha.kubernetes.io/metrics          spec.metrics but for the use of the CPU
 *           autoscaling.alpha.kubernetes.io/behavior         spec.behavior
 *           autoscaling.alpha.kubernetes.io/current-metrics  status.currentMetrics
 *           autoscaling.alpha.kubernetes.io/conditions       status.conditions
 *
 * Owns: nothing; new parts of a tree come from the arena given.
 * Threads: pure functions.
 * Errors: none; an annotation that cannot be read counts as absent, as in Kubernetes. */
#pragma once

#include "json/json.h"

/* In place, apiVersion and kind left alone. The object must have passed strict_decode. */
void autoscaler_to_v2(struct arena *a, struct json *object);
void autoscaler_to_v1(struct arena *a, struct json *object);
/* Takes the four annotations away: v2 has no use for them. */
void autoscaler_drop_notes(struct arena *a, struct json *object);
