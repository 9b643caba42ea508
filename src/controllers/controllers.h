/* SPDX-License-Identifier: Apache-2.0 */
/* What: the table of all controllers: names, rights, and how each is made.
 * Owns: nothing; what a controller makes belongs to the control it is added to.
 * Threads: the loop thread.
 * Errors: add says what is missing. */
#pragma once

#include "authz/rule.h"
#include "control/control.h"

/* What a controller is given. */
struct controller_env {
    struct control *control;
    struct client *client; /* with the rights of this row */
    str root_ca_pem;       /* what kube-root-ca.crt says; lives as long as control */
};

struct controller_row {
    const char *name;    /* what --controllers calls it; several rows may be one controller */
    const char *account; /* its ServiceAccount in kube-system of the embedded server, as Kubernetes has it */
    const char *summary;
    bool in_kubernetes; /* every Kubernetes has it already: runs there only when named */
    struct rules rules; /* all it needs: reeve manager --print-rbac */
    int (*add)(const struct controller_env *env, struct err *err);
};

size_t controllers_count(void);
const struct controller_row *controllers_row(size_t i);
