/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/questions.h"

#include "authz/validate.h"
#include "kinds/builtin.h"
#include "object/object.h"

static bool load(struct case_file *c, const struct case_section *given, struct authz_index *ix, json_vec *objects)
{
    struct err err = {0};
    int code = yaml_decode_all(c->arena, given->text, NULL, objects, &err);
    for (size_t i = 0; code == 0 && i < objects->n; i++) {
        struct json *object = &objects->p[i];
        if (!json_get(object, S("apiVersion")))
            json_set(c->arena, object, S("apiVersion"), json_str(S("rbac.authorization.k8s.io/v1")));
        rbac_default(c->arena, kind_builtin_by_body(object_api_version(object), object_kind(object)), object);
        code = authz_index_put(ix, object, &err);
    }
    if (code < 0)
        case_fail(c, given, "%s", err.msg);
    return code == 0;
}

static void ask_part(struct case_file *c, const struct case_section *when, str whole, struct authz_index *part,
                     questions_answer *answer)
{
    str text = part ? answer(c, part, when) : whole;
    if (!str_eq(text, whole))
        case_fail(c, when, "of what matters alone:\n%.*s", STR(text));
    authz_index_free(part);
}

void questions_run(struct case_file *c, questions_answer *answer, questions_part *part)
{
    const struct case_section *given = case_find(c, NULL, S("given")), *when = given;
    struct authz_index *ix = authz_index_new();
    json_vec objects = {0};
    if (!given)
        case_fail(c, NULL, "nothing is given");
    else if (load(c, given, ix, &objects)) {
        while ((when = case_find(c, when, S("when")))) {
            const struct case_section *expect = case_find(c, when, S("expect"));
            if (!expect) {
                case_fail(c, when, "nothing is expected");
                continue;
            }
            str text = answer(c, ix, when);
            case_expect(c, expect, text);
            if (part)
                ask_part(c, when, text, part(c, &objects, when), answer);
        }
    }
    authz_index_free(ix);
}
