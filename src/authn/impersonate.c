/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/impersonate.h"

#include "authn/authn.h"

#include "base/map.h"
#include "base/vec.h"

#include <strings.h>

#define HEADER_USER S("Impersonate-User")
#define HEADER_GROUP S("Impersonate-Group")
#define HEADER_UID S("Impersonate-Uid")
#define PREFIX_EXTRA S("Impersonate-Extra-")
#define REVIEW_GROUP S("authentication.k8s.io")

struct extra {
    str key;
    VEC(str) values;
};

struct reading {
    struct arena *arena;
    VEC(struct authz_attributes) questions;
    VEC(str) groups;
    VEC(struct extra *) extras;
    struct map by_key; /* key → struct extra */
};

static bool is_named(str name, str want)
{
    return name.n == want.n && strncasecmp(name.p, want.p, want.n) == 0;
}

static bool is_extra(str name)
{
    return is_named(str_upto(name, PREFIX_EXTRA.n), PREFIX_EXTRA);
}

bool impersonate_is_header(str name)
{
    return is_named(name, HEADER_USER) || is_named(name, HEADER_GROUP) || is_named(name, HEADER_UID) || is_extra(name);
}

/* ---- Keys of extras: in small letters, then percent-decoded; as they are when that gives no text. ---- */

static int digit_of(char c)
{
    return char_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static str extra_key(struct arena *a, str name)
{
    str encoded = str_lower(a, str_from(name, PREFIX_EXTRA.n));
    struct buf key = {.arena = a};
    for (size_t i = 0; i < encoded.n; i++) {
        if (encoded.p[i] != '%') {
            buf_add_char(&key, encoded.p[i]);
            continue;
        }
        int high = i + 2 < encoded.n ? digit_of(encoded.p[i + 1]) : -1;
        int low = i + 2 < encoded.n ? digit_of(encoded.p[i + 2]) : -1;
        if (high < 0 || low < 0)
            return encoded;
        buf_add_char(&key, (char)(high << 4 | low));
        i += 2;
    }
    return str_is_utf8(buf_str(&key)) ? buf_str(&key) : encoded;
}

/* ---- Questions. ---- */

static struct authz_attributes *ask(struct reading *r, str resource, str name)
{
    struct authz_attributes *q = vec_push(r->arena, &r->questions);
    *q = (struct authz_attributes){.is_resource = true, .verb = S("impersonate"), .resource = resource, .name = name};
    return q;
}

static void ask_review(struct reading *r, str resource, str subresource, str name)
{
    struct authz_attributes *q = ask(r, resource, name);
    q->group = REVIEW_GROUP;
    q->version = S("v1");
    q->subresource = subresource;
}

static void add_extra(struct reading *r, str name, str value)
{
    str key = extra_key(r->arena, name);
    struct extra *extra = map_get(&r->by_key, key);
    if (extra == NULL) {
        extra = ARENA_NEW(r->arena, struct extra);
        extra->key = key;
        map_set(&r->by_key, key, extra);
        *vec_push(r->arena, &r->extras) = extra;
    }
    *vec_push(r->arena, &extra->values) = value;
    ask_review(r, S("userextras"), key, value);
}

static void add_group(struct reading *r, str group)
{
    ask(r, S("groups"), group);
    *vec_push(r->arena, &r->groups) = group;
}

/* A ServiceAccount's groups follow from its name, unless the request names groups itself. */
static void add_user(struct reading *r, str user, bool has_groups)
{
    str namespace, name, groups[2];
    if (!authn_account_split(user, &namespace, &name)) {
        ask(r, S("users"), user);
        return;
    }
    ask(r, S("serviceaccounts"), name)->namespace = namespace;
    if (has_groups)
        return;
    authn_account_groups(r->arena, namespace, groups);
    *vec_push(r->arena, &r->groups) = groups[0];
    *vec_push(r->arena, &r->groups) = groups[1];
}

/* In Kubernetes' words, which are Go's way of printing a list of ObjectReferences: {Kind Namespace Name UID APIVersion
 * ResourceVersion FieldPath}. */
static int refuse(const struct reading *r, struct err *err)
{
    struct buf list = {.arena = r->arena};
    vec_each(&r->questions, q)
    {
        str api_version = q->group.n ? S("authentication.k8s.io/v1") : S("");
        str kind = str_eq(q->resource, S("groups")) ? S("Group")
                   : str_eq(q->resource, S("uids")) ? S("UID")
                                                    : S("UserExtra");
        buf_fmt(&list, "%s{%.*s  %.*s  %.*s  %.*s}", list.n ? " " : "", STR(kind), STR(q->name), STR(api_version),
                STR(q->subresource));
    }
    return err_set(err, ERR_INTERNAL, "requested [%.*s] without impersonating a user", STR(buf_str(&list)));
}

/* ---- The new identity. ---- */

static void add_class(struct reading *r, str user)
{
    struct strs groups = {r->groups.p, r->groups.n};
    bool is_unauthenticated = strs_have(groups, AUTHN_UNAUTHENTICATED);
    if (str_eq(user, AUTHN_ANONYMOUS)) {
        if (!is_unauthenticated)
            *vec_push(r->arena, &r->groups) = AUTHN_UNAUTHENTICATED;
    } else if (!is_unauthenticated && !strs_have(groups, AUTHN_AUTHENTICATED)) {
        *vec_push(r->arena, &r->groups) = AUTHN_AUTHENTICATED;
    }
}

static struct authz_identity identity(struct reading *r, str user, str uid)
{
    struct authz_identity who = {.user = user, .uid = uid};
    struct authz_extra *extra = ARENA_ARRAY(r->arena, struct authz_extra, r->extras.n);
    add_class(r, user);
    vec_each(&r->extras, it) extra[who.n_extra++] =
        (struct authz_extra){(*it)->key, {(*it)->values.p, (*it)->values.n}};
    who.extra = extra;
    who.groups = (struct strs){r->groups.p, r->groups.n};
    return who;
}

/* The first header of a name, or empty with p NULL. */
static str find(const struct impersonate_header *headers, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(headers[i].name, name))
            return headers[i].value.n ? headers[i].value : S("");
    return (str){0};
}

int impersonate_read(struct arena *a, const struct impersonate_header *headers, size_t n, struct impersonation *ret,
                     struct err *err)
{
    struct reading r = {.arena = a};
    for (size_t i = 0; i < n; i++)
        if (impersonate_is_header(headers[i].name) && !(str_is_utf8(headers[i].name) && str_is_utf8(headers[i].value)))
            return err_set(err, ERR_BAD_REQUEST, "an Impersonate header is not UTF-8");
    str user = find(headers, n, HEADER_USER), uid = find(headers, n, HEADER_UID);
    if (user.n)
        add_user(&r, user, find(headers, n, HEADER_GROUP).p != NULL);
    for (size_t i = 0; i < n; i++)
        if (is_named(headers[i].name, HEADER_GROUP))
            add_group(&r, headers[i].value);
    for (size_t i = 0; i < n; i++)
        if (is_extra(headers[i].name))
            add_extra(&r, headers[i].name, headers[i].value);
    map_done(&r.by_key);
    if (uid.n)
        ask_review(&r, S("uids"), (str){0}, uid);
    if (r.questions.n && user.n == 0)
        return refuse(&r, err);
    *ret = (struct impersonation){.questions = r.questions.p, .n = r.questions.n};
    if (r.questions.n)
        ret->who = identity(&r, user, uid);
    return 0;
}
