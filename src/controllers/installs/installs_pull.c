/* SPDX-License-Identifier: Apache-2.0 */
/* Pulling: a queue with workers of its own, because a registry may take minutes to say nothing.
 *
 *   spec.package    resolved once for each generation of spec; what a tag stands for later does not matter until spec changes
 *   status          what is installed, and what that is just replacing: by digest, from what is kept, else from the registry again
 *
 * A worker waits for a child of its own and for nobody else: who has no place yet comes again, so that a registry that hangs, or a
 * namespace that asks for much, holds up nobody.
 *
 * What was installed before a restart takes part in its family as soon as it is read, however long the rest may take. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"
#include "oci/reference.h"
#include "json/base64.h"

#include <stdlib.h>

static const struct client_resource secrets = CLIENT_RESOURCE("", "v1", "secrets", "Secret", true);

/* ---- Results. ---- */

static void unref(struct pull *p)
{
    package_unref(p->wanted);
    package_unref(p->running);
    package_unref(p->old);
    p->wanted = p->running = p->old = NULL;
}

static void pull_free(struct pull *p)
{
    unref(p);
    arena_done(&p->arena);
    free(p);
}

/* Under the lock. Whether it was asked for some time ago; from the first time on that is known. */
static bool is_slow(struct installs *s, const struct json *install)
{
    int64_t now = clock_mono_ns(&s->clock);
    struct pull *p = map_get(&s->pulled, object_uid(install));
    if (!p) {
        p = xcalloc(1, sizeof *p);
        map_set(&s->pulled, str_dup(&p->arena, object_uid(install)), p);
    }
    if (p->asked_for != object_generation(install)) {
        p->asked_for = object_generation(install);
        p->asked_at = now;
    }
    return now - p->asked_at > PULL_SLOW_NS;
}

bool pull_result(struct installs *s, struct arena *a, const struct lane *lane, const struct json *install,
                 struct pull *ret)
{
    installs_lock(s);
    const struct pull *p = map_get(&s->pulled, object_uid(install));
    bool is_there = p && p->is_done && p->generation == object_generation(install);
    if (is_there) {
        *ret = *p;
        ret->wanted = p->wanted ? package_ref(p->wanted) : NULL;
        ret->running = p->running ? package_ref(p->running) : NULL;
        ret->old = NULL; /* that is in the holding */
        ret->reason = str_dup(a, p->reason);
        ret->message = str_dup(a, p->message);
        ret->running_message = str_dup(a, p->running_message);
    }
    ret->is_slow = !is_there && is_slow(s, install);
    installs_unlock(s);
    if (!is_there) {
        struct arena scratch ARENA_SCOPE = {0};
        size_t i = (size_t)(lane - s->lanes);
        control_enqueue(s->pulls, object_namespace(install),
                        str_fmt(&scratch, "%zu/%.*s", i, STR(object_name(install))));
    }
    return is_there;
}

void pull_release(struct installs *s, struct pull *p)
{
    (void)s;
    unref(p);
}

void pull_forget(struct installs *s, str uid)
{
    installs_lock(s);
    struct pull *p = map_del(&s->pulled, uid);
    installs_unlock(s);
    if (p)
        pull_free(p);
}

void pull_free_all(struct installs *s)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&s->pulled, &at, &key, &value))
        pull_free(value);
    map_done(&s->pulled);
}

/* The key of the map lives in the arena of the value. */
static void keep(struct installs *s, const struct lane *lane, const struct json *install, struct pull *p)
{
    p->is_done = true;
    str key = str_dup(&p->arena, object_uid(install));
    installs_lock(s);
    struct pull *before = p;
    if (holding_is_in_time(lane, install)) {
        before = map_del(&s->pulled, key);
        map_set(&s->pulled, key, p);
    }
    installs_unlock(s);
    if (before)
        pull_free(before);
}

/* ---- Credentials. ---- */

static int read_secret(struct installs *s, struct arena *a, str namespace, str name, str *ret, struct err *err)
{
    struct json secret;
    struct client_ref ref = {.resource = &secrets, .namespace = namespace, .name = name};
    int code = client_get(s->client, a, &ref, &secret, err);
    if (code < 0)
        return err_wrap(err, "read the pull secret %.*s/%.*s", STR(namespace), STR(name));
    str text = json_get_text(json_get(&secret, S("data")), S(".dockerconfigjson"));
    size_t at;
    if (text.n == 0 || base64_decode(a, text, ret, &at) < 0)
        return err_set(err, ERR_INVALID, "the pull secret %.*s/%.*s has no .dockerconfigjson", STR(namespace),
                       STR(name));
    return 0;
}

static int read_auths(struct installs *s, struct arena *a, const struct plan_install *asked,
                      struct fetch_request *request, struct err *err)
{
    size_t n = json_len(&asked->pull_secrets);
    str *auths = ARENA_ARRAY(a, str, n);
    for (size_t i = 0; i < n; i++) {
        str name = json_get_text(&asked->pull_secrets.items[i], S("name"));
        int code = read_secret(s, a, asked->namespace, name, &auths[i], err);
        if (code < 0)
            return code;
    }
    request->auths = auths;
    request->n_auths = n;
    return 0;
}

/* ---- Pulling. ---- */

static enum fetch_policy policy_of(str text)
{
    if (str_eq(text, S("Always")))
        return FETCH_ALWAYS;
    return str_eq(text, S("Never")) ? FETCH_NEVER : FETCH_IF_NOT_PRESENT;
}

/* People of one namespace are one tenant, whatever they install. */
static struct fetch_request request_of(const struct plan_install *asked)
{
    return (struct fetch_request){.reference = asked->image,
                                  .policy = policy_of(asked->pull_policy),
                                  .tenant = asked->is_cluster ? (str){0} : asked->namespace,
                                  .is_at_once = true};
}

/* A package that reads well is one that may still have findings: those are the plan's to tell. identity: empty for what is pulled
 * for the first time. */
static int pull_one(struct installs *s, struct arena *a, const struct fetch_request *request, str identity,
                    const struct package **ret, struct fetch_failure *failure, struct err *err)
{
    struct fetch_result result;
    int code = fetch_pull(s->fetcher, a, request, &result, failure, err);
    if (code < 0)
        return code;
    if (identity.n == 0) /* a local name and the same name in a registry are two packages */
        identity = oci_reference_located(a, request->reference, result.is_from_store);
    code = packages_load(s, result.entry, identity, result.digest, ret, err);
    if (code < 0)
        *failure = (struct fetch_failure){.reason = FETCH_INVALID_PACKAGE, .may_pass = code == ERR_IO};
    return code;
}

/* What is installed, by its digest: not what its tag stands for by now. */
static const struct package *find_running(struct installs *s, struct arena *a, const struct plan_install *asked,
                                          str reference, str digest, struct err *err)
{
    reference = oci_reference_located(a, reference, true); /* status has the registry, if there was one */
    const struct package *p = packages_find(s, reference, digest);
    struct fetch_entry *entry;
    if (p || (fetch_open(s->fetcher, reference, digest, &entry, err) == 0 &&
              packages_load(s, entry, reference, digest, &p, err) == 0))
        return p;
    struct oci_reference ref;
    struct fetch_request request = request_of(asked);
    struct fetch_failure failure;
    if (oci_reference_parse(reference, &ref, err) < 0 || read_auths(s, a, asked, &request, err) < 0)
        return NULL;
    request.reference = ref.registry.n ? str_fmt(a, "%.*s/%.*s@%.*s", STR(ref.registry), STR(ref.path), STR(digest))
                                       : str_fmt(a, "%.*s@%.*s", STR(ref.path), STR(digest));
    return pull_one(s, a, &request, reference, &p, &failure, err) == 0 ? p : NULL;
}

static void pull_wanted(struct installs *s, struct arena *a, const struct plan_install *asked, struct pull *p)
{
    struct fetch_request request = request_of(asked);
    struct fetch_failure failure = {.reason = FETCH_PULL_FAILED, .may_pass = true};
    struct err err;
    if (read_auths(s, a, asked, &request, &err) == 0 &&
        pull_one(s, a, &request, (str){0}, &p->wanted, &failure, &err) == 0)
        return;
    p->is_busy = failure.reason == FETCH_BUSY;
    /* What a registry refuses today it may give tomorrow: images are pushed, passwords mended, certificates renewed, and nobody
     * tells us. A package that is wrong stays wrong. */
    p->may_pass = failure.may_pass || failure.reason == FETCH_PULL_FAILED;
    p->reason = str_dup(&p->arena, str_of(fetch_reason_name(failure.reason)));
    /* Registries do not know of Secrets, but that is where somebody has to look. */
    p->message = failure.refusal == ERR_UNAUTHORIZED && request.n_auths == 0
                     ? str_fmt(&p->arena, "%s; no pull secret is named in spec.imagePullSecrets", err.msg)
                     : str_dup(&p->arena, str_of(err.msg));
}

/* It was accepted before: it takes part in its family from now on, whatever becomes of what is asked for. */
static void resume(struct installs *s, const struct lane *lane, const struct json *install,
                   const struct plan_install *asked, const struct pull *p)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct holding next = {
        .lane = lane,
        .uid = object_uid(install),
        .namespace = object_namespace(install),
        .name = object_name(install),
        .place = asked->namespace,
        .record = json_get_text(json_dig(install, "status.packageRecord"), S("uid")),
        .label = plan_family_label(&scratch, p->running->family),
        .since = family_since(&scratch, install),
        .approved = holding_approved(install),
        .now = p->running,
        .old = p->old,
    };
    installs_lock(s);
    if (!holding_get(s, next.uid) && holding_is_in_time(lane, install)) {
        holding_put(s, &next);
        shares_enqueue(s, next.label);
        if (p->old)
            shares_enqueue(s, plan_family_label(&scratch, p->old->family));
    }
    installs_unlock(s);
}

/* What status tells of. What cannot be read of an install that is being deleted holds nobody up. */
static void pull_installed(struct installs *s, struct arena *a, const struct lane *lane, const struct json *install,
                           const struct plan_install *asked, struct pull *p)
{
    const struct json *status = json_get(install, S("status")), *replaces = json_get(status, S("replaces"));
    str running = json_get_text(status, S("installedPackage")), digest = json_get_text(status, S("resolvedPackage"));
    str old = json_get_text(replaces, S("package")), old_digest = json_get_text(replaces, S("digest"));
    struct err err;
    if (running.n == 0 || digest.n == 0)
        return;
    p->running = find_running(s, a, asked, running, digest, &err);
    if (p->running) {
        if (old.n && old_digest.n) /* if it is lost, its roles go a little earlier than its controller */
            p->old = find_running(s, a, asked, old, old_digest, &err);
        p->is_busy = old.n && old_digest.n && !p->old && err.code == ERR_TOO_MANY_REQUESTS;
        if (!p->is_busy)
            resume(s, lane, install, asked, p);
        return;
    }
    p->is_busy = err.code == ERR_TOO_MANY_REQUESTS;
    if (p->is_busy)
        return;
    p->running_message = str_dup(&p->arena, str_of(err.msg));
    if (!object_is_deleting(install))
        return;
    installs_lock(s);
    awaited_give_up(s, object_uid(install));
    installs_unlock(s);
}

static void pull_both(struct installs *s, struct arena *a, const struct lane *lane, const struct json *install,
                      const struct plan_install *asked, bool is_valid, struct pull *p)
{
    const struct json *status = json_get(install, S("status"));
    str running = json_get_text(status, S("installedPackage"));
    int64_t observed = 0;
    (void)json_to_int(json_get(status, S("observedGeneration")), &observed);
    pull_installed(s, a, lane, install, asked, p);
    if (p->is_busy || !is_valid || object_is_deleting(install))
        return; /* the visit of the install says why */
    bool is_same = str_eq(running, asked->image) || str_eq(running, oci_reference_located(a, asked->image, false));
    if (p->running && is_same && observed == p->generation)
        p->wanted = package_ref(p->running);
    else
        pull_wanted(s, a, asked, p);
}

/* The longer it fails the longer we wait, from a NS_PER_S to five minutes. */
static int64_t next_try(uint32_t tries)
{
    int64_t wait = NS_PER_S << (tries > 9 ? 9 : tries);
    return wait > 300 * NS_PER_S ? 300 * NS_PER_S : wait;
}

/* Others come first: the longer it waits already the less another moment matters. */
static int64_t next_turn(struct installs *s, str uid)
{
    enum { SHARE = 4 };
    const int64_t least = NS_PER_S / 50, most = NS_PER_S;
    installs_lock(s);
    const struct pull *p = map_get(&s->pulled, uid);
    int64_t wait = p && p->asked_at ? (clock_mono_ns(&s->clock) - p->asked_at) / SHARE : 0;
    installs_unlock(s);
    return wait < least ? least : wait > most ? most : wait;
}

static uint32_t tries_before(struct installs *s, str uid)
{
    installs_lock(s);
    const struct pull *p = map_get(&s->pulled, uid);
    uint32_t tries = p ? p->tries : 0;
    installs_unlock(s);
    return tries;
}

static bool read_key(struct installs *s, struct reconcile *r, const struct lane **ret_lane, str *ret_name)
{
    str lane;
    if (!str_cut(r->name, '/', &lane, ret_name) || lane.n != 1 || lane.p[0] < '0' || lane.p[0] >= '0' + LANES)
        return false;
    *ret_lane = &s->lanes[lane.p[0] - '0'];
    return true;
}

/* False: it is not its turn yet. */
static bool pull_now(struct installs *s, struct reconcile *r, const struct lane *lane, const struct json *install,
                     const struct plan_install *asked, bool is_valid)
{
    struct pull *p = xcalloc(1, sizeof *p);
    p->generation = object_generation(install);
    pull_both(s, r->arena, lane, install, asked, is_valid, p);
    if (p->is_busy) {
        r->again_ns = next_turn(s, object_uid(install));
        pull_free(p);
        return false;
    }
    if ((!p->wanted && p->may_pass) || p->running_message.n) {
        p->tries = tries_before(s, object_uid(install)) + 1;
        r->again_ns = next_try(p->tries - 1);
    }
    keep(s, lane, install, p);
    return true;
}

int pull_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct installs *s = ctx;
    const struct lane *lane;
    str name;
    struct json install;
    if (!read_key(s, r, &lane, &name))
        return err_set(err, ERR_INTERNAL, "a key that makes no sense");
    if (!informer_read(lane->installs, r->arena, r->namespace, name, &install))
        return 0;
    struct findings findings = {.arena = r->arena};
    struct plan_install asked;
    plan_install_read(r->arena, lane->dialect, &install, &asked, &findings);
    if (pull_now(s, r, lane, &install, &asked, findings.list.n == 0))
        control_enqueue(lane->controller, r->namespace, name);
    return 0;
}
