/* SPDX-License-Identifier: Apache-2.0 */
/* What: the allow-list for install.yaml: which fields of a Deployment and of its pods a package may set, and to what. It satisfies
 *       the Pod Security Standard "restricted".
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: findings with the reason InvalidPackage, one for each field that is not allowed, with its path.
 *
 *   refused    every field that the tables of pod.c do not list, and every listed one with a value that they do not list. So this
 *              holds whether or not the Deployment was checked against its types before
 *   replaced   name, namespace, labels and annotations of the Deployment, its selector, the ServiceAccount, image pull policy if the
 *              install has one: see plan_workload.c
 *   left out   labels and annotations of the pods that are not the package's own: package_keeps_label, package_keeps_annotation;
 *              lint and plan warn of each
 *   tightened  security contexts: settings that are stricter than those that every package gets are kept, others are replaced:
 *              pod_security.c */
#pragma once

#include "package/package.h"

enum { POD_MAX_REPLICAS = 10 };

/* deployment: apps/v1, as in package.h; null is fine. account, namespace: where it will run. */
void package_check_pod(const struct json *deployment, str account, str namespace, struct findings *findings);

/* Keys under an API group of one of the package's CRDs, or under a subdomain of one: "blog.example.org/tier". */
bool package_keeps_label(const struct package *p, str key);
/* The same, and a few that other programs read and that grant nothing: prometheus.io/…, kubectl.kubernetes.io/default-container. */
bool package_keeps_annotation(const struct package *p, str key);
/* Warnings for each label and annotation that is left out. Those that Reeve sets itself are replaced without a warning. */
void package_warn_of_pod(const struct package *p, struct findings *warnings);

/* ---- pod_security.c ---- */

/* Security contexts of the pod and of a container: what "restricted" wants, and what is stricter in the author's; author may be NULL. */
struct json package_pod_security(struct arena *a, const struct json *author);
struct json package_container_security(struct arena *a, const struct json *author);

/* ---- pod_describe.c: what people should see of a Deployment before they agree to it. ---- */

struct pod_facts {
    VEC(str) ports;   /* "controller 8080/TCP (metrics)" */
    VEC(str) volumes; /* "cache (emptyDir)", "tls (secret wordpress-tls)" */
    VEC(str) unusual; /* "2 replicas", "tolerations: 1" */
};

/* deployment: of the package or of its plan; null is fine. */
struct pod_facts package_describe_pod(struct arena *a, const struct json *deployment);
