/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of pods: where they come from is one of many sources. */
#include "object/strategies/pod.h"

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
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (str_eq(name, str_of(texts[i].source)))
            default_str(a, source, str_of(texts[i].field), str_of(texts[i].value));
    }
    for (size_t i = 0; i < sizeof with_mode / sizeof with_mode[0]; i++) {
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
