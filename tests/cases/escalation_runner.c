/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: roles and bindings that exist, as YAML documents.
 * "when USER of GROUP,GROUP creates" (or "updates"): the object somebody writes. An update is one of the object of that
 *     name in given, or creates it if it is not there. "_" in a group's name stands for a blank.
 * expect: "allowed", or HTTP code, reason and message of the refusal.
 */
#include "authz/escalation.h"
#include "authz/validate.h"
#include "cases/case.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "object/status.h"
#include "json/yaml.h"

struct cluster {
    struct authz_index *ix;
    json_vec objects;
};

static const struct kind *kind_of(const struct json *object)
{
    return kind_builtin_by_body(object_api_version(object), object_kind(object));
}

static bool load(struct case_file *c, const struct case_section *given, struct cluster *cluster)
{
    struct err err = {0};
    if (yaml_decode_all(c->arena, given->text, NULL, &cluster->objects, &err) < 0) {
        case_fail(c, given, "%s", err.msg);
        return false;
    }
    vec_each(&cluster->objects, object)
    {
        rbac_default(c->arena, kind_of(object), object);
        if (authz_index_put(cluster->ix, object, &err) < 0) {
            case_fail(c, given, "%s", err.msg);
            return false;
        }
    }
    return true;
}

static const struct json *find(const struct cluster *cluster, const struct json *like)
{
    vec_each(&cluster->objects, o)
    {
        if (str_eq(object_kind(o), object_kind(like)) && str_eq(object_name(o), object_name(like)) &&
            str_eq(object_namespace(o), object_namespace(like)))
            return o;
    }
    return NULL;
}

static struct strs groups_of(struct arena *a, str list)
{
    VEC(str) groups = {0};
    for (str name; list.n;) {
        str_cut(list, ',', &name, &list);
        char *text = str_cstr(a, name);
        for (char *p = text; *p; p++)
            *p = *p == '_' ? ' ' : *p;
        *vec_push(a, &groups) = str_of(text);
    }
    return (struct strs){groups.p, groups.n};
}

static str answer(struct case_file *c, const struct cluster *cluster, const struct case_section *when)
{
    struct err err = {0};
    struct json object, status;
    str user, rest, of, groups, verb;
    if (yaml_decode(c->arena, when->text, NULL, NULL, &object, &err) < 0)
        return str_of(str_cstr(c->arena, str_of(err.msg)));
    rbac_default(c->arena, kind_of(&object), &object);
    str_cut(when->args, ' ', &user, &rest);
    str_cut(rest, ' ', &of, &rest);
    str_cut(rest, ' ', &groups, &verb);
    bool update = str_eq(verb, S("updates"));
    struct authz_identity who = {.user = user, .groups = groups_of(c->arena, groups)};
    struct escalation_write write = {
        .kind = kind_of(&object),
        .namespace = object_namespace(&object),
        .name = update ? object_name(&object) : (str){0},
        .object = &object,
        .current = update ? find(cluster, &object) : NULL,
    };
    if (escalation_check(c->arena, cluster->ix, &who, &write, &status) == 0)
        return S("allowed");
    str reason = json_get_text(&status, S("reason"));
    return str_fmt(c->arena, "%d%s%.*s\n%.*s", status_get_http(&status), reason.n ? " " : "", STR(reason),
                   STR(json_get_text(&status, S("message"))));
}

static void run(struct case_file *c)
{
    const struct case_section *given = case_find(c, NULL, S("given")), *when = given;
    struct cluster cluster = {.ix = authz_index_new()};
    if (!given)
        case_fail(c, NULL, "nothing is given");
    else if (load(c, given, &cluster)) {
        while ((when = case_find(c, when, S("when")))) {
            const struct case_section *expect = case_find(c, when, S("expect"));
            if (expect)
                case_expect(c, expect, answer(c, &cluster, when));
            else
                case_fail(c, when, "nothing is expected");
        }
    }
    authz_index_free(cluster.ix);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
