/* SPDX-License-Identifier: Apache-2.0 */
/* What: who asks, and for what: the two halves of every question of authorisation.
 * Owns: nothing; all texts are borrowed.
 * Threads: plain values.
 * Errors: none. The zero identity is nobody and the zero attributes are no request: both are always refused. */
#pragma once

#include "base/str.h"

/* A list of texts that nobody changes. The zero value is empty. */
struct strs {
    const str *p;
    size_t n;
};

#define strs_each(list, it) \
    for (const str *it = (list).p, *it##_end = (list).n ? it + (list).n : it; it != it##_end; it++)

static inline bool strs_have(struct strs list, str s)
{
    strs_each(list, it)
    {
        if (str_eq(*it, s))
            return true;
    }
    return false;
}

struct authz_extra {
    str key;
    struct strs values;
};

struct rules;

/* What authentication found out. An empty user or group never equals a subject of a binding. */
struct authz_identity {
    str user;
    struct strs groups;
    str uid;
    const struct authz_extra *extra;
    size_t n_extra;
    const struct rules
        *only; /* not NULL: these rules alone decide; bindings and groups, even system:masters, grant nothing */
};

/* A request, as RBAC sees it. */
struct authz_attributes {
    bool is_resource; /* else only verb and path count */
    str verb;
    str group, version; /* RBAC does not look at the version */
    str resource, subresource;
    str name;
    str namespace; /* empty: of the whole cluster */
    str path;
};

/* The group that may do everything, whatever roles say. */
#define AUTHZ_MASTERS S("system:masters")

static inline bool authz_is_master(const struct authz_identity *who)
{
    return who && !who->only && strs_have(who->groups, AUTHZ_MASTERS);
}

/* Something is asked for. */
static inline bool authz_is_request(const struct authz_attributes *what)
{
    return what && (what->verb.n || what->resource.n || what->path.n);
}
