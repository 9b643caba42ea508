/* SPDX-License-Identifier: Apache-2.0 */
/* What: CustomResourceDefinitions of apiextensions.k8s.io/v1beta1 in the form of v1, if that loses nothing.
 * Owns: nothing; the result lives in the arena given and shares parts of the document.
 * Threads: pure functions.
 * Errors: findings with the reason InvalidPackage: all that speaks against it.
 *
 *     v1beta1                                         v1
 *     spec.version                                    spec.versions[0]: served, storage
 *     spec.validation, subresources, columns          the same in every version
 *     additionalPrinterColumns[].JSONPath             jsonPath
 *     conversion.webhookClientConfig, …Versions       conversion.webhook
 *     no scope                                        Namespaced
 *     preserveUnknownFields: false                    (nothing)
 *     preserveUnknownFields: true, or not given       x-kubernetes-preserve-unknown-fields: true wherever fields would be
 *                                                     pruned; with no schema at all: type: object and that
 *     a root without a type                           type: object: a resource is nothing else
 *
 * Whether the outcome is a good v1 definition is asked with crd_check.h: v1beta1 allowed schemas that are not structural. */
#pragma once

#include "package/finding.h"
#include "json/json.h"

/* "CRD things.example.org", or "CRD without a name": what findings about a document begin with. */
str crd_title(struct arena *a, const struct json *doc);
/* True with *ret set; false with reasons added. The document must be an object whose apiVersion is v1beta1. */
bool crd_convert(struct arena *a, const struct json *v1beta1, struct json *ret, struct findings *reasons);
