/* SPDX-License-Identifier: Apache-2.0 */
/* Security contexts that satisfy Pod Security "restricted". Of the author's the settings of the tables below are kept, and only with
 * values that are at least as strict; what asks for more than that was refused by package_check_pod, and the rest is left out. */
#include "package/pod.h"

enum keep_type {
    KEEP_POSITIVE, /* an id that is not root's */
    KEEP_TRUE,
    KEEP_TEXT,    /* .value */
    KEEP_PROFILE, /* a record whose type is RuntimeDefault, or .value with its localhostProfile */
};

struct keep_rule {
    const char *name;
    enum keep_type type;
    const char *value;
};

static const struct keep_rule of_pod[] = {
    {"appArmorProfile", KEEP_PROFILE, NULL},
    {"fsGroup", KEEP_POSITIVE, NULL},
    {"fsGroupChangePolicy", KEEP_TEXT, NULL},
    {"runAsGroup", KEEP_POSITIVE, NULL},
    {"runAsUser", KEEP_POSITIVE, NULL},
    {"seccompProfile", KEEP_PROFILE, "Localhost"},
    {"supplementalGroupsPolicy", KEEP_TEXT, "Strict"},
};

static const struct keep_rule of_container[] = {
    {"appArmorProfile", KEEP_PROFILE, NULL},       {"readOnlyRootFilesystem", KEEP_TRUE, NULL},
    {"runAsGroup", KEEP_POSITIVE, NULL},           {"runAsUser", KEEP_POSITIVE, NULL},
    {"seccompProfile", KEEP_PROFILE, "Localhost"},
};

static bool is_strict(const struct keep_rule *rule, const struct json *v)
{
    int64_t n;
    str type = json_get_text(v, S("type"));
    switch (rule->type) {
    case KEEP_POSITIVE:
        return json_to_int(v, &n) && n > 0;
    case KEEP_TRUE:
        return json_true(v);
    case KEEP_TEXT:
        return json_is_str(v) && (!rule->value || str_eq(json_text(v), str_of(rule->value)));
    case KEEP_PROFILE:
        return str_eq(type, S("RuntimeDefault")) || (rule->value && str_eq(type, str_of(rule->value)));
    }
    return false;
}

static void keep_strict(struct arena *a, const struct json *author, const struct keep_rule *rules, size_t n,
                        struct json *context)
{
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(author, str_of(rules[i].name));
        if (is_strict(&rules[i], v))
            json_set(a, context, str_of(rules[i].name), *v);
    }
}

struct json package_pod_security(struct arena *a, const struct json *author)
{
    struct json context = json_obj(), profile = json_obj();
    json_add(a, &profile, S("type"), json_str(S("RuntimeDefault")));
    json_add(a, &context, S("runAsNonRoot"), json_bool(true));
    json_add(a, &context, S("seccompProfile"), profile);
    keep_strict(a, author, of_pod, COUNT(of_pod), &context);
    return context;
}

struct json package_container_security(struct arena *a, const struct json *author)
{
    struct json context = json_obj(), capabilities = json_obj(), all = json_arr();
    json_push(a, &all, json_str(S("ALL")));
    json_add(a, &capabilities, S("drop"), all);
    json_add(a, &context, S("allowPrivilegeEscalation"), json_bool(false));
    json_add(a, &context, S("capabilities"), capabilities);
    json_add(a, &context, S("privileged"), json_bool(false));
    json_add(a, &context, S("runAsNonRoot"), json_bool(true));
    keep_strict(a, author, of_container, COUNT(of_container), &context);
    return context;
}
