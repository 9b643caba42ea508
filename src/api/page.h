/* SPDX-License-Identifier: Apache-2.0 */
/* What: continue tokens: where the next page of a list begins, and as of which revision, in the form Kubernetes has for
 *       them: base64url of {"v":"meta.k8s.io/v1","rv":466,"start":"kube-system/cm1\u0000"}, and "left":12 of ours.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST in the words of Kubernetes. A token comes from the client: whatever it says, it leads to nothing
 *         but a place in the table and scope that the request itself names, and to a number that it is told again. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct page_token {
    int64_t revision;    /* of the first page; negative: whatever is current, the list is inconsistent then */
    str namespace, name; /* the last object of the page before */
    int64_t left;        /* objects behind that one, which were counted for the page before; 0: nobody has counted */
};

enum { PAGE_TOKEN_MAX = 4096 }; /* bytes of a token; keys are far shorter */

/* with_namespace: the list spans all namespaces, so that the key of an object is namespace/name and not just its name. */
str page_token_format(struct arena *a, const struct page_token *t, bool with_namespace);
int page_token_parse(struct arena *a, str text, bool with_namespace, struct page_token *ret, struct err *err);
