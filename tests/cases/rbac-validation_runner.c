/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a Role, ClusterRole, RoleBinding or ClusterRoleBinding that somebody creates, as YAML. After a "stored" section
 *        it is an update of the object that stands there.
 * expect: "accepted", or what is wrong with it, one line per field (the causes of the 422).
 * "expect message": the whole sentence of the 422. "expect stored": the object as it is stored, metadata aside.
 */
#include "authz/validate.h"
#include "cases/case.h"
#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/status.h"
#include "json/yaml.h"

struct round {
    const struct kind *kind;
    struct json stored, given;
    struct field_errors errs;
};

static bool read_object(struct case_file *c, const struct case_section *at, struct round *r, struct json *ret)
{
    struct err err = {0};
    if (yaml_decode(c->arena, at->text, NULL, NULL, ret, &err) < 0) {
        case_fail(c, at, "%s", err.msg);
        return false;
    }
    r->kind = kind_builtin_by_body(object_api_version(ret), object_kind(ret));
    if (rbac_kind_of(r->kind) == AUTHZ_UNKNOWN || strict_decode(c->arena, r->kind->shape, ret, NULL, NULL, &err) < 0) {
        case_fail(c, at, "not an object of RBAC: %s", err.msg);
        return false;
    }
    rbac_default(c->arena, r->kind, ret);
    return true;
}

static bool judge(struct case_file *c, const struct case_section *stored, const struct case_section *given,
                  struct round *r)
{
    r->errs = (struct field_errors){.arena = c->arena};
    if (stored && !read_object(c, stored, r, &r->stored))
        return false;
    if (!read_object(c, given, r, &r->given))
        return false;
    if (stored) {
        json_set(c->arena, meta_of(c->arena, &r->stored), S("resourceVersion"), json_str(S("1")));
        json_set(c->arena, meta_of(c->arena, &r->given), S("resourceVersion"), json_str(S("1")));
        meta_prepare_update(c->arena, r->kind, &r->given, &r->stored);
        meta_validate_update(&r->errs, r->kind, &r->given, &r->stored);
        rbac_validate_update(&r->errs, r->kind, &r->given, &r->stored);
    } else {
        meta_validate(&r->errs, r->kind, &r->given);
        rbac_validate(&r->errs, r->kind, &r->given);
    }
    return true;
}

static str answer(struct case_file *c, const struct case_section *expect, struct round *r)
{
    struct buf out = {.arena = c->arena};
    if (case_has_arg(expect, S("stored"))) {
        json_remove(&r->given, S("metadata"));
        yaml_encode(&out, &r->given);
    } else if (r->errs.list.n == 0) {
        buf_add_str(&out, S("accepted"));
    } else if (case_has_arg(expect, S("message"))) {
        struct status_subject about = {str_of(r->kind->group), str_of(r->kind->kind), object_name(&r->given)};
        struct json status = status_invalid(c->arena, about, &r->errs);
        buf_add_str(&out, json_get_text(&status, S("message")));
    } else {
        vec_each(&r->errs.list, e)
        {
            field_error_format(&out, e);
            buf_add_char(&out, '\n');
        }
    }
    return buf_str(&out);
}

static void run(struct case_file *c)
{
    const struct case_section *stored = NULL;
    struct round r = {0};
    for (size_t i = 0; i < c->sections.n; i++) {
        const struct case_section *s = &c->sections.p[i];
        if (str_eq(s->name, S("stored"))) {
            stored = s;
        } else if (str_eq(s->name, S("given"))) {
            if (!judge(c, stored, s, &r))
                return;
            stored = NULL;
        } else if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, answer(c, s, &r));
        } else {
            case_fail(c, s, "no such section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
