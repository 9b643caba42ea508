/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain_keep.h"

#include "authz/explain_misses.h"
#include "object/object.h"

/* What is known of a role. */
struct known {
    bool allows;                 /* of who-can */
    bool to_people, to_accounts; /* of why: some binding that was kept */
};

void explain_keep_done(struct explain_keep *k)
{
    map_done(&k->roles);
    arena_done(&k->arena);
}

void explain_keep_begin(struct explain_keep *k)
{
    map_done(&k->roles);
    k->roles = (struct map){0};
    arena_reset(&k->arena);
    if (k->who)
        k->prefix = explain_binding_prefix(&k->arena, k->who);
}

static const struct authz_role *role_of(const struct authz_index *ix, const struct json *binding, str namespace)
{
    const struct json *ref = json_get(binding, S("roleRef"));
    enum authz_kind kind = authz_kind_of(json_get_text(ref, S("kind")));
    if (kind != AUTHZ_ROLE && kind != AUTHZ_CLUSTER_ROLE)
        return NULL;
    return authz_get_role(ix, kind, kind == AUTHZ_ROLE ? namespace : (str){0}, json_get_text(ref, S("name")));
}

static struct known *known_of(struct explain_keep *k, const struct authz_role *role)
{
    str key = {(const char *)&role, sizeof role};
    struct known *known = map_get(&k->roles, key);
    if (known)
        return known;
    known = ARENA_NEW(&k->arena, struct known);
    known->allows = explain_allows(role, k->what);
    map_set(&k->roles, str_dup(&k->arena, key), known);
    return known;
}

/* Whether one of the subjects is the asker; and of which kinds they are. */
static bool look_at_subjects(const struct explain_keep *k, const struct json *binding, str namespace,
                             struct known *ret_kinds)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool is_asker = false;
    json_each_item(json_get(binding, S("subjects")), item)
    {
        struct authz_subject subject;
        str acts_as;
        if (!authz_subject_read(&scratch, item, namespace, &subject, &acts_as))
            continue;
        is_asker = is_asker ||
                   (subject.kind == AUTHZ_GROUP ? strs_have(k->who->groups, acts_as) : str_eq(k->who->user, acts_as));
        ret_kinds->to_accounts |= subject.kind == AUTHZ_SERVICE_ACCOUNT;
        ret_kinds->to_people |= subject.kind != AUTHZ_SERVICE_ACCOUNT;
    }
    return is_asker;
}

static bool tells_something_new(struct explain_keep *k, const struct authz_role *role, const struct known *kinds)
{
    if (role == NULL)
        return false;
    struct known *known = known_of(k, role);
    bool is_new = (kinds->to_people && !known->to_people) || (kinds->to_accounts && !known->to_accounts);
    known->to_people |= kinds->to_people;
    known->to_accounts |= kinds->to_accounts;
    return is_new;
}

bool explain_keeps(struct explain_keep *k, const struct authz_index *ix, const struct json *binding)
{
    bool is_wide = str_eq(object_kind(binding), authz_kind_name(AUTHZ_CLUSTER_ROLE_BINDING));
    str namespace = is_wide ? (str){0} : object_namespace(binding);
    const struct authz_role *role = role_of(ix, binding, namespace);
    struct known kinds = {0};
    if (k->who == NULL)
        return role && known_of(k, role)->allows;
    bool is_asker = look_at_subjects(k, binding, namespace, &kinds);
    bool is_new = tells_something_new(k, role, &kinds);
    return is_asker || is_new || str_has_prefix(object_name(binding), k->prefix);
}
