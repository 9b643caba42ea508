/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_hub_credential.h"

#include "authn/base64url.h"
#include "base/file.h"
#include "client/kubeconfig.h"
#include "object/fleet.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <stdlib.h>
#include <unistd.h>

enum { TOKEN_BYTES = 64 * 1024 }; /* of a token that is looked into */

static const struct client_resource secrets = CLIENT_RESOURCE("", "v1", "secrets", "Secret", true);

str hub_source_name(struct arena *a, const struct hub_source *source)
{
    if (source->file.n)
        return str_fmt(a, "the file %.*s", STR(source->file));
    return str_fmt(a, "the Secret %.*s/%.*s", STR(source->namespace), STR(source->name));
}

/* ---- Tokens. ---- */

bool hub_token_read(struct arena *a, str token, struct hub_credential *ret)
{
    str header, payload, rest, text = {0};
    struct json claims;
    const struct json_limits limits = {.bytes = TOKEN_BYTES, .depth = 16};
    if (token.n > TOKEN_BYTES || !str_cut(token, '.', &header, &rest) || !str_cut(rest, '.', &payload, &rest) ||
        !base64url_decode(a, payload, &text) || json_decode(a, text, &limits, NULL, &claims, NULL) < 0)
        return false;
    int64_t issued = 0, expires = 0;
    str subject = json_get_text(&claims, S("sub"));
    const str prefix = S("system:serviceaccount:");
    (void)json_to_int(json_get(&claims, S("iat")), &issued);
    (void)json_to_int(json_get(&claims, S("exp")), &expires);
    ret->issued = issued > 0 ? issued : 0;
    ret->expires = expires > ret->issued ? expires : 0;
    if (str_has_prefix(subject, prefix))
        (void)str_cut(str_from(subject, prefix.n), ':', &ret->account_namespace, &ret->account);
    return true;
}

/* ---- The kubeconfig. ---- */

/* The entry of a list with this name: contexts, users. */
static struct json *entry_of(struct json *config, const char *list, str name, const char *what)
{
    struct json *entries = json_get_mut(config, str_of(list));
    for (size_t i = 0; json_is_arr(entries) && i < entries->n; i++)
        if (str_eq(json_get_text(&entries->items[i], S("name")), name))
            return json_get_mut(&entries->items[i], str_of(what));
    return NULL;
}

int hub_credential_replace(struct arena *a, str text, str old, str token, str *ret, struct err *err)
{
    const struct json_limits limits = {.bytes = KUBECONFIG_MAX_BYTES};
    struct buf out = {.arena = a};
    struct json config = json_null();
    if (yaml_decode(a, text, &limits, NULL, &config, err) < 0)
        return err->code;
    struct json *context = entry_of(&config, "contexts", json_get_text(&config, S("current-context")), "context");
    struct json *user = context ? entry_of(&config, "users", json_get_text(context, S("user")), "user") : NULL;
    if (!json_is_obj(user) || !str_eq(json_get_text(user, S("token")), old))
        return err_set(err, ERR_CONFLICT, "the token there is another one by now");
    json_set(a, user, S("token"), json_str(token));
    yaml_encode(&out, &config);
    *ret = buf_str(&out);
    return 0;
}

/* ---- A file. ---- */

static int read_file(struct arena *a, str path, struct hub_credential *ret, struct err *err)
{
    struct client_config_args args = {.kubeconfig = path, .env = (const char *const *)environ};
    return client_config_load(a, &args, &ret->config, err);
}

static int write_file(struct arena *a, str path, str old, str token, struct err *err)
{
    str text = {0};
    /* What a link leads to is written, not the link. */
    char *place = realpath(str_cstr(a, path), NULL);
    if (!place)
        return err_set(err, ERR_IO, "find %.*s: %m", STR(path));
    int code = file_read(a, path, FILE_REGULAR, KUBECONFIG_MAX_BYTES, &text, err);
    if (code == 0)
        code = hub_credential_replace(a, text, old, token, &text, err);
    if (code == 0)
        code = file_write(place, text, err);
    free(place);
    return code;
}

/* ---- A Secret. ---- */

static int get_secret(struct arena *a, const struct hub_source *s, struct json *ret, str *ret_text, struct err *err)
{
    struct client_ref ref = {.resource = &secrets, .namespace = s->namespace, .name = s->name};
    int code = client_get(s->managed, a, &ref, ret, err);
    if (code < 0)
        return code;
    const struct json *data = json_dig(ret, "data." HUB_CREDENTIAL_KEY);
    if (!json_is_str(data))
        return err_set(err, ERR_INVALID, "it has no " HUB_CREDENTIAL_KEY);
    size_t at;
    if (base64_decode(a, json_text(data), ret_text, &at) < 0)
        return err_set(err, ERR_INVALID, "its " HUB_CREDENTIAL_KEY " is not base64");
    return 0;
}

static int read_secret(struct arena *a, const struct hub_source *s, struct hub_credential *ret, struct err *err)
{
    struct json secret;
    struct kubeconfig k KUBECONFIG_SCOPE = {.arena = a};
    struct kubeconfig_file file = {.path = S(HUB_CREDENTIAL_KEY), .folder = S("/")};
    int code = get_secret(a, s, &secret, &file.text, err);
    if (code == 0)
        code = kubeconfig_add(&k, &file, err);
    return code == 0 ? kubeconfig_resolve(&k, (str){0}, &ret->config, err) : code;
}

/* Of the version that was read: whoever writes meanwhile wins. */
static int write_secret(struct arena *a, const struct hub_source *s, str old, str token, struct err *err)
{
    struct json secret, patch = json_obj(), metadata = json_obj(), data = json_obj();
    struct client_ref ref = {.resource = &secrets, .namespace = s->namespace, .name = s->name};
    str text = {0};
    int code = get_secret(a, s, &secret, &text, err);
    if (code == 0)
        code = hub_credential_replace(a, text, old, token, &text, err);
    if (code < 0)
        return code;
    json_add(a, &metadata, S("resourceVersion"), *json_dig(&secret, "metadata.resourceVersion"));
    json_add(a, &data, S(HUB_CREDENTIAL_KEY), json_str(base64_encode(a, text)));
    json_add(a, &patch, S("metadata"), metadata);
    json_add(a, &patch, S("data"), data);
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &patch, .options = {.field_manager = S("reeve-agent")}};
    return client_patch(s->managed, a, &ref, &args, NULL, err);
}

/* ---- Either. ---- */

int hub_credential_read(struct arena *a, const struct hub_source *source, struct hub_credential *ret, struct err *err)
{
    struct hub_credential found = {0};
    int code = source->file.n ? read_file(a, source->file, &found, err) : read_secret(a, source, &found, err);
    if (code < 0)
        return err_wrap(err, "read the join kubeconfig from %.*s", STR(hub_source_name(a, source)));
    (void)hub_token_read(a, found.config.token, &found);
    *ret = found;
    return 0;
}

int hub_credential_check(const struct hub_credential *c, str cluster, struct err *err)
{
    if (c->account_namespace.n == 0 || !str_eq(c->account, S(FLEET_AGENT)) || str_eq(c->account_namespace, cluster))
        return 0;
    return err_set(err, ERR_INVALID, "the join kubeconfig is that of cluster \"%.*s\", and this is \"%.*s\"",
                   STR(c->account_namespace), STR(cluster));
}

int hub_credential_write(const struct hub_source *source, str old, str token, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = source->file.n ? write_file(&scratch, source->file, old, token, err)
                              : write_secret(&scratch, source, old, token, err);
    if (code < 0)
        return err_wrap(err, "write the join kubeconfig to %.*s", STR(hub_source_name(&scratch, source)));
    return 0;
}
