/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, an object or a list of objects, each of which is taken for each kind of RBAC in turn: defaulted, validated,
 * indexed, explained and checked for escalation, whatever it is.
 * Defaulting twice is the same as once; validating changes nothing and says the same twice; what decoding and validation
 * accept, the index takes.
 */
#include "authz/escalation.h"
#include "authz/explain.h"
#include "authz/validate.h"
#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_OBJECTS = 20 };

static const str some_groups[] = {S_INIT("devs"), S_INIT("system:authenticated")};
static const struct authz_identity bob = {.user = S_INIT("bob"), .groups = {some_groups, 2}};
static const struct authz_attributes questions[] = {
    {.is_resource = true, .verb = S_INIT("get"), .resource = S_INIT("pods"), .namespace = S_INIT("ns")},
    {.is_resource = true, .verb = S_INIT("list"), .group = S_INIT("apps"), .resource = S_INIT("deployments")},
    {.verb = S_INIT("get"), .path = S_INIT("/metrics/")},
};

static str errors_of(struct arena *a, const struct kind *kind, const struct json *object, const struct json *current)
{
    struct field_errors errs = {.arena = a};
    struct buf b = {.arena = a};
    if (current)
        rbac_validate_update(&errs, kind, object, current);
    else
        rbac_validate(&errs, kind, object);
    field_errors_format(&b, &errs);
    return buf_str(&b);
}

static void check_form(struct arena *a, const struct kind *kind, struct json *object)
{
    rbac_default(a, kind, object);
    struct json once = json_dup(a, object);
    rbac_default(a, kind, object);
    assert(json_equal(object, &once));
    str first = errors_of(a, kind, object, NULL);
    assert(str_eq(first, errors_of(a, kind, object, NULL)));
    assert(json_equal(object, &once));
    if (rbac_kind_of(kind) == AUTHZ_ROLE || first.n == 0)
        assert(str_eq(first, errors_of(a, kind, object, object)));
    assert(!json_is_obj(object) || escalation_is_only_gc(object, &once));
}

static void check_escalation(struct arena *a, const struct authz_index *ix, const struct kind *kind,
                             const struct json *object)
{
    struct escalation_write write = {
        .kind = kind, .namespace = kind->namespaced ? S("ns") : (str){0}, .object = object};
    struct authz_identity master = {.user = S("root"), .groups = {&AUTHZ_MASTERS, 1}}, nobody = {0};
    struct json status = {0};
    int rc = escalation_check(a, ix, &bob, &write, &status);
    assert((rc == 0) == json_is_null(&status));
    assert(escalation_check(a, ix, &master, &write, &status) == 0);
    assert(escalation_check(a, ix, &nobody, &write, &status) == ERR_FORBIDDEN);
}

/* As the server would take it: by shape, with a name, and valid. */
static bool is_acceptable(struct arena *a, const struct kind *kind, struct json *object)
{
    struct err err;
    struct field_errors errs = {.arena = a};
    if (!json_is_obj(object) || strict_decode(a, kind->shape, object, NULL, NULL, &err) < 0)
        return false;
    rbac_default(a, kind, object);
    meta_validate(&errs, kind, object);
    rbac_validate(&errs, kind, object);
    return errs.list.n == 0;
}

static void check_object(struct arena *a, struct authz_index *ix, const struct json *given)
{
    for (size_t i = 0; i < kind_builtin_count(); i++) {
        const struct kind *kind = kind_builtin(i);
        struct json object = json_dup(a, given), decoded = json_dup(a, given);
        struct err err;
        if (rbac_kind_of(kind) == AUTHZ_UNKNOWN)
            continue;
        if (json_is_obj(&object)) {
            json_set(a, &object, S("kind"), json_str(str_of(kind->kind)));
            json_set(a, &decoded, S("kind"), json_str(str_of(kind->kind)));
            json_set(a, &object, S("apiVersion"), json_str(S("rbac.authorization.k8s.io/v1")));
            json_set(a, &decoded, S("apiVersion"), json_str(S("rbac.authorization.k8s.io/v1")));
        }
        check_form(a, kind, &object);
        check_escalation(a, ix, kind, &object);
        int rc = authz_index_put(ix, &object, &err);
        assert(rc == 0 || rc == ERR_INVALID);
        if (is_acceptable(a, kind, &decoded))
            assert(authz_index_put(ix, &decoded, &err) == 0);
    }
}

static void check_questions(struct arena *a, const struct authz_index *ix)
{
    for (size_t i = 0; i < COUNT(questions); i++) {
        struct explanation e = explain_request(a, ix, &bob, &questions[i]);
        struct explain_holders holders = explain_who_can(a, ix, &questions[i], false);
        struct buf b = {.arena = a};
        assert(e.decision.allowed == authz_check(ix, &bob, &questions[i], NULL).allowed);
        assert(e.decision.allowed == (e.n_paths > 0));
        assert(holders.n > 0 && (e.n_paths == 0 || holders.n > 1));
        explanation_format(&b, &e);
        explain_holders_format(&b, &questions[i], &holders);
        assert(b.n > 0);
    }
    explain_rules_for(a, ix, &bob, S("ns"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v;
    struct err err;
    if (json_decode(&a, (str){(const char *)data, size}, NULL, NULL, &v, &err) < 0)
        return 0;
    struct authz_index *ix = authz_index_new();
    if (json_is_arr(&v)) {
        for (size_t i = 0; i < v.n && i < MAX_OBJECTS; i++)
            check_object(&a, ix, &v.items[i]);
    } else {
        check_object(&a, ix, &v);
    }
    check_questions(&a, ix);
    authz_index_free(ix);
    return 0;
}
