/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of pods: where they come from is one of many sources. */
#include "kinds/strategy_pod.h"

/* ---- Filling in. ---- */

static const struct {
    const char *source, *field, *value;
} texts[] = {
    {"iscsi", "iscsiInterface", "default"},
    {"rbd", "pool", "rbd"},
    {"rbd", "user", "admin"},
    {"rbd", "keyring", "/etc/ceph/keyring"},
    {"azureDisk", "cachingMode", "ReadWrite"},
    {"azureDisk", "fsType", "ext4"},
    {"azureDisk", "kind", "Shared"},
    {"scaleIO", "storageMode", "ThinProvisioned"},
    {"scaleIO", "fsType", "xfs"},
};

static void fill_source(struct arena *a, str name, struct json *source)
{
    static const char *const with_mode[] = {"secret", "configMap", "downwardAPI", "projected"};
    enum { MODE = 0644 };
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (str_eq(name, str_of(texts[i].source)))
            default_str(a, source, str_of(texts[i].field), str_of(texts[i].value));
    }
    for (size_t i = 0; i < COUNT(with_mode); i++) {
        if (str_eq(name, str_of(with_mode[i])))
            default_int(a, source, S("defaultMode"), MODE);
    }
    if (str_eq(name, S("azureDisk")))
        default_bool(a, source, S("readOnly"), false);
    if (str_eq(name, S("hostPath")) && json_is_null(json_get(source, S("type"))))
        json_set(a, source, S("type"), json_str((str){0}));
    if (str_eq(name, S("downwardAPI")))
        json_each_item_mut(json_get_mut(source, S("items")), it) pod_fill_field_ref(a, it);
}

static void fill_projection(struct arena *a, struct json *projection)
{
    struct json *token = json_get_mut(projection, S("serviceAccountToken"));
    if (json_is_obj(token))
        default_int(a, token, S("expirationSeconds"), 3600);
    struct json *downward = json_get_mut(projection, S("downwardAPI"));
    json_each_item_mut(json_get_mut(downward, S("items")), it) pod_fill_field_ref(a, it);
}

void pod_fill_claim_spec(struct arena *a, struct json *spec)
{
    if (json_is_obj(spec))
        default_str(a, spec, S("volumeMode"), S("Filesystem"));
}

void pod_fill_volume(struct arena *a, struct json *volume)
{
    bool has_source = false;
    for (size_t i = 0; i < json_len(volume); i++) {
        struct json_member *m = &volume->members[i];
        if (str_eq(json_key(m), S("name")) || m->val.type != JSON_OBJ)
            continue;
        has_source = true;
        fill_source(a, json_key(m), &m->val);
    }
    if (json_is_obj(volume) && !has_source)
        json_set(a, volume, S("emptyDir"), json_obj());
    json_each_item_mut(json_get_mut(json_get_mut(volume, S("projected")), S("sources")), it) fill_projection(a, it);
    struct json *claim = json_get_mut(json_get_mut(volume, S("ephemeral")), S("volumeClaimTemplate"));
    if (json_is_obj(claim))
        pod_fill_claim_spec(a, make_obj(a, claim, S("spec")));
}

/* ---- Checking. ---- */

void pod_check_no_backsteps(struct field_errors *errs, const struct place *at, str path)
{
    str rest = path, step;
    bool more = true;
    while (more) {
        more = str_cut(rest, '/', &step, &rest);
        if (!more)
            step = rest;
        if (str_eq(step, S(".."))) {
            check_invalid_text(errs, at, path, "must not contain '..'");
            return;
        }
    }
}

static void check_mode(struct field_errors *errs, const struct place *at, const struct json *mode)
{
    if (!json_is_null(mode) && (int_of(mode) < 0 || int_of(mode) > 0777))
        check_invalid(errs, at, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

/* Keys that become files. */
static void check_items(struct field_errors *errs, const struct place *at, const struct json *source)
{
    const struct json *items = json_get(source, S("items"));
    check_mode(errs, AT(at, "defaultMode"), json_get(source, S("defaultMode")));
    json_each_item(items, it)
    {
        const struct place *here = AT_ITEM(AT(at, "items"), (size_t)(it - items->items));
        str path = json_get_text(it, S("path"));
        if (json_get_text(it, S("key")).n == 0)
            check_required(errs, AT(here, "key"), "");
        if (path.n == 0)
            check_required(errs, AT(here, "path"), "");
        if (path.n && path.p[0] == '/')
            check_invalid_text(errs, AT(here, "path"), path, "must be a relative path");
        pod_check_no_backsteps(errs, AT(here, "path"), path);
        if (str_has_prefix(path, S("..")) && !str_has_prefix(path, S("../")))
            check_invalid_text(errs, AT(here, "path"), path, "must not start with '..'");
        check_mode(errs, AT(here, "mode"), json_get(it, S("mode")));
    }
}

static void check_source(struct field_errors *errs, const struct place *at, str name, const struct json *source)
{
    static const struct {
        const char *source, *field;
    } needed[] = {
        {"secret", "secretName"}, {"configMap", "name"}, {"persistentVolumeClaim", "claimName"},
        {"hostPath", "path"},     {"csi", "driver"},
    };
    for (size_t i = 0; i < COUNT(needed); i++) {
        str field = str_of(needed[i].field);
        if (str_eq(name, str_of(needed[i].source)) && json_get_text(source, field).n == 0)
            check_required(errs, AT_FIELD(at, field), "");
    }
    if (str_eq(name, S("hostPath")))
        pod_check_no_backsteps(errs, AT(at, "path"), json_get_text(source, S("path")));
    if (is_choice(name, "secret configMap"))
        check_items(errs, at, source);
    if (str_eq(name, S("nfs")) && json_get_text(source, S("server")).n == 0)
        check_required(errs, AT(at, "server"), "");
    if (str_eq(name, S("nfs")) && json_get_text(source, S("path")).n == 0)
        check_required(errs, AT(at, "path"), "");
    if (str_eq(name, S("nfs")) && json_get_text(source, S("path")).n && json_get_text(source, S("path")).p[0] != '/')
        check_invalid_text(errs, AT(at, "path"), json_get_text(source, S("path")), "must be an absolute path");
}

static void check_volume(struct field_errors *errs, const struct place *at, const struct json *volume)
{
    bool has_source = json_is_obj(json_get(volume, S("emptyDir"))); /* it goes first, whatever else there is */
    json_each_member(volume, m)
    {
        if (m->val.type != JSON_OBJ || str_eq(json_key(m), S("emptyDir")))
            continue;
        if (has_source)
            check_forbidden(errs, AT_FIELD(at, json_key(m)), "may not specify more than 1 volume type");
        else
            check_source(errs, AT_FIELD(at, json_key(m)), json_key(m), &m->val);
        has_source = true;
    }
    str name = json_get_text(volume, S("name"));
    if (name.n == 0)
        check_required(errs, AT(at, "name"), "");
    else
        check_name(errs, AT(at, "name"), NAME_DNS_LABEL, name);
}

void pod_check_volumes(struct field_errors *errs, const struct place *at, const struct json *volumes,
                       struct map *ret_names)
{
    static char known;
    json_each_item(volumes, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - volumes->items));
        size_t faults = errs->list.n + errs->dropped;
        str name = json_get_text(it, S("name"));
        check_volume(errs, here, it);
        if (map_get(ret_names, name))
            check_duplicate(errs, AT(here, "name"), name);
        if (errs->list.n + errs->dropped == faults)
            map_set(ret_names, name, &known);
    }
}
