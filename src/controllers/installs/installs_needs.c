/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/installs/installs_needs.h"

#include "controllers/access.h"
#include "controllers/installs/installs_status.h"
#include "object/object.h"
#include "oci/digest.h"

#include <stdarg.h>

enum { ID_HASH = 16 }; /* hexadecimal digits */

void needs_add(struct visit *v, struct rules access, const char *format, ...)
{
    struct buf text = {.arena = v->a};
    va_list args;
    va_start(args, format);
    buf_vfmt(&text, format, args);
    va_end(args);
    *vec_push(v->a, &v->needs) = (struct need){.text = buf_str(&text), .access = access};
}

/* Accounts in these are named in bindings of Kubernetes, now or in a later version. */
static void add_system_namespace(struct visit *v)
{
    static const str all[] = {S_INIT("*")};
    static const struct rule everything = {.verbs = {all, 1}, .api_groups = {all, 1}, .resources = {all, 1}};
    if (str_has_prefix(v->asked.namespace, S("kube-")))
        needs_add(v, (struct rules){&everything, 1},
                  "ServiceAccount %.*s/%.*s would be created in a namespace of Kubernetes itself",
                  STR(v->asked.namespace), STR(v->asked.name));
}

void needs_add_plan(struct visit *v, const struct plan *plan)
{
    struct rules access = plan_cluster_access(&v->asked, plan);
    struct buf names = {.arena = v->a};
    add_system_namespace(v);
    if (!access.n || v->s->allows_cluster_dependencies)
        return;
    rules_each(access, rule)
    {
        strs_each(rule->resources, resource)
        {
            buf_fmt(&names, "%s%.*s.%.*s", names.n ? ", " : "", STR(*resource), STR(rule->api_groups.p[0]));
        }
    }
    needs_add(v, access, "ServiceAccount %.*s/%.*s would get cluster-wide access to %.*s", STR(v->asked.namespace),
              STR(v->asked.name), STR(finding_shown(v->a, buf_str(&names), FINDING_MAX_BYTES / 2)));
}

/* ---- What is needed, and what was given. ---- */

/* More than can be listed is for who holds everything. */
static void add_demands(struct visit *v, struct access_demands *d)
{
    vec_each(&v->needs, need)
    {
        struct json rules = rules_to_json(v->a, need->access);
        json_each_item(&rules, rule) access_need_rule(d, rule);
    }
    if (d->is_too_much) {
        d->list.n = 1;
        d->list.p[0] = (struct access_demand){.verb = S("*"), .group = S("*"), .resource = S("*")};
    }
}

static str approved_id(const struct visit *v)
{
    return object_annotation(&v->install, str_fmt(v->a, "%.*s/approved", STR(v->lane->dialect->group)));
}

static const struct json *last_approval(const struct visit *v)
{
    return json_get(json_get(&v->install, S("status")), S("approval"));
}

/* Given by the annotation that is still there, or because the requester held it. */
static bool is_standing(const struct visit *v, const struct json *approval)
{
    str id = json_get_text(approval, S("id"));
    return id.n && (json_get_text(approval, S("requester")).n || str_eq(id, approved_id(v)));
}

static bool is_covered(struct visit *v, const struct package *p, const struct access_demands *wanted)
{
    const struct json *approval = last_approval(v);
    int64_t generation;
    if (!is_standing(v, approval) || !json_to_int(json_get(approval, S("generation")), &generation) ||
        generation != object_generation(&v->install) || !str_eq(json_get_text(approval, S("digest")), p->digest))
        return false;
    struct access_demands given = {.a = v->a};
    access_need_json(&given, json_get(approval, S("access")));
    size_t before = given.list.n;
    vec_each(&wanted->list, one)
    {
        access_need(&given, *one);
    }
    bool is_covered = given.list.n == before && !given.is_too_much;
    access_demands_done(&given);
    return is_covered;
}

struct rules needs_given(struct visit *v)
{
    const struct json *approval = last_approval(v), *access = json_get(approval, S("access"));
    VEC(struct rule) list = {0};
    if (!is_standing(v, approval))
        return (struct rules){0};
    json_each_item(access, item)
    {
        str *texts = ARENA_ARRAY(v->a, str, 3);
        texts[0] = json_get_text(item, S("verb"));
        texts[1] = json_get_text(item, S("group"));
        texts[2] = json_get_text(item, S("resource"));
        if (!json_get_text(item, S("subresource")).n && !json_get_text(item, S("name")).n)
            *vec_push(v->a, &list) =
                (struct rule){.verbs = {&texts[0], 1}, .api_groups = {&texts[1], 1}, .resources = {&texts[2], 1}};
    }
    return (struct rules){list.p, list.n};
}

/* ---- Deciding. ---- */

/* What was approved under another policy, or without one, has another id. */
static str make_id(struct visit *v, const struct package *p, const struct json *access, str policy)
{
    struct buf text = {.arena = v->a};
    buf_fmt(&text, "%.*s\n", STR(p->digest));
    if (policy.n)
        buf_fmt(&text, "%.*s\n", STR(policy));
    json_encode(&text, access, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&text));
    str hex = oci_digest_hex(v->a, &digest);
    return str_fmt(v->a, "%lld-%.*s", (long long)object_generation(&v->install), ID_HASH, hex.p);
}

static void give(struct visit *v, const struct package *p, struct json access, str id, str requester)
{
    struct json approval = json_obj();
    json_add(v->a, &approval, S("id"), json_str(id));
    json_add(v->a, &approval, S("generation"), json_int(object_generation(&v->install)));
    json_add(v->a, &approval, S("digest"), json_str(p->digest));
    if (requester.n)
        json_add(v->a, &approval, S("requester"), json_str(requester));
    json_add(v->a, &approval, S("access"), access);
    v->report->approval = approval;
    vec_each(&v->needs, need)
    {
        recorder_event(v->s->recorder, &v->install, RECORDER_NORMAL, S("Approved"),
                       requester.n
                           ? str_fmt(v->a, "%.*s: user \"%.*s\" holds this access", STR(need->text), STR(requester))
                           : str_fmt(v->a, "%.*s: approved as %.*s", STR(need->text), STR(id)));
    }
}

static str needs_text(struct visit *v)
{
    struct buf text = {.arena = v->a};
    vec_each(&v->needs, need)
    {
        buf_fmt(&text, "%s%.*s", text.n ? "; " : "", STR(need->text));
    }
    return finding_shown(v->a, buf_str(&text), FINDING_MAX_BYTES * 3 / 4);
}

/* "reeve approve packageinstall/wordpress -n team-a" */
static str approve_command(struct visit *v)
{
    str title = str_lower(v->a, v->lane->install.kind), namespace = object_namespace(&v->install);
    return str_fmt(v->a, "reeve approve %.*s/%.*s%s%.*s", STR(title), STR(object_name(&v->install)),
                   namespace.n ? " -n " : "", STR(namespace));
}

static void await(struct visit *v, struct json access, str id, str why, str *ret_why)
{
    struct json pending = json_obj(), reasons = json_arr();
    vec_each(&v->needs, need)
    {
        json_push(v->a, &reasons, json_str(need->text));
    }
    json_add(v->a, &pending, S("id"), json_str(id));
    json_add(v->a, &pending, S("reasons"), reasons);
    json_add(v->a, &pending, S("access"), access);
    v->report->pending = pending;
    *ret_why = str_fmt(v->a, "%.*s, %.*s. A user who holds this access can approve it: %.*s", STR(needs_text(v)),
                       STR(why), STR(approve_command(v)));
}

/* Only the server of this process says who asked for an install; elsewhere anybody may have written the note. */
static bool read_requester(struct visit *v, struct access_subject *ret)
{
    str annotation = str_fmt(v->a, "%.*s/requester", STR(v->lane->dialect->group));
    return v->s->is_embedded && access_subject_read(v->a, object_annotation(&v->install, annotation), ret);
}

static bool changes_others(const struct visit *v)
{
    vec_each(&v->needs, need)
    {
        if (need->is_for_others)
            return true;
    }
    return false;
}

static int decide_anew(struct visit *v, const struct package *p, const struct access_demands *d, bool *ret,
                       str *ret_why, struct err *err)
{
    struct json access = access_to_json(v->a, d);
    struct access_subject who = {0};
    const struct access_demand *missing = NULL;
    struct policy_state guard;
    int code = policy_read(v->s->policy, v->r->client, v->a, &guard, err);
    if (code < 0)
        return code;
    str id = make_id(v, p, &access, guard.identity);
    *ret = true;
    if (guard.problem.n && approved_id(v).n) { /* anybody may have written it */
        *ret = false;
        await(v, access, id, str_fmt(v->a, "and its approval is not accepted: %.*s", STR(guard.problem)), ret_why);
        return 0;
    }
    if (str_eq(id, approved_id(v))) {
        give(v, p, access, id, (str){0});
        return 0;
    }
    bool is_for_others = changes_others(v);
    bool is_known = !is_for_others && read_requester(v, &who);
    code = is_known ? access_find_missing(v->r->client, v->a, &who, d->list.p, d->list.n, &missing, err) : 0;
    if (code < 0)
        return code;
    *ret = is_known && !missing;
    if (*ret)
        give(v, p, access, id, who.name);
    else if (is_known)
        await(v, access, id,
              str_fmt(v->a, "which takes access that user \"%.*s\" does not hold (%.*s)", STR(who.name),
                      STR(access_describe(v->a, missing))),
              ret_why);
    else if (is_for_others)
        await(v, access, id, S("for all who use it"), ret_why);
    else
        await(v, access, id, S("and it is not known which user asked for it"), ret_why);
    return 0;
}

int needs_decide(struct visit *v, const struct package *p, bool *ret, str *ret_why, struct err *err)
{
    struct access_demands d = {.a = v->a};
    const struct json *approval = last_approval(v);
    int code = 0;
    add_demands(v, &d);
    v->report->has_approval = true;
    v->report->approval = v->report->pending = json_null();
    *ret = true;
    if (d.list.n) {
        if (is_standing(v, approval))
            v->report->approval = *approval;
        if (!is_covered(v, p, &d))
            code = decide_anew(v, p, &d, ret, ret_why, err);
    }
    access_demands_done(&d);
    return code;
}
