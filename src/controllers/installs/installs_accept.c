/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/installs/installs_accept.h"

#include "controllers/installs/installs_needs.h"
#include "controllers/installs/installs_status.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/family.h"
#include "package/rival.h"
#include "package/semver.h"

/* ---- Facts. ---- */

static bool fact_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    struct plan_facts table = crd_table_facts(((struct installs *)ctx)->crds);
    return table.crd(table.ctx, a, name, ret);
}

static size_t fact_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    struct plan_facts table = crd_table_facts(((struct installs *)ctx)->crds);
    return table.crds_of_group(table.ctx, a, group, ret);
}

static bool fact_package(void *ctx, const struct package_requirement *requirement)
{
    struct installs *s = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    str family = rival_family(&scratch, requirement->package), key;
    bool is_there = false;
    size_t at = 0;
    void *value;
    installs_lock(s);
    while (!is_there && map_next(&s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        is_there = h->now && !h->is_leaving && str_eq(h->now->family, family) &&
                   semver_is_met(requirement->constraint, h->now->version, h->now->digest);
    }
    installs_unlock(s);
    return is_there;
}

struct plan_facts accept_facts(struct installs *s)
{
    return (struct plan_facts){s, fact_crd, fact_group, fact_package};
}

/* ---- One in one place. ---- */

static struct rival rival_of(const struct lane *l, const struct json *install)
{
    return (struct rival){l->dialect, l->is_cluster, install};
}

/* Those of this name, of another kind, that may have their controller in the same place. */
static void check_namesakes(struct visit *v, const struct lane *l, struct findings *findings)
{
    struct rival self = rival_of(v->lane, &v->install);
    struct items items ITEMS_SCOPE = informer_list(l->installs, l->is_cluster ? (str){0} : v->asked.namespace);
    for (size_t k = 0; k < items.n; k++) {
        if (!str_eq(item_name(items.p[k]), object_name(&v->install)))
            continue;
        struct json tree = item_tree(v->a, items.p[k]);
        struct rival other = rival_of(l, &tree);
        rival_check_account(v->a, &self, &other, findings);
    }
}

void accept_check_place(struct visit *v, struct findings *findings)
{
    str family = rival_family(v->a, v->asked.image);
    struct rival self = rival_of(v->lane, &v->install);
    for (size_t i = 0; i < LANES; i++) {
        if (&v->s->lanes[i] != v->lane)
            check_namesakes(v, &v->s->lanes[i], findings);
    }
    for (size_t i = 0; i < LANES; i++) {
        const struct lane *l = &v->s->lanes[i];
        if (l->is_cluster != v->lane->is_cluster)
            continue;
        struct items items ITEMS_SCOPE = informer_list(l->installs, object_namespace(&v->install));
        for (size_t k = 0; k < items.n; k++) {
            struct json tree = item_tree(v->a, items.p[k]);
            struct rival other = rival_of(l, &tree);
            rival_check_package(v->a, &self, family, &other, findings);
        }
    }
}

/* ---- Beside others of its family. ---- */

/* The same image by another name is another package: roles are named after it. */
static bool is_one(const struct package *p, const struct package *q)
{
    return package_is_same(p, q) && str_eq(p->source, q->source);
}

static bool has_package(const struct holding *h, const struct package *p)
{
    return h && h->now && !h->is_leaving && is_one(h->now, p);
}

/* What is still in place of before: a version whose upgrade was under way already, or what is running now. What was only
 * reserved never was in place. */
static const struct package *old_of(const struct holding *h, const struct package *p)
{
    if (!h || h->is_leaving)
        return NULL;
    const struct package *now = h->is_reserved ? h->old : h->now, *old = h->is_reserved ? NULL : h->old;
    if (!now)
        return NULL;
    return is_one(now, p) ? old : now;
}

/* One that was accepted in the same place before the caches told us of it. */
static const struct holding *find_rival(struct visit *v, str label)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (!h->is_leaving && str_eq(h->label, label) && h->lane->is_cluster == v->lane->is_cluster &&
            (v->lane->is_cluster || str_eq(h->namespace, object_namespace(&v->install))) &&
            !str_eq(h->uid, object_uid(&v->install)))
            return h;
    }
    return NULL;
}

static void check_accepted(struct visit *v, const struct package *p, str label, struct findings *findings)
{
    const struct holding *rival = find_rival(v, label);
    if (rival && !findings->list.n)
        findings_add(findings, S("AlreadyInstalled"), "%.*s is installed already, by %.*s", STR(p->family),
                     STR(visit_title(v->a, rival->lane, rival->namespace, rival->name)));
}

/* The name is that of a package from another source, by whichever install. Installs of other namespaces are not named: the reader
 * may not know of them. */
static void check_name(struct visit *v, const struct package *p, str label, struct findings *findings)
{
    size_t at = 0;
    str key;
    void *value;
    while (!findings->list.n && map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        const struct package *there = h->is_reserved && h->old ? h->old : h->now;
        bool is_known = h->lane->is_cluster || str_eq(h->namespace, object_namespace(&v->install));
        if (!there || h->is_leaving || !str_eq(h->label, label) || str_eq(h->uid, object_uid(&v->install)))
            continue;
        family_check_source(p, there->source, is_known ? visit_title(v->a, h->lane, h->namespace, h->name) : (str){0},
                            findings);
    }
}

/* Whether somebody of the family has this very package already: then it gets along with all the others. */
static bool is_held(struct visit *v, str label, const struct package *p)
{
    size_t at = 0;
    str key;
    void *value;
    if (awaited_find(v->s, label, object_uid(&v->install)))
        return false; /* it may be in the same place */
    while (map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (has_package(h, p) && !str_eq(h->uid, object_uid(&v->install)))
            return true;
    }
    return false;
}

static str accepted_approval(const struct visit *v)
{
    return v->report->crds_approved.n ? v->report->crds_approved : holding_approved(&v->install);
}

/* An install keeps its rank while it stays in its family. Under the lock. */
static str rank_of(const struct visit *v, str label)
{
    const struct holding *own = holding_get(v->s, object_uid(&v->install));
    VEC(str) others = {0};
    size_t at = 0;
    str key, installed = json_get_text(json_get(&v->install, S("status")), S("installedPackage"));
    void *value;
    if (own && str_eq(own->label, label))
        return str_dup(v->a, own->since);
    if (installed.n && str_eq(installs_family_label(v->a, installed), label))
        return family_since(v->a, &v->install);
    while (map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (str_eq(h->label, label))
            *vec_push(v->a, &others) = str_dup(v->a, h->since);
    }
    return family_since_next(v->a, &v->install, others.p, others.n, &v->s->clock);
}

/* From now on others have to get along with it. Without a record nothing is shared yet. */
static void reserve(struct visit *v, str label, const struct package *p)
{
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    struct holding next = {.lane = v->lane,
                           .uid = object_uid(&v->install),
                           .namespace = object_namespace(&v->install),
                           .name = object_name(&v->install),
                           .place = v->asked.namespace,
                           .record = h ? h->record : (str){0},
                           .label = label,
                           .since = rank_of(v, label),
                           .approved = accepted_approval(v),
                           .now = p,
                           .old = old_of(h, p),
                           .is_reserved = true};
    holding_put(v->s, &next);
}

/* What the family has: what others have, and what this install itself has. */
struct family_state {
    VEC(struct family_side) others; /* with references */
    const struct package *own;      /* with a reference; or NULL */
    str since;                      /* of this install */
};

/* One side for all that have the same package, ranked by the first of them. */
static void add_side(struct visit *v, struct family_state *state, const struct holding *h, const struct package *p,
                     bool is_old)
{
    struct family_side side = {.package = p,
                               .install = str_dup(v->a, h->uid),
                               .since = str_dup(v->a, h->since),
                               .approved = is_old ? (str){0} : str_dup(v->a, h->approved),
                               .is_cluster = h->lane->is_cluster,
                               .is_old = is_old};
    vec_each(&state->others, known)
    {
        if (known->package != p || known->is_cluster != side.is_cluster)
            continue;
        known->install = (str){0};
        known->is_old &= is_old;
        if (str_cmp(side.approved, known->approved) > 0 ||
            (str_eq(side.approved, known->approved) && str_cmp(side.since, known->since) < 0)) {
            known->since = side.since;
            known->approved = side.approved;
        }
        return;
    }
    (void)package_ref(p);
    *vec_push(v->a, &state->others) = side;
}

/* References to what the family has. False: somebody is deciding or has not been visited yet. */
static bool begin(struct visit *v, str label, struct family_state *state, str *ret_waits_for)
{
    size_t at = 0;
    str key;
    void *value;
    const struct awaited *awaited = awaited_find(v->s, label, object_uid(&v->install));
    if (awaited && awaited->namespace.n && !str_eq(awaited->namespace, object_namespace(&v->install)))
        *ret_waits_for = S("an install in another namespace"); /* which the reader may not know of */
    else if (awaited)
        *ret_waits_for = str_dup(v->a, awaited->what);
    if (awaited || map_get(&v->s->deciding, label))
        return false;
    while (map_next(&v->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        bool is_self = str_eq(h->uid, object_uid(&v->install));
        const struct package *now = is_self && h->is_reserved ? h->old : h->now;
        if (h->is_leaving || !str_eq(h->label, label))
            continue;
        if (is_self && now)
            state->own = package_ref(now);
        if (!is_self && now)
            add_side(v, state, h, now, false);
        if (!is_self && h->old && str_eq(plan_family_label(v->a, h->old->family), label))
            add_side(v, state, h, h->old, true);
    }
    state->since = rank_of(v, label);
    map_set(&v->s->deciding, label, v);
    return true;
}

static void end(struct visit *v, str label, struct family_state *state)
{
    map_del(&v->s->deciding, label);
    vec_each(&state->others, side)
    {
        package_unref(side->package);
    }
    package_unref(state->own);
}

static int read_live_crd(void *ctx, struct arena *a, str name, struct family_live *ret, struct err *err)
{
    const struct visit *v = ctx;
    return shares_read_live(v->r->client, a, name, ret, err);
}

static void add_need(struct visit *v, const struct family_need *need)
{
    str *texts = ARENA_ARRAY(v->a, str, 4);
    texts[0] = S("update");
    texts[1] = S("apiextensions.k8s.io");
    texts[2] = S("customresourcedefinitions");
    texts[3] = need->crd;
    struct rule *rule = ARENA_NEW(v->a, struct rule);
    *rule = (struct rule){.verbs = {&texts[0], 1},
                          .api_groups = {&texts[1], 1},
                          .resources = {&texts[2], 1},
                          .resource_names = {&texts[3], 1}};
    needs_add(v, (struct rules){rule, 1}, "%.*s", STR(need->text));
    v->needs.p[v->needs.n - 1].is_for_others = true;
}

/* Identities first, then CRDs: what has to be approved becomes a need. Its definitions count first if that is given. */
static int check_family(struct visit *v, const struct package *p, const struct family_state *state,
                        struct findings *findings, struct err *err)
{
    struct family_answer answer;
    struct family_question question = {.candidate = p,
                                       .self = {.package = state->own,
                                                .install = object_uid(&v->install),
                                                .since = state->since,
                                                .approved = holding_approved(&v->install),
                                                .is_cluster = v->lane->is_cluster},
                                       .others = state->others.p,
                                       .n_others = state->others.n,
                                       .ctx = v,
                                       .live = read_live_crd};
    vec_each(&state->others, side)
    {
        family_check_identity(p, side->package, findings);
    }
    if (state->own)
        family_check_identity(p, state->own, findings);
    if (findings->list.n)
        return 0;
    int code = family_check_crds(v->a, &question, &answer, findings, err);
    if (code < 0)
        return code;
    vec_each(&answer.needs, need)
    {
        add_need(v, need);
    }
    if (answer.is_first || answer.needs.n) {
        struct buf now = {.arena = v->a};
        int64_t ns = clock_wall_ns(&v->s->clock);
        time_format(&now, ns / NS_PER_S, (uint32_t)(ns % NS_PER_S), 6);
        v->report->crds_approved = buf_str(&now);
    }
    return 0;
}

static int need_finalizer(struct visit *v, struct err *err)
{
    if (object_has_finalizer(&v->install, S(FINALIZER_UNINSTALL)))
        return 0;
    struct json patch = json_obj(), meta = json_obj(), list = json_arr();
    const struct json *now = object_finalizers(&v->install);
    json_each_item(now, f)
    {
        json_push(v->a, &list, *f);
    }
    json_push(v->a, &list, json_str(S(FINALIZER_UNINSTALL)));
    json_add(v->a, &meta, S("finalizers"), list);
    json_add(v->a, &meta, S("resourceVersion"), json_str(object_rv(&v->install)));
    json_add(v->a, &patch, S("metadata"), meta);
    struct client_ref ref = visit_ref(v);
    struct client_patch_args args = {CLIENT_PATCH_MERGE, &patch, {.field_manager = S(FIELD_MANAGER_PACKAGES)}};
    return client_patch(v->r->client, v->a, &ref, &args, &v->install, err);
}

/* As it was asked for; with the registry, if that was left out and a registry had it: status says where a package came from. */
static str installed_reference(struct arena *a, str image, const struct package *p)
{
    struct oci_reference ref;
    if (oci_reference_parse(image, &ref, NULL) < 0 || str_eq(oci_reference_source(a, &ref), p->source))
        return image;
    return oci_reference_located(a, image, false);
}

static void say(struct visit *v, const struct package *p, const struct json *record)
{
    const struct json *was = json_get(&v->install, S("status"));
    str installed = json_get_text(was, S("installedPackage")), digest = json_get_text(was, S("resolvedPackage"));
    struct status_report *r = v->report;
    r->package = v->is_fallback ? installed : installed_reference(v->a, v->asked.image, p);
    r->digest = p->digest;
    r->version = p->version;
    r->record = *record;
    if (installed.n && !(str_eq(digest, p->digest) && str_eq(json_get_text(was, S("version")), p->version) &&
                         str_eq(rival_source(v->a, installed), p->source))) {
        r->old_package = installed;
        r->old_digest = digest;
    } else {
        r->old_package = json_get_text(json_get(was, S("replaces")), S("package"));
        r->old_digest = json_get_text(json_get(was, S("replaces")), S("digest"));
    }
}

/* What this visit goes on with; the reference that runs stays the one it was accepted by. */
static void take(struct visit *v, const struct holding *h, const struct package *p, struct accepted *ret)
{
    ret->is_accepted = true;
    ret->package = package_ref(p);
    ret->old = h->old ? package_ref(h->old) : NULL;
    ret->is_in_force = h->is_in_force;
    ret->wanted = h->wanted ? h->wanted : p->n_crds;
    ret->established = h->established;
    ret->problem = str_dup(v->a, h->problem);
    ret->conflict = str_dup(v->a, h->conflict);
    ret->is_lacking = h->is_lacking;
    ret->retained = str_dup(v->a, h->retained);
}

static bool is_same(const struct holding *h, const struct package *p, const struct json *record)
{
    return has_package(h, p) && !h->is_reserved && str_eq(h->record, object_uid(record));
}

static int say_accepted(struct visit *v, const struct package *p, struct err *err)
{
    if (!condition_is(&v->install, S("Installed"), S("True"))) {
        v->report->has_counts = true;
        v->report->wanted = p->n_crds;
        status_say(v->report, STATUS_INSTALLED, STATUS_FALSE, S("WaitingForCRDs"),
                   str_fmt(v->a, "0 of %zu CRDs are established", p->n_crds));
    }
    return status_write(v, v->report, err);
}

/* The record may change with every visit; the rest only when something new is accepted. */
static int hold(struct visit *v, const struct package *p, const struct plan *plan, str label, struct accepted *ret,
                struct err *err)
{
    /* What status does not name may be in nobody's labels, also if an earlier process was killed. */
    bool is_fresh = json_get_text(json_get(&v->install, S("status")), S("installedPackage")).n == 0;
    int code = need_finalizer(v, err);
    if (code < 0 || (code = record_keep(v, p, plan, &ret->record, err)) < 0)
        return code;
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    bool is_known = is_same(h, p, &ret->record);
    str since = h ? str_dup(v->a, h->since) : rank_of(v, label);
    installs_unlock(v->s);
    say(v, p, &ret->record);
    if (!is_known)
        v->report->accepted = family_since_time(since);
    if (!is_known && (code = say_accepted(v, p, err)) < 0)
        return code;
    installs_lock(v->s);
    h = holding_get(v->s, object_uid(&v->install));
    const struct package *old = is_known ? NULL : old_of(h, p), *before = old ? package_ref(old) : NULL;
    if (!is_known) {
        struct holding next = {.lane = v->lane,
                               .uid = object_uid(&v->install),
                               .namespace = object_namespace(&v->install),
                               .name = object_name(&v->install),
                               .place = v->asked.namespace,
                               .record = object_uid(&ret->record),
                               .label = label,
                               .since = since,
                               .approved = accepted_approval(v),
                               .now = p,
                               .old = old_of(h, p),
                               .is_fresh = is_fresh,
                               .written = object_rv(&v->install)};
        h = holding_put(v->s, &next);
        shares_enqueue(v->s, label);
    }
    take(v, h, p, ret);
    installs_unlock(v->s);
    if (!is_known)
        grants_tell(v, before, p);
    package_unref(before);
    return 0;
}

/* Before anything is accepted: what this install needs is approved, or its requester holds it. */
static int check_approval(struct visit *v, const struct package *p, struct findings *findings, struct err *err)
{
    bool is_given;
    str why = {0};
    int code = v->is_kept ? 0 : needs_decide(v, p, &is_given, &why, err);
    if (code == 0 && why.n)
        findings_add(findings, S("ApprovalRequired"), "%.*s", STR(why));
    return code;
}

/* Whether it gets along with those that are there. Under the lock, but for the time that reading CRDs takes. */
static int decide(struct visit *v, const struct package *p, str label, struct findings *findings, bool *ret,
                  struct err *err)
{
    struct family_state state = {0};
    str waits_for = {0};
    *ret = false;
    check_name(v, p, label, findings);
    check_accepted(v, p, label, findings);
    if (findings->list.n)
        return 0;
    bool is_new = !is_held(v, label, p);
    if (is_new) {
        if (!begin(v, label, &state, &waits_for)) {
            v->r->again_ns = (waits_for.n ? 500 : 20) * NS_PER_MS;
            if (waits_for.n && !condition_is(&v->install, S("Installed"), S("True")))
                status_say(v->report, STATUS_INSTALLED, STATUS_FALSE, S("WaitingForOthers"),
                           str_fmt(v->a, "%.*s has the same package and could not be read yet", STR(waits_for)));
            return 0;
        }
    }
    installs_unlock(v->s);
    int code = is_new && !v->is_kept ? check_family(v, p, &state, findings, err) : 0;
    if (code == 0 && !findings->list.n)
        code = check_approval(v, p, findings, err);
    installs_lock(v->s);
    if (is_new)
        end(v, label, &state);
    else
        check_accepted(v, p, label, findings); /* again: the lock was released */
    if (code < 0 || findings->list.n) {
        v->report->crds_approved = (str){0};
        return code;
    }
    if (!is_new && !is_held(v, label, p)) {
        v->r->again_ns = 20 * NS_PER_MS; /* who held it has left meanwhile */
        return 0;
    }
    reserve(v, label, p);
    *ret = true;
    return 0;
}

int accept_package(struct visit *v, const struct package *p, const struct plan *plan, struct findings *findings,
                   struct accepted *ret, struct err *err)
{
    str label = plan_family_label(v->a, p->family);
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    bool may = has_package(h, p);
    if (!may) { /* these tell more than that its names are taken */
        check_name(v, p, label, findings);
        check_accepted(v, p, label, findings);
    }
    installs_unlock(v->s);
    int code = may || findings->list.n ? 0 : own_check(v, plan, label, findings, err);
    if (code < 0 || findings->list.n)
        return code;
    if (!may) {
        installs_lock(v->s);
        code = decide(v, p, label, findings, &may, err);
        installs_unlock(v->s);
    }
    return code == 0 && may ? hold(v, p, plan, label, ret, err) : code;
}

void accept_release(struct accepted *accepted)
{
    package_unref(accepted->package);
    package_unref(accepted->old);
}
