/* SPDX-License-Identifier: Apache-2.0 */
#include "api/seed.h"

#include <assert.h>
#include <stdlib.h>

#include "api/api_value.h"
#include "api/loopback.h"
#include "authz/bootstrap.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "object/status.h"
#include "json/yaml.h"

#define MANAGER "reeve" /* of the fields of what the owner of the server wants */

struct seed {
    struct loop_work start;
    struct api *api;
    void (*done)(struct api *api, const struct err *err);
    size_t waiting;    /* calls at work, and one for the start itself */
    bool is_abandoned; /* the server closes */
    bool was_seeded;   /* by an earlier start: a full disk then only delays what is new */
    bool has_failed;
    struct err err;
    void (*next)(struct seed *s); /* what comes when all calls are answered */
};

static void step_done(struct seed *s)
{
    if (--s->waiting > 0)
        return;
    if (s->is_abandoned) {
        free(s);
    } else if (s->next && !s->has_failed) {
        void (*next)(struct seed *) = s->next;
        s->next = NULL;
        s->waiting = 1;
        next(s);
        step_done(s);
    } else {
        s->done(s->api, s->has_failed ? &s->err : NULL);
        free(s);
    }
}

static void answered(void *ctx, int status, struct http_headers headers, str body)
{
    struct seed *s = ctx;
    (void)headers;
    if (status == 507 && s->was_seeded) {
        log_line(s->api->options.log, LOG_ERROR,
                 "no space to store what every server starts with: start again when there is");
    } else if (status >= 300 && status != 409 && !s->has_failed) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json object;
        s->has_failed = true;
        if (json_decode(&scratch, body, NULL, NULL, &object, NULL) < 0 || status_to_err(&object, &s->err) == 0)
            err_set(&s->err, ERR_INTERNAL, "the server answered itself with %d", status);
        err_wrap(&s->err, "create what every server starts with");
    }
    step_done(s);
}

static void send(struct seed *s, struct loopback_call c)
{
    c.who = loopback_self();
    c.done = answered;
    c.ctx = s;
    s->waiting++;
    loopback_start(s->api, &c);
}

static void call(struct seed *s, str method, str target, const struct json *object)
{
    struct buf body = {0};
    if (object)
        json_encode(&body, object, 0);
    send(s, (struct loopback_call){.method = method, .target = target, .body = buf_str(&body)});
    buf_done(&body);
}

/* ---- Namespaces and what clients look for in them. ---- */

static bool exists(struct api *api, str resource, str namespace, str name)
{
    const struct kind *kind = kind_builtin_by_path((str){0}, S("v1"), resource);
    struct store_item item;
    return store_get(api->store, api_table(api, kind), namespace, name, &item, NULL) == 0;
}

static struct json object_of(struct arena *a, str api_version, str kind, str name)
{
    struct json metadata = json_obj(), object = json_obj();
    json_add(a, &metadata, S("name"), json_str(name));
    json_add(a, &object, S("apiVersion"), json_str(api_version));
    json_add(a, &object, S("kind"), json_str(kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static struct json decode_own(struct arena *a, str yaml)
{
    struct json wanted;
    int code = yaml_decode(a, yaml, NULL, NULL, &wanted, NULL);
    assert(code == 0 && "it is of this program");
    (void)code;
    return wanted;
}

static bool is_namespace(const struct json *object)
{
    return str_eq(object_kind(object), S("Namespace")) && str_eq(object_api_version(object), S("v1"));
}

static void seed_namespaces(struct seed *s)
{
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct arena scratch ARENA_SCOPE = {0};
        str name = str_of(names[i]);
        if (exists(s->api, S("namespaces"), (str){0}, name))
            continue;
        struct json namespace = object_of(&scratch, S("v1"), S("Namespace"), name);
        call(s, S("POST"), S("/api/v1/namespaces"), &namespace);
    }
    for (size_t i = 0; i < s->api->options.n_own; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json wanted = decode_own(&scratch, s->api->options.own[i]);
        if (is_namespace(&wanted) && !exists(s->api, S("namespaces"), (str){0}, object_name(&wanted)))
            call(s, S("POST"), S("/api/v1/namespaces"), &wanted);
    }
}

/* The two classes that pods of the system itself name. */
static void seed_priorities(struct seed *s)
{
    static const struct {
        const char *name, *description;
        int64_t value;
    } classes[] = {
        {"system-node-critical", "Used for system critical pods that must not be moved from their current node.",
         2000001000},
        {"system-cluster-critical",
         "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
         2000000000},
    };
    const struct kind *kind = kind_builtin_by_path(S("scheduling.k8s.io"), S("v1"), S("priorityclasses"));
    for (size_t i = 0; i < COUNT(classes); i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct store_item item;
        str name = str_of(classes[i].name);
        if (store_get(s->api->store, api_table(s->api, kind), (str){0}, name, &item, NULL) == 0)
            continue;
        struct json class = object_of(&scratch, S("scheduling.k8s.io/v1"), S("PriorityClass"), name);
        json_add(&scratch, &class, S("value"), json_int(classes[i].value));
        json_add(&scratch, &class, S("description"), json_str(str_of(classes[i].description)));
        call(s, S("POST"), S("/apis/scheduling.k8s.io/v1/priorityclasses"), &class);
    }
}

/* Where aggregated servers and controller managers learn which client certificates to believe. */
static void seed_authentication(struct seed *s)
{
    if (exists(s->api, S("configmaps"), S("kube-system"), S("extension-apiserver-authentication")))
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct json map = object_of(&scratch, S("v1"), S("ConfigMap"), S("extension-apiserver-authentication"));
    struct json data = json_obj();
    json_add(&scratch, &data, S("client-ca-file"), json_str(s->api->options.ca_pem));
    json_add(&scratch, &map, S("data"), data);
    call(s, S("POST"), S("/api/v1/namespaces/kube-system/configmaps"), &map);
}

/* ---- Where objects are. ---- */

static str collection_of(struct arena *a, const struct kind *kind, const struct json *object)
{
    if (!kind->namespaced)
        return str_fmt(a, "/apis/%s/%s/%s", kind->group, kind->version, kind->plural);
    return str_fmt(a, "/apis/%s/%s/namespaces/%.*s/%s", kind->group, kind->version, STR(object_namespace(object)),
                   kind->plural);
}

static str path_of(struct arena *a, const struct kind *kind, const struct json *object)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, collection_of(a, kind, object));
    buf_add_char(&b, '/');
    percent_encode(&b, object_name(object));
    return buf_str(&b);
}

/* ---- What the owner of the server wants. ---- */

/* Whether all that is wanted is there already: lists as long, objects with these members at least. */
static bool has(const struct json *have, const struct json *want)
{
    if (json_is_obj(want)) {
        json_each_member(want, m)
        {
            if (!has(json_get(have, json_key(m)), &m->val))
                return false;
        }
        return json_is_obj(have);
    }
    if (!json_is_arr(want))
        return have && json_equal(have, want);
    if (!json_is_arr(have) || json_len(have) != json_len(want))
        return false;
    const struct json *mine = have->items;
    json_each_item(want, item)
    {
        if (!has(mine++, item))
            return false;
    }
    return true;
}

/* Whether nobody has written what a CustomResourceDefinition is about since the seed did. */
static bool is_ours(const struct json *crd)
{
    const struct json *entries = json_get(json_get(crd, S("metadata")), S("managedFields"));
    json_each_item(entries, entry)
    {
        const struct json *spec = json_get(json_get(entry, S("fieldsV1")), S("f:spec"));
        if (str_eq(json_text(json_get(entry, S("manager"))), S(MANAGER)) &&
            str_eq(json_text(json_get(entry, S("operation"))), S("Apply")) && json_get(spec, S("f:versions")))
            return true;
    }
    return false;
}

/* Nothing can be made in a namespace that goes: the next start does it. */
static bool is_closing(struct api *api, struct arena *a, str namespace)
{
    struct json existing;
    const struct kind *kind = kind_builtin_by_path((str){0}, S("v1"), S("namespaces"));
    return namespace.n && value_get(api, a, kind, (str){0}, namespace, &existing, NULL, NULL) == 0 &&
           object_is_deleting(&existing);
}

static void seed_object(struct seed *s, str yaml, bool is_shared)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json wanted = decode_own(&scratch, yaml), existing;
    if (is_namespace(&wanted) || is_closing(s->api, &scratch, object_namespace(&wanted)))
        return;
    const struct kind *kind = kind_builtin_by_body(object_api_version(&wanted), object_kind(&wanted));
    str namespace = object_namespace(&wanted), name = object_name(&wanted);
    if (value_get(s->api, &scratch, kind, namespace, name, &existing, NULL, NULL) == 0 &&
        (has(&existing, &wanted) || (is_shared && !is_ours(&existing))))
        return;
    str target = str_fmt(&scratch, "%.*s?fieldManager=" MANAGER "&force=true", STR(path_of(&scratch, kind, &wanted)));
    send(s,
         (struct loopback_call){
             .method = S("PATCH"), .target = target, .content_type = S("application/apply-patch+yaml"), .body = yaml});
}

static void seed_own(struct seed *s)
{
    for (size_t i = 0; i < s->api->options.n_own; i++)
        seed_object(s, s->api->options.own[i], false);
    for (size_t i = 0; i < s->api->options.n_shared; i++)
        seed_object(s, s->api->options.shared[i], true);
}

/* ---- Default roles and bindings. ---- */

static void seed_role(struct seed *s, const struct json *wanted)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct kind *kind = kind_builtin_by_body(object_api_version(wanted), object_kind(wanted));
    struct json existing;
    bool is_there =
        value_get(s->api, &scratch, kind, object_namespace(wanted), object_name(wanted), &existing, NULL, NULL) == 0;
    struct bootstrap_step step = bootstrap_reconcile(&scratch, is_there ? &existing : NULL, wanted, 0);
    if (step.is_protected || step.action == BOOTSTRAP_KEEP)
        return;
    if (step.action == BOOTSTRAP_RECREATE)
        call(s, S("DELETE"), path_of(&scratch, kind, wanted), NULL);
    if (step.action == BOOTSTRAP_UPDATE)
        call(s, S("PUT"), path_of(&scratch, kind, wanted), &step.object);
    else if (step.action == BOOTSTRAP_CREATE)
        call(s, S("POST"), collection_of(&scratch, kind, wanted), &step.object);
}

static void seed_roles_again(struct seed *s);

static void seed_roles(struct seed *s)
{
    s->next = seed_roles_again;
    seed_authentication(s);
    seed_priorities(s);
    for (size_t i = 0; i < bootstrap_count(); i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json wanted = bootstrap_object(&scratch, i);
        seed_role(s, &wanted);
    }
}

/* A second look makes what the first one had to delete (a roleRef cannot change), and is nothing otherwise. */
static void seed_roles_again(struct seed *s)
{
    s->next = seed_own;
    for (size_t i = 0; i < bootstrap_count(); i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json wanted = bootstrap_object(&scratch, i);
        const struct kind *kind = kind_builtin_by_body(object_api_version(&wanted), object_kind(&wanted));
        struct store_item item;
        if (store_get(s->api->store, api_table(s->api, kind), object_namespace(&wanted), object_name(&wanted), &item,
                      NULL) == ERR_NOT_FOUND)
            seed_role(s, &wanted);
    }
}

static void begin(struct loop_work *w)
{
    struct seed *s = (struct seed *)((char *)w - offsetof(struct seed, start));
    s->was_seeded = exists(s->api, S("namespaces"), (str){0}, S("kube-system"));
    if (!s->is_abandoned)
        seed_namespaces(s);
    step_done(s);
}

/* Begins in the next turn of the loop, so that the caller has its api before anything is called back. */
struct seed *seed_start(struct api *api, void (*done)(struct api *api, const struct err *err))
{
    struct seed *s = xcalloc(1, sizeof *s);
    *s = (struct seed){.start = {.fn = begin}, .api = api, .done = done, .waiting = 1, .next = seed_roles};
    loop_defer(api->options.loop, &s->start);
    return s;
}

/* The calls at work still answer; the last one frees it. */
void seed_free(struct seed *s)
{
    if (s)
        s->is_abandoned = true;
}
