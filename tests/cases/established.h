/* SPDX-License-Identifier: Apache-2.0 */
/* What: CustomResourceDefinitions for case files: as users write them, made as the server would have them a moment later.
 * Owns: nothing; trees live in the case's arena.
 * Threads: one.
 * Errors: a text that is not YAML fails the case. */
#pragma once

#include "cases/case.h"
#include "kinds/registry.h"
#include "schema/crd.h"
#include "json/yaml.h"

/* Decodes, defaults, accepts the names, establishes; then tells the registry. Conditions that the text has itself stay. */
static inline struct json established(struct case_file *c, const struct case_section *s, struct registry *r)
{
    struct json crd = {0}, names;
    struct err err;
    struct condition accepted;
    if (yaml_decode(c->arena, s->text, NULL, NULL, &crd, &err) < 0 || !json_is_obj(&crd)) {
        case_fail(c, s, "not a CustomResourceDefinition");
        return json_null();
    }
    crd_default(c->arena, &crd);
    registry_accept_names(c->arena, r, &crd, &names, &accepted);
    struct condition is_established = {.type = S("Established"), .status = S("True")};
    struct json *conditions = conditions_of(c->arena, &crd);
    if (!condition_find(conditions, S("Established")))
        condition_set(c->arena, conditions, &is_established, &clock_system);
    json_set(c->arena, json_get_mut(&crd, S("status")), S("acceptedNames"), names);
    if (registry_put_crd(r, &crd, &err) < 0)
        case_fail(c, s, "%s", err.msg);
    return crd;
}
