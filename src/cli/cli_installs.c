/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_installs.h"
#include "base/clock.h"
#include "base/shell.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "object/conditions.h"
#include "object/object.h"
#include "package/rival.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

void follow_catch(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- On the loop. ---- */

static void tell(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->has_news = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
}

/* Whoever sends a NS_PER_S one does not want to wait for anything. */
static void on_signal(void *ctx, int number)
{
    struct follow *f = ctx;
    pthread_mutex_lock(&f->lock);
    bool is_second = f->signal != 0;
    f->signal = number;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    if (is_second)
        _exit(CLI_SIGNALLED + number);
    client_stop(f->session->client);
}

static void on_data(void *ctx, str bytes)
{
    if (bytes.n)
        tell(ctx);
}

/* Servers end watches by and by; others do not let everybody watch who may get. */
static void on_end(void *ctx, const struct client_answer *answer)
{
    struct follow *f = ctx;
    (void)answer;
    f->call = NULL;
    loop_timer_set(f->session->loop, &f->again, NS_PER_S);
}

static void start(struct follow *f)
{
    static const struct client_listener listener = {.data = on_data, .end = on_end};
    struct client_request request = {.method = S("GET"), .target = f->target};
    f->call = client_start(f->session->client, &request, &listener, f);
}

static void on_again(void *ctx)
{
    struct follow *f = ctx;
    tell(f);
    start(f);
}

static struct follow *of_work(struct loop_work *w)
{
    return (struct follow *)((char *)w - offsetof(struct follow, work));
}

static void done(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_done = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
}

/* Without it Ctrl-C would be heard by nobody: it gets its old meaning back. */
static void do_open(struct loop_work *w)
{
    struct follow *f = of_work(w);
    struct err err;
    f->signals = (struct signals){.fn = on_signal, .ctx = f};
    f->is_open = signals_open(&f->signals, f->session->loop, &err) == 0;
    done(f);
}

static void do_watch(struct loop_work *w)
{
    struct follow *f = of_work(w);
    f->again = (struct loop_timer){.fn = on_again, .ctx = f};
    start(f);
    done(f);
}

static void do_close(struct loop_work *w)
{
    struct follow *f = of_work(w);
    loop_timer_cancel(f->session->loop, &f->again);
    client_cancel(f->call);
    f->call = NULL;
    signals_close(&f->signals);
    done(f);
}

/* ---- On the main thread. ---- */

static void on_loop(struct follow *f, void (*fn)(struct loop_work *w))
{
    f->is_done = false;
    f->work.fn = fn;
    loop_post(f->session->loop, &f->work);
    pthread_mutex_lock(&f->lock);
    while (!f->is_done)
        pthread_cond_wait(&f->wake, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

int follow_open(struct follow *f, struct session *session, struct err *err)
{
    pthread_condattr_t attr;
    *f = (struct follow){.session = session};
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&f->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    on_loop(f, do_open);
    return f->is_open ? 0 : err_set(err, ERR_IO, "cannot wait for signals");
}

/* ref names one object. Once. */
static void follow_watch(struct follow *f, const struct client_ref *ref)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf target = {.arena = &f->arena};
    struct client_ref all = *ref;
    assert(f->target.n == 0 && ref->name.n);
    all.name = (str){0};
    client_path(&target, &all);
    client_query(&target, S("fieldSelector"), str_fmt(&scratch, "metadata.name=%.*s", STR(ref->name)));
    client_query(&target, S("watch"), S("true"));
    f->target = buf_str(&target);
    on_loop(f, do_watch);
}

/* Until something happens, or the monotonic clock says so. */
static enum follow_news follow_wait(struct follow *f, int64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};
    int code = 0;
    pthread_mutex_lock(&f->lock);
    while (!f->signal && !f->has_news && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&f->wake, &f->lock, &until);
    enum follow_news news = f->signal ? FOLLOW_INTERRUPTED : f->has_news ? FOLLOW_CHANGED : FOLLOW_LATE;
    f->has_news = false;
    pthread_mutex_unlock(&f->lock);
    return news;
}

int follow_signal(struct follow *f)
{
    if (!f->session)
        return 0;
    pthread_mutex_lock(&f->lock);
    int number = f->signal;
    pthread_mutex_unlock(&f->lock);
    return number;
}

void follow_close(struct follow *f)
{
    if (!f->session)
        return;
    on_loop(f, do_close);
    (void)pthread_cond_destroy(&f->wake);
    (void)pthread_mutex_destroy(&f->lock);
    arena_done(&f->arena);
    *f = (struct follow){0};
}

const char *const cli_installs_dry_runs[] = {"none", "client", "server", NULL};
const char *const cli_installs_dry_words[] = {
    [DRY_RUN_NONE] = "", [DRY_RUN_CLIENT] = " (dry run)", [DRY_RUN_SERVER] = " (server dry run)"};

struct client_resource cli_installs_resource(const struct dialect *dialect, bool is_cluster)
{
    const struct dialect_kind *kind = &dialect->install[is_cluster];
    return (struct client_resource){dialect->group, dialect->version, kind->plural, kind->kind, !is_cluster};
}

struct client_ref cli_installs_ref(const struct installs_target *t)
{
    return (struct client_ref){.resource = &t->resource, .namespace = t->namespace, .name = t->name};
}

str cli_installs_title(struct arena *a, const struct installs_target *t)
{
    return str_fmt(a, "%.*s %.*s%s%.*s", STR(t->resource.kind), STR(t->namespace), t->namespace.n ? "/" : "",
                   STR(t->name));
}

str cli_installs_path(struct arena *a, const struct installs_target *t)
{
    return str_fmt(a, "%.*s.%.*s/%.*s", STR(str_lower(a, t->resource.kind)), STR(t->resource.group), STR(t->name));
}

static void add_flag(struct buf *b, const char *flag, str value)
{
    if (value.n == 0)
        return;
    buf_fmt(b, " %s ", flag);
    shell_add_word(b, value);
}

str cli_installs_flags(struct command *c, const struct installs_target *t)
{
    struct buf b = {.arena = &c->arena};
    add_flag(&b, "-n", t->namespace);
    buf_add_str(&b, t->is_cluster ? S(" --cluster") : (str){0});
    buf_add_str(&b, t->dialect == &dialect_stacks ? S(" --stack") : (str){0});
    add_flag(&b, "--kubeconfig", c->server.kubeconfig);
    add_flag(&b, "--context", c->server.context);
    add_flag(&b, "--as", c->server.as);
    vec_each(&c->server.groups, group)
    {
        add_flag(&b, "--as-group", *group);
    }
    return buf_str(&b);
}

void cli_installs_need(struct command *c, const struct installs_target *t, const char *verb)
{
    command_needs(
        c, (struct command_need){
               .verb = verb,
               .group = t->resource.group,
               .resource = t->resource.plural,
               .namespace = t->namespace,
               .name = strcmp(verb, "create") == 0 ? (str){0} : t->name, /* creates have no name to be asked about */
           });
}

int cli_installs_explain(struct arena *a, const struct installs_target *t, struct err *err)
{
    if (err->code == ERR_NOT_FOUND && !client_is_gone(err))
        return err_set(err, ERR_NOT_FOUND,
                       "this server knows no %.*s: \"%s up\" has them; on another Kubernetes they come with\n"
                       "  %s manager --print-crds | kubectl apply -f -\nand somebody has to run \"%s manager\" there",
                       STR(str_fmt(a, "%.*s.%.*s", STR(t->resource.plural), STR(t->resource.group))), help_program(),
                       help_program(), help_program());
    return err->code;
}

/* How an install fares, from its status alone. What a condition said of an earlier spec does not count: each has the generation it
 * speaks of.
 *
 *   Unpacked ─► crds {wanted, established} ─► Installed ─► Healthy ─► Ready          one step each, in this order
 *        └─────────────┴──────────────────────────┴─► Synced=False: something is in the way; the reason says for how long */

/* What stays as it is until somebody does something. */
static const char *const final[] = {"AlreadyInstalled",
                                    "Blocked",
                                    "CRDConflict",
                                    "Conflict",
                                    "GroupNotAllowed",
                                    "InvalidInstall",
                                    "InvalidPackage",
                                    "NameConflict",
                                    "ScopeMismatch",
                                    "ServiceAccountConflict",
                                    NULL};

static bool is_among(str reason, const char *const *list)
{
    for (; *list; list++) {
        if (str_eq(reason, str_of(*list)))
            return true;
    }
    return false;
}

#define DIGEST "sha256:"
enum { DIGITS = 12 };

struct reading {
    const struct json *conditions;
    int64_t generation;
};

/* The condition, if it speaks of what is asked for now. */
static const struct json *current(const struct reading *r, const char *type)
{
    const struct json *c = condition_find(r->conditions, str_of(type));
    int64_t observed;
    if (!c || !json_to_int(json_get(c, S("observedGeneration")), &observed) || observed != r->generation)
        return NULL;
    return c;
}

static bool says(const struct json *condition, const char *status)
{
    return str_eq(json_get_text(condition, S("status")), str_of(status));
}

static bool has_reason(const struct json *condition, const char *reason)
{
    return str_eq(json_get_text(condition, S("reason")), str_of(reason));
}

static uint64_t count(const struct json *v)
{
    int64_t n;
    return json_to_int(v, &n) && n > 0 ? (uint64_t)n : 0;
}

/* ---- The steps. ---- */

static void read_package(const struct reading *r, struct progress_step *step)
{
    const struct json *unpacked = current(r, "Unpacked");
    step->state = says(unpacked, "True") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = json_get_text(unpacked, S("message"));
    if (str_has_prefix(step->note, S(DIGEST))) /* enough to know it by; the number of CRDs is told by the next step */
        step->note = str_upto(step->note, sizeof DIGEST - 1 + DIGITS);
}

static void read_crds(const struct reading *r, const struct json *counts, struct progress_step *step)
{
    const struct json *installed = current(r, "Installed");
    step->at = count(json_get(counts, S("established")));
    step->of = count(json_get(counts, S("wanted")));
    step->state =
        says(installed, "True") || has_reason(installed, "WaitingForRights") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = step->of ? S("established") : step->state == PROGRESS_DONE ? S("none") : (str){0};
}

static void read_rights(const struct reading *r, struct progress_step *step)
{
    const struct json *installed = current(r, "Installed");
    step->state = says(installed, "True") ? PROGRESS_DONE : PROGRESS_RUNNING;
    step->note = step->state == PROGRESS_DONE ? S("in force") : json_get_text(installed, S("message"));
}

static void read_deployment(const struct reading *r, struct progress_step *step)
{
    const struct json *healthy = current(r, "Healthy");
    if (has_reason(healthy, "NoController"))
        step->note = S("none");
    else if (has_reason(healthy, "NoWorkloads"))
        step->note = S("written; nothing here runs it");
    else
        step->note = says(healthy, "True") ? S("available") : healthy ? S("not available yet") : (str){0};
    step->state = healthy && !says(healthy, "False") ? PROGRESS_DONE : PROGRESS_RUNNING;
}

/* What follows a step that is not done is ahead, whatever its condition still says. */
static void order(struct progress_step *steps)
{
    bool is_ahead = false;
    for (size_t i = 0; i < INSTALLS_STEPS; i++) {
        if (is_ahead)
            steps[i] = (struct progress_step){.name = steps[i].name};
        else
            is_ahead = steps[i].state != PROGRESS_DONE;
    }
}

static void read_steps(const struct reading *r, const struct json *status, struct installs_state *ret)
{
    static const char *const names[INSTALLS_STEPS] = {"package", "CRDs", "rights", "Deployment"};
    for (size_t i = 0; i < INSTALLS_STEPS; i++)
        ret->steps[i].name = names[i];
    read_package(r, &ret->steps[INSTALLS_PACKAGE]);
    read_crds(r, json_get(status, S("crds")), &ret->steps[INSTALLS_CRDS]);
    read_rights(r, &ret->steps[INSTALLS_RIGHTS]);
    read_deployment(r, &ret->steps[INSTALLS_DEPLOYMENT]);
    order(ret->steps);
}

/* ---- The whole. ---- */

static void explain(struct installs_state *ret, const struct json *condition)
{
    ret->reason = json_get_text(condition, S("reason"));
    ret->message = json_get_text(condition, S("message"));
}

/* Blocked: what is asked for cannot be, and what was installed runs on. The message begins with the reason, which says for how long. */
static bool is_final(const struct installs_state *s)
{
    bool is_blocked = str_eq(s->reason, S("Blocked"));
    return is_among(s->reason, final) && !(is_blocked && str_has_prefix(s->message, S("PullFailed:")));
}

static void read_stand(const struct reading *r, struct installs_state *ret)
{
    const struct json *synced = current(r, "Synced"), *ready = current(r, "Ready"),
                      *installed = current(r, "Installed");
    ret->stand = INSTALLS_UNDER_WAY;
    if (says(synced, "False")) {
        explain(ret, synced);
        ret->stand = is_final(ret) ? INSTALLS_REFUSED : INSTALLS_TROUBLED;
        for (size_t i = 0; ret->stand == INSTALLS_REFUSED && i < INSTALLS_STEPS; i++) {
            if (ret->steps[i].state == PROGRESS_RUNNING) /* none of these went wrong: they were not begun */
                ret->steps[i] = (struct progress_step){.name = ret->steps[i].name};
        }
    } else if (has_reason(installed, "ApplyFailed")) {
        explain(ret, installed);
        ret->stand = INSTALLS_TROUBLED;
    } else if (says(ready, "True") && says(synced, "True")) {
        explain(ret, has_reason(installed, "WaitingForDependencies") ? installed : NULL);
        ret->stand = INSTALLS_READY;
    } else {
        explain(ret, ready);
    }
}

/* The finalizer keeps the object until all is taken back; Synced says what is going on. */
static void read_leaving(const struct reading *r, struct installs_state *ret)
{
    const struct json *synced = condition_find(r->conditions, S("Synced"));
    ret->stand = INSTALLS_LEAVING;
    if (!says(synced, "False"))
        return;
    explain(ret, synced);
    if (has_reason(synced, "InUse"))
        ret->stand = INSTALLS_IN_USE;
}

void cli_installs_read(const struct json *install, struct installs_state *ret)
{
    const struct json *status = json_get(install, S("status"));
    struct reading r = {.conditions = json_get(status, S("conditions")), .generation = object_generation(install)};
    int64_t observed;
    *ret = (struct installs_state){.stand = INSTALLS_UNSEEN};
    read_steps(&r, status, ret);
    if (object_is_deleting(install))
        read_leaving(&r, ret);
    else if (json_to_int(json_get(status, S("observedGeneration")), &observed) && observed == r.generation)
        read_stand(&r, ret);
}

/* Counts the objects that would keep an install from being uninstalled, as the user who asks, before anything is changed.
 *
 *   CRDs of the install (labels) ─► a list of each: in its namespace, or everywhere ─► "2 networks (1 in one, 1 in two)"
 *
 * What the user may not see elsewhere is not counted: the controller counts again before it removes anything. */

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

enum { PLACES = 5 };

struct owned_crd {
    struct client_resource resource;
    bool is_shared; /* another install has it, too */
};

struct counting {
    struct command *c;
    const struct installs_target *target;
    str record, family;
    VEC(struct owned_crd) list;
};

/* ---- Which kinds. ---- */

static bool has_other_parent(const struct counting *k, const struct json *crd)
{
    const struct json *labels = object_labels(crd);
    json_each_member(labels, m)
    {
        if (str_has_prefix(json_key(m), S(LABEL_PARENT_PREFIX)) &&
            !str_eq(str_from(json_key(m), sizeof LABEL_PARENT_PREFIX - 1), k->record))
            return true;
    }
    return false;
}

static str served_version(const struct json *spec)
{
    const struct json *versions = json_get(spec, S("versions"));
    json_each_item(versions, v)
    {
        if (json_true(json_get(v, S("served"))))
            return json_get_text(v, S("name"));
    }
    return (str){0};
}

static void begin_crds(void *ctx)
{
    ((struct counting *)ctx)->list.n = 0;
}

static int take_crd(void *ctx, const struct json *crd, struct err *err)
{
    (void)err;
    struct counting *k = ctx;
    struct arena *a = &k->c->arena;
    const struct json *spec = json_get(crd, S("spec")), *names = json_get(spec, S("names"));
    if (!str_eq(object_annotation(crd, S(ANNOTATION_FAMILY)), k->family) || served_version(spec).n == 0)
        return 0;
    *vec_push(a, &k->list) =
        (struct owned_crd){.resource = {.group = str_dup(a, json_get_text(spec, S("group"))),
                                        .version = str_dup(a, served_version(spec)),
                                        .plural = str_dup(a, json_get_text(names, S("plural"))),
                                        .kind = str_dup(a, json_get_text(names, S("kind"))),
                                        .namespaced = !str_eq(json_get_text(spec, S("scope")), S("Cluster"))},
                           .is_shared = has_other_parent(k, crd)};
    return 0;
}

/* Those labelled for the namespace, which include CRDs that an upgrade dropped; else those with the record's label. */
static int find_crds(struct counting *k, struct err *err)
{
    static const struct client_taker taker = {begin_crds, take_crd};
    bool is_by_namespace = !k->target->is_cluster && k->target->dialect->has_personas;
    struct arena *a = &k->c->arena;
    struct client_ref ref = {.resource = &crds};
    struct client_list_options options = {
        .label_selector = is_by_namespace ? str_fmt(a, LABEL_NAMESPACE_PREFIX "%.*s=true", STR(k->target->namespace))
                                          : str_fmt(a, LABEL_PARENT_PREFIX "%.*s=true", STR(k->record))};
    return client_list_each(k->c->session.client, &ref, &options, &taker, k, err);
}

/* As the record has them, for users who may not list CRDs. Whether others have them is not known then: as if they had. */
static int find_recorded(struct counting *k, struct err *err)
{
    const struct dialect *d = k->target->dialect;
    const struct dialect_kind *kind = &d->record[k->target->is_cluster];
    struct arena *a = &k->c->arena;
    struct client_resource resource = {d->group, d->version, kind->plural, kind->kind, !k->target->is_cluster};
    struct client_ref ref = {.resource = &resource, .namespace = k->target->namespace, .name = k->target->name};
    struct json record;
    int code = client_get(k->c->session.client, a, &ref, &record, err);
    const struct json *list = code < 0 ? NULL : json_dig(&record, "spec.customresourcedefinitions");
    json_each_item(list, crd)
    {
        str group, version, plural, rest;
        if (str_cut(json_get_text(crd, S("apiVersion")), '/', &group, &version) &&
            str_cut(json_get_text(crd, S("name")), '.', &plural, &rest))
            *vec_push(a, &k->list) = (struct owned_crd){
                .resource = {group, version, plural, json_get_text(crd, S("kind")), true}, .is_shared = true};
    }
    return code;
}

/* ---- How many. ---- */

static int list_instances(const struct counting *k, const struct owned_crd *crd, struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = &crd->resource};
    struct client_list_options options = {.metadata_only = true};
    int code = ERR_FORBIDDEN;
    if (k->target->is_cluster || !crd->is_shared)
        code = client_list(k->c->session.client, &k->c->arena, &ref, &options, ret, NULL, err);
    if (code != ERR_FORBIDDEN || k->target->is_cluster)
        return code;
    ref.namespace = k->target->namespace;
    return client_list(k->c->session.client, &k->c->arena, &ref, &options, ret, NULL, err);
}

/* " (1 in team-a, 2 in team-b and more)"; items are sorted by namespace. */
static void add_places(struct buf *text, const struct json *items)
{
    size_t n = 0;
    for (size_t i = 0, next; i < json_len(items); i = next) {
        str namespace = object_namespace(&items->items[i]);
        for (next = i; next < json_len(items) && str_eq(object_namespace(&items->items[next]), namespace);)
            next++;
        if (namespace.n == 0)
            return;
        if (n++ == PLACES) {
            buf_add_str(text, S(" and more"));
            break;
        }
        buf_fmt(text, "%s%zu in %.*s", n == 1 ? " (" : ", ", next - i, STR(namespace));
    }
    if (n)
        buf_add_char(text, ')');
}

int cli_installs_count(struct command *c, const struct installs_target *t, const struct json *install, str *ret_text,
                       struct err *err)
{
    const struct json *status = json_get(install, S("status"));
    struct counting k = {.c = c,
                         .target = t,
                         .record = json_get_text(json_get(status, S("packageRecord")), S("uid")),
                         .family = rival_family(&c->arena, json_get_text(status, S("installedPackage")))};
    struct buf text = {.arena = &c->arena};
    *ret_text = (str){0};
    if (k.family.n == 0 || k.record.n == 0)
        return 0; /* it came no further than asking */
    int code = find_crds(&k, err);
    if (code == ERR_FORBIDDEN)
        code = find_recorded(&k, err);
    for (size_t i = 0; code == 0 && i < k.list.n; i++) {
        struct json items = json_arr();
        code = list_instances(&k, &k.list.p[i], &items, err);
        if (code == ERR_NOT_FOUND)
            code = 0; /* it has just been removed */
        if (code < 0 || json_len(&items) == 0)
            continue;
        buf_fmt(&text, "%s%zu %.*s", text.n ? ", " : "", json_len(&items), STR(k.list.p[i].resource.plural));
        add_places(&text, &items);
    }
    *ret_text = buf_str(&text);
    return code < 0 ? err_wrap(err, "cannot count the instances of %.*s", STR(cli_installs_title(&c->arena, t))) : 0;
}

enum { ASK_AGAIN = 5 }; /* seconds: a watch can be dead and nobody knows */

int64_t cli_installs_now(void)
{
    return clock_mono_ns(&clock_system);
}

void cli_installs_wait_begin(struct installs_wait *w, const struct json *object)
{
    struct client_ref ref = cli_installs_ref(w->target);
    w->object = *object;
    w->began = w->asked = cli_installs_now();
    w->deadline = w->began + w->c->timeout_ns;
    follow_watch(w->follow, &ref);
}

static enum installs_news look(struct installs_wait *w, struct err *err)
{
    struct client_ref ref = cli_installs_ref(w->target);
    struct arena fresh = {0};
    struct json object;
    int code = client_get(w->c->session.client, &fresh, &ref, &object, err);
    w->asked = cli_installs_now();
    if (code < 0) {
        arena_done(&fresh);
        if (follow_signal(w->follow))
            return INSTALLS_INTERRUPTED;
        return code == ERR_NOT_FOUND && client_is_gone(err) ? INSTALLS_GONE : INSTALLS_FAILED;
    }
    arena_done(&w->arena);
    w->arena = fresh;
    w->object = object;
    return INSTALLS_LOOKED;
}

enum installs_news cli_installs_wait_next(struct installs_wait *w, struct err *err)
{
    /* What moves is drawn while nothing happens. */
    int64_t until = cli_installs_now() + (w->c->term.is_live ? NS_PER_S / 10 : NS_PER_S);
    enum follow_news news = follow_wait(w->follow, until < w->deadline ? until : w->deadline);
    int64_t now = cli_installs_now();
    if (news == FOLLOW_INTERRUPTED)
        return INSTALLS_INTERRUPTED;
    if (news == FOLLOW_LATE && now < w->deadline && now - w->asked < ASK_AGAIN * NS_PER_S)
        return INSTALLS_NOTHING;
    enum installs_news found = look(w, err);
    return found == INSTALLS_LOOKED && now >= w->deadline ? INSTALLS_LATE : found;
}

void cli_installs_wait_end(struct installs_wait *w)
{
    arena_done(&w->arena);
}
