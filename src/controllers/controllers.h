/* SPDX-License-Identifier: Apache-2.0 */
/* What: the table of all controllers: names, rights, and how each is made.
 * Owns: nothing; what a controller makes belongs to the control it is added to.
 * Threads: the loop thread.
 * Errors: add says what is missing. */
#pragma once

#include "control/control.h"

struct fetcher;
struct root_ca;

/* What a controller is given. */
struct controller_env {
    struct control *control;
    struct loop *loop;     /* that control runs on, */
    struct clock clock;    /* and its clock */
    struct client *client; /* acts with the rights of this row */
    struct client *reader; /* may list and watch: for informers, which controllers share */
    bool is_embedded;      /* the server is of this process: what it has answered holds for every request after that */
    bool has_aggregation;  /* this process runs the controller "aggregation", too */
    struct root_ca *root_ca;          /* what kube-root-ca.crt says; lives as long as control. NULL: nobody knows */
    struct fetcher *fetcher;          /* of packages; lives as long as control. NULL: none can be installed */
    bool pass_full_deployment;        /* --insecure-pass-full-deployment */
    str namespaced_groups;            /* --namespaced-package-groups; empty: not said */
    bool requires_approval;           /* --require-approval */
    bool allows_cluster_dependencies; /* --allow-cluster-dependencies */
    bool no_crd_view;                 /* --no-crd-view */
};

enum { CONTROLLER_RIGHTS = 16 }; /* room for the longest list and a NULL */

struct controller_row {
    const char *name;    /* what --controllers calls it; several rows may be one controller */
    const char *account; /* its ServiceAccount in kube-system of the embedded server, as Kubernetes has it */
    const char *summary;
    bool in_kubernetes; /* every Kubernetes has it already: runs there only when named */
    /* All it needs, reading included: reeve manager --print-rbac. As bootstrap_rule (authz/bootstrap.h) reads them. */
    const char *rights[CONTROLLER_RIGHTS];
    /* Makes it: informers, handlers, workers. It runs from control_start on. */
    int (*add)(const struct controller_env *env, struct err *err);
};

size_t controllers_count(void);
/* By name. */
const struct controller_row *controllers_row(size_t i);
