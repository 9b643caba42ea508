/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that approvals rely on are compared with those of deploy/approval: what would let an approval pass that they refuse is found. */
#include "controllers/policy.h"

#include "json/yaml.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* As a server has them, with its defaults. */
static void read_live(struct arena *a, enum policy_file file, json_vec *ret)
{
    assert_int_equal(yaml_decode_all(a, policy_files[file], NULL, ret, NULL), 0);
    assert_int_equal(ret->n, 2);
    struct json *match = json_get_mut(json_get_mut(&ret->p[0], S("spec")), S("matchConstraints"));
    json_set(a, match, S("namespaceSelector"), json_obj());
    json_set(a, match, S("objectSelector"), json_obj());
    json_set(a, json_get_mut(&ret->p[0], S("metadata")), S("uid"), json_str(S("1")));
}

static void takes_what_this_release_brings(void **state)
{
    (void)state;
    for (size_t file = 0; file < policy_files_n; file++) {
        struct arena a ARENA_SCOPE = {0};
        json_vec live = {0};
        read_live(&a, (enum policy_file)file, &live);
        assert_int_equal(policy_compare(&a, (enum policy_file)file, &live.p[0], &live.p[1]).n, 0);
    }
}

static void finds_what_is_missing(void **state)
{
    (void)state;
    struct arena a ARENA_SCOPE = {0};
    struct json none = json_null();
    json_vec live = {0};
    read_live(&a, POLICY_PERMISSIONS, &live);
    str text = policy_compare(&a, POLICY_PERMISSIONS, &none, &live.p[1]);
    assert_true(str_eq(text, S("ValidatingAdmissionPolicy \"approval.reeve.dev\" is missing")));
    text = policy_compare(&a, POLICY_PERMISSIONS, &live.p[0], &none);
    assert_true(str_eq(text, S("ValidatingAdmissionPolicyBinding \"approval.reeve.dev\" is missing")));
}

static void finds_what_is_weaker(void **state)
{
    static const struct {
        size_t document;
        const char *member; /* of spec */
        const char *value;
    } rows[] = {
        {0, "failurePolicy", "Ignore"},
        {0, "validations", "[]"},
        {0, "variables", "[]"},
        {0, "matchConditions", "[{name: never, expression: 'false'}]"},
        {0, "matchConstraints", "{resourceRules: []}"},
        {1, "validationActions", "[Audit]"},
        {1, "validationActions", "[]"},
        {1, "policyName", "other"},
        {1, "matchResources", "{namespaceSelector: {matchLabels: {a: b}}}"},
        {1, "paramRef", "{name: x}"},
    };
    (void)state;
    for (size_t file = 0; file < policy_files_n; file++) {
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct arena a ARENA_SCOPE = {0};
            struct json value;
            json_vec live = {0};
            read_live(&a, (enum policy_file)file, &live);
            assert_int_equal(yaml_decode(&a, str_of(rows[i].value), NULL, NULL, &value, NULL), 0);
            json_set(&a, json_get_mut(&live.p[rows[i].document], S("spec")), str_of(rows[i].member), value);
            if (policy_compare(&a, (enum policy_file)file, &live.p[0], &live.p[1]).n == 0)
                fail_msg("file %zu: %s: %s passed", file, rows[i].member, rows[i].value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_this_release_brings),
        cmocka_unit_test(finds_what_is_missing),
        cmocka_unit_test(finds_what_is_weaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
