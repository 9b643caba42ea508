/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts_internal.h"
#include "object/object.h"
#include "json/base64.h"

static struct client_ref ref_of(const struct account_visit *v)
{
    return (struct client_ref){
        .resource = &accounts_secrets, .namespace = v->accounts->options.cluster, .name = v->reconcile->name};
}

int account_secret_get(struct account_visit *v, struct json *ret, struct err *err)
{
    struct client_ref ref = ref_of(v);
    int code = client_get(v->reconcile->client, v->reconcile->arena, &ref, ret, err);
    if (code < 0 && client_is_gone(err)) {
        *ret = json_null();
        return 0;
    }
    return code < 0 ? err_wrap(err, "read Secret %.*s/%.*s", STR(ref.namespace), STR(ref.name)) : 0;
}

static bool is_owned(const struct account_visit *v, const struct json *secret)
{
    const struct json *owners = object_owners(secret);
    json_each_item(owners, owner)
    {
        if (str_eq(json_get_text(owner, S("uid")), object_uid(&v->managed)))
            return true;
    }
    return false;
}

static bool is_labelled(const struct json *secret)
{
    return str_eq(object_label(secret, S(FLEET_LABEL_ACCOUNT)), S("true"));
}

bool account_secret_is_foreign(const struct account_visit *v, const struct json *secret)
{
    return !json_is_null(secret) && !is_owned(v, secret) && !is_labelled(secret);
}

static str value_of(struct arena *a, const struct json *secret, str key)
{
    str text = {0};
    size_t at;
    return base64_decode(a, json_get_text(json_get(secret, S("data")), key), &text, &at) < 0 ? (str){0} : text;
}

str account_secret_token(const struct account_visit *v, struct arena *a, const struct json *secret)
{
    if (!is_owned(v, secret) || !is_labelled(secret) ||
        !str_eq(value_of(a, secret, S("ca.crt")), v->accounts->options.ca_pem))
        return (str){0};
    return value_of(a, secret, S("token"));
}

/* ---- Writing. What others put into labels, annotations and owners stays. ---- */

static struct json *member_of(struct arena *a, struct json *object, str key)
{
    struct json *member = json_get_mut(object, key);
    return json_is_obj(member) ? member : json_set(a, object, key, json_obj());
}

static struct json owner_of(const struct account_visit *v)
{
    struct arena *a = v->reconcile->arena;
    struct json owner = json_obj();
    json_add(a, &owner, S("apiVersion"), json_str(client_api_version(a, &accounts_managed)));
    json_add(a, &owner, S("kind"), json_str(accounts_managed.kind));
    json_add(a, &owner, S("name"), json_str(v->reconcile->name));
    json_add(a, &owner, S("uid"), json_str(object_uid(&v->managed)));
    return owner;
}

/* One of this name with another uid is gone, and would take the Secret with it. */
static void set_owner(const struct account_visit *v, struct json *metadata)
{
    struct arena *a = v->reconcile->arena;
    struct json owners = json_arr();
    const struct json *have = json_get(metadata, S("ownerReferences"));
    json_each_item(have, owner)
    {
        if (!str_eq(json_get_text(owner, S("kind")), accounts_managed.kind))
            json_push(a, &owners, *owner);
    }
    json_push(a, &owners, owner_of(v));
    json_set(a, metadata, S("ownerReferences"), owners);
}

int account_secret_write(struct account_visit *v, const struct json *have, str token, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = ref_of(v);
    struct client_write_options options = {.field_manager = ACCOUNTS_MANAGER};
    bool is_new = json_is_null(have);
    struct json secret = is_new ? json_obj() : json_dup(r->arena, have);
    struct json *metadata = member_of(r->arena, &secret, S("metadata"));
    json_set(r->arena, metadata, S("name"), json_str(r->name));
    json_set(r->arena, metadata, S("namespace"), json_str(ref.namespace));
    set_owner(v, metadata);
    json_set(r->arena, member_of(r->arena, metadata, S("labels")), S(FLEET_LABEL_ACCOUNT), json_str(S("true")));
    struct json *data = member_of(r->arena, &secret, S("data"));
    json_set(r->arena, data, S("ca.crt"), json_str(base64_encode(r->arena, v->accounts->options.ca_pem)));
    json_set(r->arena, data, S("token"), json_str(base64_encode(r->arena, token)));
    json_set(r->arena, &secret, S("apiVersion"), json_str(S("v1")));
    json_set(r->arena, &secret, S("kind"), json_str(accounts_secrets.kind));
    if (is_new)
        json_set(r->arena, &secret, S("type"), json_str(S("Opaque")));
    int code = is_new ? client_create(r->client, r->arena, &ref, &secret, &options, NULL, err)
                      : client_update(r->client, r->arena, &ref, &secret, &options, NULL, err);
    if (code == ERR_ALREADY_EXISTS)
        return err_set(err, ERR_CONFLICT, "the Secret was just made");
    return code < 0 ? err_wrap(err, "write Secret %.*s/%.*s", STR(ref.namespace), STR(ref.name)) : 0;
}
