/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "json/base64.h"

/* Secret, ConfigMap, Namespace, ServiceAccount. */

enum { DATA_MAX = 1024 * 1024 };

static const char immutable_text[] = "field is immutable when `immutable` is set";

/* ---- Secrets and ConfigMaps. ---- */

/* Decoded length of a valid base64 text. */
static size_t decoded_size(str text)
{
    size_t n = text.n / 4 * 3;
    for (size_t i = text.n; n && i > 0 && text.p[i - 1] == '='; i--)
        n--;
    return n;
}

static void check_keys(struct field_errors *errs, const struct place *at, const struct json *data)
{
    json_each_member(data, m) check_name(errs, AT_KEY(at, json_key(m)), NAME_CONFIG_KEY, json_key(m));
}

/* Once immutable, always immutable, and so are these. */
static void check_frozen(struct field_errors *errs, const struct json *object, const struct json *current,
                         const char *const *fields)
{
    if (!json_true(json_get(current, S("immutable"))))
        return;
    if (!json_true(json_get(object, S("immutable"))))
        check_forbidden(errs, AT(NULL, "immutable"), immutable_text);
    for (; *fields; fields++) {
        const struct json *now = json_get(object, str_of(*fields)), *before = json_get(current, str_of(*fields));
        if (!(is_unset(now) && is_unset(before)) && !json_equal(now, before))
            check_forbidden(errs, AT_FIELD(NULL, str_of(*fields)), immutable_text);
    }
}

/* stringData wins over data. Both may be wide: neither is searched from end to end for each key. */
static void merge_texts(struct arena *a, struct json *data, const struct json *texts)
{
    struct json_index known JSON_INDEX_SCOPE;
    struct json added = json_obj_sized(a, json_len(texts));
    json_index_init(&known, data);
    json_each_member(texts, m)
    {
        struct json bytes = json_str(base64_encode(a, json_text(&m->val)));
        const struct json_member *old = json_index_find(&known, json_key(m));
        if (old)
            data->members[old - data->members].val = bytes;
        else
            json_add(a, &added, json_key(m), bytes);
    }
    json_each_member(&added, m) json_add(a, data, json_key(m), m->val);
}

static void fill_secret(struct arena *a, struct json *object)
{
    const struct json *sent = json_get(object, S("stringData"));
    struct json texts = sent ? *sent : json_null();
    json_remove(object, S("stringData"));
    if (json_len(&texts))
        merge_texts(a, make_obj(a, object, S("data")), &texts);
    default_str(a, object, S("type"), S("Opaque"));
}

static void need_key(struct field_errors *errs, const struct json *data, str key)
{
    if (json_get(data, key) == NULL)
        check_required(errs, AT_KEY(AT(NULL, "data"), key), "");
}

/* A file of registry credentials: must be there and be a JSON object. */
static void need_json(struct field_errors *errs, const struct json *data, str key)
{
    const struct place *at = AT_KEY(AT(NULL, "data"), key);
    struct arena scratch ARENA_SCOPE = {0};
    struct json parsed;
    struct err err = {0};
    str bytes = {0};
    size_t where;
    if (json_get(data, key) == NULL) {
        check_required(errs, at, "");
        return;
    }
    if (base64_decode(&scratch, json_get_text(data, key), &bytes, &where) < 0 ||
        json_decode(&scratch, bytes, NULL, NULL, &parsed, &err) < 0)
        check_invalid_text(errs, at, S("<secret contents redacted>"), err.msg);
    else if (!json_is_obj(&parsed) && !json_is_null(&parsed))
        check_invalid_text(
            errs, at, S("<secret contents redacted>"),
            str_cstr(&scratch,
                     str_fmt(&scratch, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                             json_is_arr(&parsed)   ? "array"
                             : json_is_str(&parsed) ? "string"
                             : json_is_num(&parsed) ? "number"
                                                    : "bool")));
}

static void check_secret_type(struct field_errors *errs, const struct json *object)
{
    const struct json *data = json_get(object, S("data"));
    str type = json_get_text(object, S("type"));
    if (str_eq(type, S("kubernetes.io/service-account-token"))) {
        str key = S("kubernetes.io/service-account.name");
        if (object_annotation(object, key).n == 0)
            check_required(errs, AT_KEY(AT(AT(NULL, "metadata"), "annotations"), key), "");
    } else if (str_eq(type, S("kubernetes.io/dockercfg"))) {
        need_json(errs, data, S(".dockercfg"));
    } else if (str_eq(type, S("kubernetes.io/dockerconfigjson"))) {
        need_json(errs, data, S(".dockerconfigjson"));
    } else if (str_eq(type, S("kubernetes.io/basic-auth"))) {
        if (json_get(data, S("username")) == NULL && json_get(data, S("password")) == NULL) {
            need_key(errs, data, S("username"));
            need_key(errs, data, S("password"));
        }
    } else if (str_eq(type, S("kubernetes.io/ssh-auth"))) {
        if (json_get_text(data, S("ssh-privatekey")).n == 0)
            check_required(errs, AT_KEY(AT(NULL, "data"), S("ssh-privatekey")), "");
    } else if (str_eq(type, S("kubernetes.io/tls"))) {
        need_key(errs, data, S("tls.crt"));
        need_key(errs, data, S("tls.key"));
    }
}

static void validate_secret(struct field_errors *errs, const struct json *object)
{
    const struct json *data = json_get(object, S("data"));
    size_t size = 0;
    check_keys(errs, AT(NULL, "data"), data);
    json_each_member(data, m) size += decoded_size(json_text(&m->val));
    if (size > DATA_MAX)
        check_too_long(errs, AT(NULL, "data"), DATA_MAX);
    check_secret_type(errs, object);
}

static void validate_secret_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "type"), json_get(object, S("type")), json_get(current, S("type")));
    check_frozen(errs, object, current, (const char *const[]){"data", NULL});
}

static void validate_config_map(struct field_errors *errs, const struct json *object)
{
    const struct json *data = json_get(object, S("data")), *binary = json_get(object, S("binaryData"));
    struct json_index others JSON_INDEX_SCOPE;
    size_t size = 0;
    json_index_init(&others, binary);
    json_each_member(data, m)
    {
        const struct place *at = AT_KEY(AT(NULL, "data"), json_key(m));
        check_name(errs, at, NAME_CONFIG_KEY, json_key(m));
        if (json_index_find(&others, json_key(m)))
            check_invalid_text(errs, at, json_key(m), "duplicate of key present in binaryData");
        size += json_text(&m->val).n;
    }
    check_keys(errs, AT(NULL, "binaryData"), binary);
    json_each_member(binary, m) size += decoded_size(json_text(&m->val));
    if (size > DATA_MAX) /* of the object as a whole, which Kubernetes calls "" */
        check_too_long(errs, AT_KEY(NULL, S("")), DATA_MAX);
}

static void validate_config_map_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_frozen(errs, object, current, (const char *const[]){"data", "binaryData", NULL});
}

/* ---- Namespaces. ---- */

static void fill_namespace(struct arena *a, struct json *object)
{
    struct json *status = make_obj(a, object, S("status"));
    if (json_get_text(status, S("phase")).n == 0)
        json_set(a, status, S("phase"), json_str(S("Active")));
    str name = object_name(object); /* none yet when it is to be generated */
    if (name.n)
        json_set(a, make_obj(a, meta_of(a, object), S("labels")), S("kubernetes.io/metadata.name"), json_str(name));
}

static void prepare_namespace(struct arena *a, struct json *object)
{
    json_set(a, object, S("status"), json_build(a, "{phase: 'Active'}"));
    struct json *list = make_arr(a, make_obj(a, object, S("spec")), S("finalizers"));
    bool has = false;
    json_each_item(list, it) has = has || str_eq(json_text(it), S("kubernetes"));
    if (!has)
        json_push(a, list, json_str(S("kubernetes")));
    fill_namespace(a, object);
}

static void prepare_namespace_update(struct arena *a, struct json *object, const struct json *current)
{
    copy_member(a, make_obj(a, object, S("spec")), json_get(current, S("spec")), S("finalizers"));
    fill_namespace(a, object);
}

static void check_finalizers(struct field_errors *errs, const struct json *object, bool with_index)
{
    const struct place *at = AT(AT(NULL, "spec"), "finalizers");
    const struct json *list = json_dig(object, "spec.finalizers");
    json_each_item(list, it)
    {
        str where = place_format(errs->arena, with_index ? AT_ITEM(at, (size_t)(it - list->items)) : at);
        name_validate(errs, where, NAME_QUALIFIED, json_text(it));
        name_validate_standard_finalizer(errs, where, json_text(it));
        if (field_errors_full(errs))
            return;
    }
}

static void validate_namespace(struct field_errors *errs, const struct json *object)
{
    check_finalizers(errs, object, false);
}

static void validate_namespace_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    str phase = json_text(json_dig(object, "status.phase")), want = S("Active");
    (void)current;
    if (object_is_deleting(object))
        want = S("Terminating");
    if (!str_eq(phase, want))
        check_invalid_text(errs, AT(AT(NULL, "status"), "Phase"), phase,
                           object_is_deleting(object) ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                                                      : "may only be 'Active' if `deletionTimestamp` is empty");
}

void strategy_check_finalize(struct field_errors *errs, const struct json *object)
{
    check_finalizers(errs, object, true);
}

/* ---- ServiceAccounts. ---- */

/* Of the secrets that an account may use, only the names count. */
static void prepare_service_account(struct arena *a, struct json *object)
{
    struct json *secrets = json_get_mut(object, S("secrets"));
    json_each_item_mut(secrets, it)
    {
        str name = json_get_text(it, S("name"));
        *it = json_obj();
        if (name.n)
            json_set(a, it, S("name"), json_str(name));
    }
}

static void prepare_service_account_update(struct arena *a, struct json *object, const struct json *current)
{
    (void)current;
    prepare_service_account(a, object);
}

static void fill_token_request(struct arena *a, struct json *object)
{
    default_int(a, make_obj(a, object, S("spec")), S("expirationSeconds"), 3600);
}

static const struct strategy core_rows[] = {
    {
        .group = "authentication.k8s.io",
        .kind = "TokenRequest",
        .fill = fill_token_request,
    },
    {
        .kind = "ConfigMap",
        .validate = validate_config_map,
        .validate_update = validate_config_map_update,
    },
    {
        .kind = "Namespace",
        .fill = fill_namespace,
        .prepare_create = prepare_namespace,
        .prepare_update = prepare_namespace_update,
        .validate = validate_namespace,
        .validate_status = validate_namespace_status,
        .keeps_its_old_faults = true,
    },
    {
        .kind = "Secret",
        .fill = fill_secret,
        .validate = validate_secret,
        .validate_update = validate_secret_update,
    },
    {
        .kind = "ServiceAccount",
        .prepare_create = prepare_service_account,
        .prepare_update = prepare_service_account_update,
    },
};
STRATEGIES(strategies_core, core_rows);

/* Events: of the core group, where they are kept, and of events.k8s.io, which has other names for the same fields. */

static const struct {
    const char *core, *events;
} names[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static void rename_member(struct json_member *m, bool to_core)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        str from = str_of(to_core ? names[i].events : names[i].core);
        str to = str_of(to_core ? names[i].core : names[i].events);
        if (!str_eq(json_key(m), from))
            continue;
        m->key = to.p;
        m->key_n = (uint32_t)to.n;
        m->hash = json_hash(to);
        return;
    }
}

void event_convert(struct json *object, bool to_core)
{
    for (size_t i = 0; i < json_len(object); i++)
        rename_member(&object->members[i], to_core);
}

/* ---- Checking. Errors name the fields of the core group, for both views. ---- */

/* An event is about something in its own namespace; without one it is in default. */
static void check_namespace(struct field_errors *errs, const struct json *object, str about, bool is_new)
{
    str mine = object_namespace(object);
    bool fits = str_eq(about, mine);
    if (about.n == 0)
        fits = mine.n == 0 || str_eq(mine, S("default")) || (is_new && str_eq(mine, S("kube-system")));
    else if (is_new)
        fits = true;
    if (!fits)
        check_invalid_text(errs, AT(AT(NULL, "involvedObject"), "namespace"), about, "does not match event.namespace");
}

static void check_length(struct field_errors *errs, const char *field, str text, bool is_needed, size_t max)
{
    if (is_needed && text.n == 0)
        check_required(errs, AT_FIELD(NULL, str_of(field)), "");
    if (text.n > max)
        check_invalid_text(errs, AT_FIELD(NULL, str_of(field)), (str){0},
                           str_cstr(errs->arena, str_fmt(errs->arena, "can have at most %zu characters", max)));
}

static void check_event(struct field_errors *errs, const struct json *object, bool is_core)
{
    str about = json_get_text(json_get(object, is_core ? S("involvedObject") : S("regarding")), S("namespace"));
    const char *reporter = is_core ? "reportingComponent" : "reportingController";
    str who = json_get_text(object, str_of(reporter));
    bool is_new = !json_is_null(json_get(object, S("eventTime")));
    check_namespace(errs, object, about, is_new);
    if (!is_new)
        return;
    if (who.n == 0)
        check_required(errs, AT_FIELD(NULL, str_of(reporter)), "");
    check_name(errs, AT_FIELD(NULL, str_of(reporter)), NAME_QUALIFIED, who);
    check_length(errs, "reportingInstance", json_get_text(object, S("reportingInstance")), true, 128);
    check_length(errs, "action", json_get_text(object, S("action")), true, 128);
    check_length(errs, "reason", json_get_text(object, S("reason")), true, 128);
    check_length(errs, "message", json_get_text(object, is_core ? S("message") : S("note")), false, 1024);
}

static void validate_core_event(struct field_errors *errs, const struct json *object)
{
    check_event(errs, object, true);
}

static void validate_event(struct field_errors *errs, const struct json *object)
{
    static const char *const old[][2] = {{"deprecatedFirstTimestamp", "firstTimestamp"},
                                         {"deprecatedLastTimestamp", "lastTimestamp"},
                                         {"deprecatedCount", "count"}};
    str type = json_get_text(object, S("type"));
    check_event(errs, object, false);
    if (json_is_null(json_get(object, S("eventTime"))))
        check_required(errs, AT(NULL, "eventTime"), "");
    if (!is_choice(type, "Normal Warning"))
        check_invalid_text(errs, AT(NULL, "type"), (str){0},
                           str_cstr(errs->arena, str_fmt(errs->arena, "has invalid value: %.*s", STR(type))));
    for (size_t i = 0; i < COUNT(old); i++) {
        if (!json_is_null(json_get(object, str_of(old[i][0]))))
            check_invalid_text(errs, AT_FIELD(NULL, str_of(old[i][1])), (str){0}, "needs to be unset");
    }
    if (json_len(json_get(object, S("deprecatedSource"))))
        check_invalid_text(errs, AT(NULL, "source"), (str){0}, "needs to be unset");
}

static void validate_event_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const fixed[][2] = {{"reason", "reason"},
                                           {"note", "message"},
                                           {"type", "type"},
                                           {"action", "action"},
                                           {"reportingController", "reportingController"},
                                           {"reportingInstance", "reportingInstance"}};
    check_event(errs, object, false);
    for (size_t i = 0; i < COUNT(fixed); i++)
        check_immutable(errs, AT_FIELD(NULL, str_of(fixed[i][1])), json_get(object, str_of(fixed[i][0])),
                        json_get(current, str_of(fixed[i][0])));
}

static const struct strategy event_rows[] = {
    {
        .kind = "Event",
        .validate = validate_core_event,
    },
    {
        .group = "events.k8s.io",
        .kind = "Event",
        .validate = validate_event,
        .validate_update = validate_event_update,
        .keeps_its_old_faults = true,
    },
};
STRATEGIES(strategies_event, event_rows);
