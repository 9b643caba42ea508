/* SPDX-License-Identifier: Apache-2.0 */
/* What a token says, as JSON: written in one way only, and read back with no tolerance at all. A claim that is unknown, missing,
 * doubled or of another type was not written by us, or by a later version that means something by it: the token is refused. */
#include "authn/token_parts.h"

#include "authn/authn.h"

#include "json/json.h"

enum { CLAIMS_DEPTH = 4 };

static const int64_t seconds_max = 253402300799; /* the end of the year 9999: far from where sums overflow */

/* ---- Out. ---- */

static void add_ref(struct arena *a, struct json *to, str key, const struct token_ref *ref)
{
    if (ref->name.n == 0)
        return;
    struct json o = json_obj_sized(a, 2);
    json_add(a, &o, S("name"), json_str(ref->name));
    if (ref->uid.n)
        json_add(a, &o, S("uid"), json_str(ref->uid));
    json_add(a, to, key, o);
}

static void add_requests(struct arena *a, struct json *to, const struct token_claims *claims)
{
    struct json list = json_arr_sized(a, claims->n_requests);
    if (claims->n_requests == 0)
        return;
    for (size_t i = 0; i < claims->n_requests; i++) {
        const struct token_request *r = &claims->requests[i];
        struct json o = json_obj_sized(a, 3);
        json_add(a, &o, S("by"), json_str(r->by));
        json_add(a, &o, S("for"), json_str(r->to));
        json_add(a, &o, S("uid"), json_str(r->uid));
        json_push(a, &list, o);
    }
    json_add(a, to, S("requests"), list);
}

str token_claims_format(struct arena *a, const struct token_claims *claims, str issuer)
{
    struct json audiences = json_arr_sized(a, claims->audiences.n), private = json_obj_sized(a, 7),
                all = json_obj_sized(a, 8);
    strs_each(claims->audiences, it) json_push(a, &audiences, json_str(*it));
    json_add(a, &private, S("namespace"), json_str(claims->namespace));
    add_ref(a, &private, S("node"), &claims->node);
    add_ref(a, &private, S("pod"), &claims->pod);
    add_requests(a, &private, claims);
    add_ref(a, &private, S("secret"), &claims->secret);
    add_ref(a, &private, S("serviceaccount"), &claims->account);
    if (claims->warn_after)
        json_add(a, &private, S("warnafter"), json_int(claims->warn_after));
    json_add(a, &all, S("aud"), audiences);
    json_add(a, &all, S("exp"), json_int(claims->expires));
    json_add(a, &all, S("iat"), json_int(claims->issued));
    json_add(a, &all, S("iss"), json_str(issuer));
    json_add(a, &all, S("jti"), json_str(claims->id));
    json_add(a, &all, S("kubernetes.io"), private);
    json_add(a, &all, S("nbf"), json_int(claims->not_before));
    json_add(a, &all, S("sub"), json_str(authn_account_user(a, claims->namespace, claims->account.name)));
    struct buf text = {.arena = a};
    json_encode(&text, &all, 0);
    return buf_str(&text);
}

/* ---- In. Each of these is false when the value is not what it has to be. ---- */

static bool take_text(const struct json *v, str *ret)
{
    *ret = json_text(v);
    return ret->n > 0;
}

static bool take_seconds(const struct json *v, int64_t *ret)
{
    *ret = json_type(v) == JSON_INT ? v->i : -1;
    return *ret >= 0 && *ret <= seconds_max;
}

static bool take_ref(const struct json *v, struct token_ref *ret)
{
    return json_is_obj(v) && v->n == 2 && take_text(json_get(v, S("name")), &ret->name) &&
           take_text(json_get(v, S("uid")), &ret->uid);
}

/* A pod may be on a node that there is no object of. */
static bool take_node(const struct json *v, struct token_ref *ret)
{
    bool has_uid = json_get(v, S("uid"));
    return has_uid ? take_ref(v, ret) : json_is_obj(v) && v->n == 1 && take_text(json_get(v, S("name")), &ret->name);
}

static bool take_audiences(struct arena *a, const struct json *v, struct strs *ret)
{
    size_t n = json_len(v);
    if (!json_is_arr(v) || n == 0)
        return false;
    str *list = ARENA_ARRAY(a, str, n);
    for (size_t i = 0; i < n; i++)
        if (!take_text(&v->items[i], &list[i]))
            return false;
    *ret = (struct strs){list, n};
    return true;
}

static bool take_user(const struct json *v, str *ret)
{
    str namespace, name;
    return take_text(v, ret) && authn_account_split(*ret, &namespace, &name);
}

static bool take_requests(struct arena *a, const struct json *v, struct token_claims *c)
{
    size_t n = json_len(v);
    if (!json_is_arr(v) || n == 0 || n > TOKEN_REQUESTS_MAX)
        return false;
    struct token_request *list = ARENA_ARRAY(a, struct token_request, n);
    for (size_t i = 0; i < n; i++) {
        const struct json *o = &v->items[i];
        if (!json_is_obj(o) || o->n != 3 || !take_user(json_get(o, S("by")), &list[i].by) ||
            !take_user(json_get(o, S("for")), &list[i].to) || !take_text(json_get(o, S("uid")), &list[i].uid))
            return false;
    }
    c->requests = list;
    c->n_requests = n;
    return true;
}

static bool take_private(struct arena *a, const struct json *v, struct token_claims *c)
{
    json_each_member(v, m)
    {
        str key = json_key(m);
        bool is_good = str_eq(key, S("namespace"))        ? take_text(&m->val, &c->namespace)
                       : str_eq(key, S("node"))           ? take_node(&m->val, &c->node)
                       : str_eq(key, S("pod"))            ? take_ref(&m->val, &c->pod)
                       : str_eq(key, S("requests"))       ? take_requests(a, &m->val, c)
                       : str_eq(key, S("secret"))         ? take_ref(&m->val, &c->secret)
                       : str_eq(key, S("serviceaccount")) ? take_ref(&m->val, &c->account)
                       : str_eq(key, S("warnafter"))      ? take_seconds(&m->val, &c->warn_after)
                                                          : false;
        if (!is_good)
            return false;
    }
    return c->namespace.n && c->account.name.n;
}

static bool take_claims(struct arena *a, const struct json *v, struct token_claims *c, str *issuer, str *subject)
{
    json_each_member(v, m)
    {
        str key = json_key(m);
        bool is_good = str_eq(key, S("aud"))             ? take_audiences(a, &m->val, &c->audiences)
                       : str_eq(key, S("exp"))           ? take_seconds(&m->val, &c->expires)
                       : str_eq(key, S("iat"))           ? take_seconds(&m->val, &c->issued)
                       : str_eq(key, S("iss"))           ? take_text(&m->val, issuer)
                       : str_eq(key, S("jti"))           ? take_text(&m->val, &c->id)
                       : str_eq(key, S("kubernetes.io")) ? take_private(a, &m->val, c)
                       : str_eq(key, S("nbf"))           ? take_seconds(&m->val, &c->not_before)
                       : str_eq(key, S("sub"))           ? take_text(&m->val, subject)
                                                         : false;
        if (!is_good)
            return false;
    }
    return json_is_obj(v) && v->n == 8; /* all of them: no name is there twice */
}

int token_claims_parse(struct arena *a, str json, str issuer, struct token_claims *ret, struct err *err)
{
    struct json_limits limits = {.bytes = TOKEN_MAX_BYTES, .depth = CLAIMS_DEPTH};
    struct json_notes notes = {0};
    struct json v;
    struct token_claims c = {0};
    str its_issuer = {0}, subject = {0};
    struct err unused;
    if (json_decode(a, json, &limits, &notes, &v, &unused) < 0 || notes.duplicates.n ||
        !take_claims(a, &v, &c, &its_issuer, &subject) || !str_eq(its_issuer, issuer))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    if (!str_eq(subject, authn_account_user(a, c.namespace, c.account.name)) ||
        (c.secret.name.n && (c.pod.name.n || c.node.name.n)) || (c.node.name.n && !c.node.uid.n && !c.pod.name.n))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    *ret = c;
    return 0;
}
