/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object/conditions.h"
#include "object/fleet.h"
#include "patch/json_patch.h"

static const struct client_resource kinds[] = {
    CLIENT_RESOURCE(FLEET_PERMISSIONS), CLIENT_RESOURCE(FLEET_WORKS),    CLIENT_RESOURCE(FLEET_APPLIED),
    CLIENT_RESOURCE(FLEET_CLUSTERS),    CLIENT_RESOURCE(FLEET_ACCOUNTS), CLIENT_RESOURCE(FLEET_ADDONS),
};

void fleet_kinds(struct fake *fake)
{
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const struct client_resource *k = &kinds[i];
        str names =
            str_fmt(&a, "{\"plural\":\"%.*s\",\"singular\":\"%.*s\",\"kind\":\"%.*s\",\"listKind\":\"%.*sList\"}",
                    STR(k->plural), STR(str_lower(&a, k->kind)), STR(k->kind), STR(k->kind));
        str text = str_fmt(
            &a,
            "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
            "\"%.*s.%.*s\"},\"spec\":{\"group\":\"%.*s\",\"scope\":\"%s\",\"names\":%.*s,\"versions\":[{\"name\":\"%.*s\","
            "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":"
            "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]},\"status\":{\"acceptedNames\":%.*s,"
            "\"storedVersions\":[\"%.*s\"],\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\"},{\"type\":"
            "\"Established\",\"status\":\"True\"}]}}",
            STR(k->plural), STR(k->group), STR(k->group), k->namespaced ? "Namespaced" : "Cluster", STR(names),
            STR(k->version), STR(names), STR(k->version));
        fake_put(fake, str_cstr(&a, text));
    }
}

void fleet_patch(struct fake *fake, const char *path, const char *patch)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    struct json object, change;
    assert_true(fake_get(fake, &a, path, &object));
    assert_int_equal(json_decode(&a, str_of(patch), NULL, NULL, &change, NULL), 0);
    object = json_merge_patch(&a, &object, &change);
    json_encode(&text, &object, 0);
    fake_put(fake, str_cstr(&a, buf_str(&text)));
}

str fleet_condition(struct fake *fake, struct arena *a, const char *path, const char *type)
{
    struct json object;
    if (!fake_get(fake, a, path, &object))
        return (str){0};
    return json_get_text(condition_find(json_dig(&object, "status.conditions"), str_of(type)), S("status"));
}
