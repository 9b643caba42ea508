/* SPDX-License-Identifier: Apache-2.0 */
/* Reads kubeconfig files. Tables say which fields there are; what they mean together is judged in kubeconfig_resolve.c. */
#include "client/kubeconfig.h"

#include "client/kubeconfig_internal.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <stdlib.h>

/* ---- Fields. ---- */

enum field_type {
    TEXT,
    PATH,    /* of a file: relative ones start at the folder of the kubeconfig */
    COMMAND, /* a path if there is a slash in it, else looked for in $PATH */
    DATA,    /* base64 */
    FLAG,
    LIST, /* of texts */
};

struct field {
    str name;
    enum field_type type;
    size_t offset;
};

#define FIELDS(t) (t), COUNT(t)

static const struct field cluster_fields[] = {
#define AT(member) offsetof(struct kubeconfig_cluster, member)
    {S_INIT("server"), TEXT, AT(server)},
    {S_INIT("tls-server-name"), TEXT, AT(tls_server_name)},
    {S_INIT("insecure-skip-tls-verify"), FLAG, AT(insecure)},
    {S_INIT("certificate-authority"), PATH, AT(ca_file)},
    {S_INIT("certificate-authority-data"), DATA, AT(ca_pem)},
    {S_INIT("proxy-url"), TEXT, AT(proxy_url)},
    {S_INIT("disable-compression"), FLAG, AT(disable_compression)},
#undef AT
};

static const struct field user_fields[] = {
#define AT(member) offsetof(struct kubeconfig_user, member)
    {S_INIT("client-certificate"), PATH, AT(certificate_file)},
    {S_INIT("client-certificate-data"), DATA, AT(certificate_pem)},
    {S_INIT("client-key"), PATH, AT(key_file)},
    {S_INIT("client-key-data"), DATA, AT(key_pem)},
    {S_INIT("token"), TEXT, AT(token)},
    {S_INIT("tokenFile"), PATH, AT(token_file)},
    {S_INIT("username"), TEXT, AT(username)},
    {S_INIT("password"), TEXT, AT(password)},
    {S_INIT("as"), TEXT, AT(as)},
    {S_INIT("as-uid"), TEXT, AT(as_uid)},
    {S_INIT("as-groups"), LIST, AT(as_groups)},
#undef AT
};

static const struct field exec_fields[] = {
#define AT(member) offsetof(struct kubeconfig_user, member)
    {S_INIT("command"), COMMAND, AT(exec.command)},
    {S_INIT("apiVersion"), TEXT, AT(exec.api_version)},
    {S_INIT("installHint"), TEXT, AT(exec.install_hint)},
    {S_INIT("provideClusterInfo"), FLAG, AT(exec.provide_cluster_info)},
    {S_INIT("interactiveMode"), TEXT, AT(interactive_mode)},
#undef AT
};

static const struct field context_fields[] = {
#define AT(member) offsetof(struct kubeconfig_context, member)
    {S_INIT("cluster"), TEXT, AT(cluster)},
    {S_INIT("user"), TEXT, AT(user)},
    {S_INIT("namespace"), TEXT, AT(namespace)},
#undef AT
};

static const struct field env_fields[] = {
    {S_INIT("name"), TEXT, offsetof(struct client_env_var, name)},
    {S_INIT("value"), TEXT, offsetof(struct client_env_var, value)},
};

static const struct field entry_fields[] = {{S_INIT("name"), TEXT, 0}};

/* ---- Reading values. ---- */

/* One file being read. */
struct reader {
    struct kubeconfig *k;
    struct arena *arena;
    const struct kubeconfig_file *file;
    struct err *err;
};

/* "users[0].user.token: want a string, not a number" */
static int bad_type(const struct reader *r, const struct json_path *at, const struct json *v, const char *want)
{
    struct buf path = {.arena = r->arena};
    json_path_format(&path, at);
    return err_set(r->err, ERR_INVALID, "%.*s: want %s, not %s", STR(buf_str(&path)), want, json_type_name(v));
}

static int read_text(const struct reader *r, const struct json_path *at, const struct json *v, str *ret)
{
    if (json_is_null(v))
        return 0;
    if (!json_is_str(v))
        return bad_type(r, at, v, "string");
    if (v->n && memchr(v->s, 0, v->n)) {
        struct buf path = {.arena = r->arena};
        json_path_format(&path, at);
        return err_set(r->err, ERR_INVALID, "%.*s: holds a NUL", STR(buf_str(&path)));
    }
    *ret = json_text(v);
    return 0;
}

static int read_data(const struct reader *r, const struct json_path *at, const struct json *v, str *ret)
{
    str text = {0};
    size_t wrong;
    if (read_text(r, at, v, &text) < 0)
        return r->err->code;
    if (text.n == 0 || base64_decode(r->arena, text, ret, &wrong) == 0)
        return 0;
    struct buf path = {.arena = r->arena};
    json_path_format(&path, at);
    return err_set(r->err, ERR_INVALID, "%.*s: illegal base64 data at input byte %zu", STR(buf_str(&path)), wrong);
}

static int read_list(const struct reader *r, const struct json_path *at, const struct json *v, kubeconfig_strs *ret)
{
    if (json_is_null(v))
        return 0;
    if (!json_is_arr(v))
        return bad_type(r, at, v, "array");
    json_each_item(v, item)
    {
        struct json_path here = {at, {0}, (size_t)(item - v->items)};
        str text = {0};
        if (read_text(r, &here, item, &text) < 0)
            return r->err->code;
        *vec_push(r->arena, ret) = text;
    }
    return 0;
}

static int read_path(const struct reader *r, const struct json_path *at, const struct json *v, str *ret)
{
    if (read_text(r, at, v, ret) < 0)
        return r->err->code;
    if (ret->n && ret->p[0] != '/')
        *ret = kubeconfig_join(r->arena, r->file->folder, *ret);
    return 0;
}

static int read_field(const struct reader *r, const struct json_path *at, const struct json *v, enum field_type type,
                      void *ret)
{
    str *text = ret;
    switch (type) {
    case TEXT:
        return read_text(r, at, v, text);
    case PATH:
        return read_path(r, at, v, text);
    case COMMAND:
        if (str_find_char(json_text(v), '/') >= 0)
            return read_path(r, at, v, text);
        return read_text(r, at, v, text);
    case DATA:
        return read_data(r, at, v, text);
    case LIST:
        return read_list(r, at, v, ret);
    case FLAG:
        if (!json_is_null(v) && json_type(v) != JSON_BOOL)
            return bad_type(r, at, v, "boolean");
        *(bool *)ret = json_true(v);
        return 0;
    }
    return 0;
}

static int read_fields(const struct reader *r, const struct json_path *at, const struct json *obj,
                       const struct field *fields, size_t n, void *into)
{
    if (json_is_null(obj))
        return 0;
    if (!json_is_obj(obj))
        return bad_type(r, at, obj, "object");
    for (size_t i = 0; i < n; i++) {
        struct json_path here = {at, fields[i].name, 0};
        if (read_field(r, &here, json_get(obj, fields[i].name), fields[i].type, (char *)into + fields[i].offset) < 0)
            return r->err->code;
    }
    return 0;
}

/* ---- What no table says. ---- */

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct client_extra *)a)->key, ((const struct client_extra *)b)->key);
}

/* as-user-extra: {scopes: [view, edit]} */
static int read_extra(const struct reader *r, const struct json_path *at, const struct json *v,
                      struct kubeconfig_user *u)
{
    if (!json_is_null(v) && !json_is_obj(v))
        return bad_type(r, at, v, "object");
    json_each_member(v, m)
    {
        struct json_path here = {at, json_key(m), 0};
        kubeconfig_strs values = {0};
        if (read_list(r, &here, &m->val, &values) < 0)
            return r->err->code;
        *vec_push(r->arena, &u->as_extra) = (struct client_extra){json_key(m), values.p, values.n};
    }
    if (u->as_extra.n)
        qsort(u->as_extra.p, u->as_extra.n, sizeof *u->as_extra.p, by_key);
    return 0;
}

static int read_env(const struct reader *r, const struct json_path *at, const struct json *v, struct client_exec *exec)
{
    if (json_is_null(v))
        return 0;
    if (!json_is_arr(v))
        return bad_type(r, at, v, "array");
    VEC(struct client_env_var) env = {0};
    json_each_item(v, item)
    {
        struct json_path here = {at, {0}, (size_t)(item - v->items)};
        struct client_env_var *var = vec_push(r->arena, &env);
        *var = (struct client_env_var){0};
        if (read_fields(r, &here, item, FIELDS(env_fields), var) < 0)
            return r->err->code;
    }
    exec->env = env.p;
    exec->n_env = env.n;
    return 0;
}

static int read_exec(const struct reader *r, const struct json_path *at, const struct json *v,
                     struct kubeconfig_user *u)
{
    kubeconfig_strs args = {0};
    struct json_path args_at = {at, S("args"), 0}, env_at = {at, S("env"), 0};
    u->has_exec = !json_is_null(v);
    if (read_fields(r, at, v, FIELDS(exec_fields), u) < 0 ||
        read_list(r, &args_at, json_get(v, S("args")), &args) < 0 ||
        read_env(r, &env_at, json_get(v, S("env")), &u->exec) < 0)
        return r->err->code;
    u->exec.args = args.p;
    u->exec.n_args = args.n;
    return 0;
}

static int read_user(const struct reader *r, const struct json_path *at, const struct json *v, void **ret)
{
    struct kubeconfig_user *u = ARENA_NEW(r->arena, struct kubeconfig_user);
    const struct json *provider = json_get(v, S("auth-provider"));
    struct json_path extra_at = {at, S("as-user-extra"), 0}, exec_at = {at, S("exec"), 0},
                     provider_at = {at, S("auth-provider"), 0};
    if (read_fields(r, at, v, FIELDS(user_fields), u) < 0 ||
        read_extra(r, &extra_at, json_get(v, S("as-user-extra")), u) < 0 ||
        read_exec(r, &exec_at, json_get(v, S("exec")), u) < 0 ||
        read_fields(r, &provider_at, provider, FIELDS(entry_fields), &u->auth_provider) < 0)
        return r->err->code;
    u->has_auth_provider = !json_is_null(provider);
    u->file = r->file->path;
    *ret = u;
    return 0;
}

/* extensions: [{name: client.authentication.k8s.io/exec, extension: …}] is for the plugin. */
static str exec_config(struct arena *a, const struct json *cluster)
{
    struct buf text = {.arena = a};
    const struct json *extensions = json_get(cluster, S("extensions"));
    json_each_item(extensions, e)
    {
        const struct json *extension = json_get(e, S("extension"));
        if (extension == NULL || !str_eq(json_get_text(e, S("name")), S("client.authentication.k8s.io/exec")))
            continue;
        json_encode(&text, extension, JSON_SORTED);
        break;
    }
    return buf_str(&text);
}

static int read_cluster(const struct reader *r, const struct json_path *at, const struct json *v, void **ret)
{
    struct kubeconfig_cluster *c = ARENA_NEW(r->arena, struct kubeconfig_cluster);
    if (read_fields(r, at, v, FIELDS(cluster_fields), c) < 0)
        return r->err->code;
    c->exec_config = exec_config(r->arena, v);
    c->file = r->file->path;
    *ret = c;
    return 0;
}

static int read_context(const struct reader *r, const struct json_path *at, const struct json *v, void **ret)
{
    struct kubeconfig_context *c = ARENA_NEW(r->arena, struct kubeconfig_context);
    if (read_fields(r, at, v, FIELDS(context_fields), c) < 0)
        return r->err->code;
    c->file = r->file->path;
    *ret = c;
    return 0;
}

/* ---- The three lists. ---- */

struct list {
    str name, member; /* clusters: [{name: …, cluster: {…}}] */
    size_t offset;    /* of the map in struct kubeconfig */
    int (*read)(const struct reader *r, const struct json_path *at, const struct json *v, void **ret);
};

static const struct list lists[] = {
    {S_INIT("clusters"), S_INIT("cluster"), offsetof(struct kubeconfig, clusters), read_cluster},
    {S_INIT("users"), S_INIT("user"), offsetof(struct kubeconfig, users), read_user},
    {S_INIT("contexts"), S_INIT("context"), offsetof(struct kubeconfig, contexts), read_context},
};

/* The first entry of a name counts, whichever file it is in; twice in one file is a mistake. */
static int read_entry(const struct reader *r, const struct json_path *at, const struct json *item,
                      const struct list *list, struct map *seen)
{
    struct map *into = (struct map *)((char *)r->k + list->offset);
    struct json_path body_at = {at, list->member, 0};
    str name = {0};
    void *entry = NULL;
    if (read_fields(r, at, item, FIELDS(entry_fields), &name) < 0 ||
        list->read(r, &body_at, json_get(item, list->member), &entry) < 0)
        return r->err->code;
    if (map_set(seen, name, entry))
        return err_set(r->err, ERR_INVALID, "duplicate name \"%.*s\" in list of %.*s", STR(name), STR(list->name));
    if (map_get(into, name) == NULL)
        map_set(into, name, entry);
    return 0;
}

static int read_entries(const struct reader *r, const struct json *doc, const struct list *list)
{
    const struct json *entries = json_get(doc, list->name);
    struct json_path at = {NULL, list->name, 0};
    if (json_is_null(entries))
        return 0;
    if (!json_is_arr(entries))
        return bad_type(r, &at, entries, "array");
    struct map seen __attribute__((cleanup(map_done))) = {0};
    json_each_item(entries, item)
    {
        struct json_path here = {&at, {0}, (size_t)(item - entries->items)};
        if (read_entry(r, &here, item, list, &seen) < 0)
            return r->err->code;
    }
    return 0;
}

static int read_document(struct reader *r, const struct json *doc)
{
    struct {
        str version, kind, current;
    } head = {0};
    static const struct field fields[] = {
        {S_INIT("apiVersion"), TEXT, 0},
        {S_INIT("kind"), TEXT, sizeof(str)},
        {S_INIT("current-context"), TEXT, 2 * sizeof(str)},
    };
    if (!json_is_null(doc) && !json_is_obj(doc))
        return err_set(r->err, ERR_INVALID, "want an object, not %s", json_type_name(doc));
    if (read_fields(r, NULL, doc, FIELDS(fields), &head) < 0)
        return r->err->code;
    str version = head.version.n ? head.version : S("v1"), kind = head.kind.n ? head.kind : S("Config");
    if (!str_eq(version, S("v1")) || !str_eq(kind, S("Config")))
        return err_set(r->err, ERR_INVALID, "no kind \"%.*s\" is registered for version \"%.*s\"", STR(kind),
                       STR(version));
    for (size_t i = 0; i < COUNT(lists); i++) {
        if (read_entries(r, doc, &lists[i]) < 0)
            return r->err->code;
    }
    if (r->k->current_context.n == 0)
        r->k->current_context = head.current;
    return 0;
}

/* A decoder's text may quote what it could not read, and a password that starts with a star is an unknown anchor. */
static void hide_quotes(struct err *err)
{
    struct err whole = *err;
    size_t n = strcspn(whole.msg, "'\"`");
    if (whole.msg[n])
        err_set(err, whole.code, "%.*s…", (int)n, whole.msg);
}

int kubeconfig_add(struct kubeconfig *k, const struct kubeconfig_file *file, struct err *err)
{
    struct err mine;
    struct kubeconfig_file *kept = ARENA_NEW(k->arena, struct kubeconfig_file);
    *kept = (struct kubeconfig_file){str_dup(k->arena, file->path), str_dup(k->arena, file->folder), file->text};
    struct reader r = {k, k->arena, kept, err ? err : &mine};
    struct json_limits limits = {.bytes = KUBECONFIG_MAX_BYTES};
    struct json_notes tolerated = {0}; /* the last of members with the same name counts */
    struct json doc;
    *vec_push(k->arena, &k->files) = kept->path;
    if (yaml_decode(k->arena, file->text, &limits, &tolerated, &doc, r.err) < 0)
        hide_quotes(r.err);
    else if (read_document(&r, &doc) == 0)
        return 0;
    return err_wrap(r.err, "error loading config file \"%.*s\"", STR(kept->path));
}

void kubeconfig_done(struct kubeconfig *k)
{
    map_done(&k->clusters);
    map_done(&k->users);
    map_done(&k->contexts);
}

str kubeconfig_join(struct arena *a, str folder, str path)
{
    struct buf out = {.arena = a};
    str parts[] = {folder, path};
    if (path.n && path.p[0] == '/')
        parts[0] = (str){0};
    for (size_t i = 0; i < 2; i++) {
        str part, rest = parts[i];
        for (bool more = true; more;) {
            more = str_cut(rest, '/', &part, &rest);
            if (part.n == 0 || str_eq(part, S(".")))
                continue;
            if (!str_eq(part, S(".."))) {
                buf_fmt(&out, "/%.*s", STR(part));
                continue;
            }
            while (out.n && out.p[--out.n] != '/')
                ;
        }
    }
    return out.n ? buf_str(&out) : S("/");
}
