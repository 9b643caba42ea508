/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/help.h"
#include "cli/install_internal.h"
#include "cli/term.h"
#include "object/object.h"

/* What the controllers tell of an install in Events: rights that were granted, pulls that failed. For who wants to hear more. */

enum { EVENTS_MAX = 100 }; /* after which nobody reads any more */

/* "wordpress.17a2 3": the third time of an event is news, too. */
static bool is_new(struct install *i, struct install_events *e, const struct json *event)
{
    int64_t count = 1;
    (void)json_to_int(json_get(event, S("count")), &count);
    str key = str_fmt(&i->c.arena, "%.*s %lld", STR(object_name(event)), (long long)count);
    vec_each(&e->seen, known)
    {
        if (str_eq(*known, key))
            return false;
    }
    *vec_push(&i->c.arena, &e->seen) = key;
    return true;
}

/* Events of what has no namespace are in "default". Who may not list them does without. */
static void cli_install_tell_events(struct install *i, struct install_events *e, struct progress *progress)
{
    static const struct client_resource events = CLIENT_RESOURCE("", "v1", "events", "Event", true);
    struct arena scratch ARENA_SCOPE = {0};
    struct client_ref ref = {.resource = &events,
                             .namespace = i->target.is_cluster ? S("default") : i->target.namespace};
    struct client_list_options options = {
        .field_selector = str_fmt(&scratch, "involvedObject.uid=%.*s", STR(object_uid(&i->object)))};
    struct json items;
    struct err err;
    if (i->c.term.verbosity == 0 || e->is_over)
        return;
    if (client_list(i->c.session.client, &scratch, &ref, &options, &items, NULL, &err) < 0) {
        progress_say(progress, "Events are not shown: %s", err.msg);
        e->is_over = true;
        return;
    }
    json_each_item(&items, event)
    {
        if (e->seen.n < EVENTS_MAX && is_new(i, e, event))
            progress_say(progress, "%.*s: %.*s", STR(json_get_text(event, S("reason"))),
                         STR(cli_visible(&scratch, json_get_text(event, S("message")))));
    }
}

/* Waiting for an install, which goes on by itself whatever happens to us.
 *
 *   watch ─► get ─► how it fares ─┬─► ready: who may use it now
 *     ▲                           ├─► refused for good: why, and what to do instead
 *     └──── not yet ◄─────────────┤
 *                                 └─► too late, Ctrl-C: how it stands, how to look, how to take it back */

enum {
    NO_WORD = 5,    /* seconds after which a controller has said something of what is new … */
    NO_CHANGE = 30, /* … and of what is installed already, whose next version is pulled in silence */
    KINDS_TOLD = 3,
};

struct waiting {
    struct install *i;
    struct progress progress;
    struct installs_wait wait;
    struct installs_state state;
    struct install_events events;
    str told; /* the last trouble, in the arena of the command */
    bool is_unheard_told;
};

/* ---- Telling. ---- */

static void show(struct waiting *w)
{
    bool is_told[INSTALLS_STEPS];
    for (size_t k = 0; k < INSTALLS_STEPS; k++)
        is_told[k] = w->state.steps[k].is_told;
    cli_installs_read(&w->wait.object, &w->state);
    for (size_t k = 0; k < INSTALLS_STEPS; k++)
        w->state.steps[k].is_told = is_told[k];
    progress_show(&w->progress);
}

/* What does not work yet, once in its own words: on a terminal the step has room for the beginning only. */
static void tell_trouble(struct waiting *w)
{
    if (w->state.stand != INSTALLS_TROUBLED || str_eq(w->told, w->state.message))
        return;
    struct arena *a = &w->i->c.arena;
    w->told = str_dup(a, w->state.message);
    progress_say(&w->progress, "%.*s: %.*s; it is tried again", STR(w->state.reason), STR(cli_visible(a, w->told)));
}

static void tell_unheard(struct waiting *w)
{
    bool is_new = json_is_null(json_get(&w->wait.object, S("status")));
    if (w->state.stand != INSTALLS_UNSEEN || w->is_unheard_told ||
        cli_installs_now() - w->wait.began < (is_new ? NO_WORD : NO_CHANGE) * NS_PER_S)
        return;
    w->is_unheard_told = true;
    progress_say(&w->progress,
                 "No controller has said a word: nobody seems to work on it. \"%s up\" has one\n"
                 "inside; on another Kubernetes somebody has to run \"%s manager\".",
                 help_program(), help_program());
}

/* A change is taken back by going back to what runs, and not by taking that away. */
static bool is_change(const struct waiting *w, str *ret_installed)
{
    *ret_installed = json_text(json_dig(&w->wait.object, "status.installedPackage"));
    return ret_installed->n && !str_eq(*ret_installed, w->i->package);
}

static str way_back(const struct waiting *w)
{
    struct install *i = w->i;
    struct arena *a = &i->c.arena;
    str installed;
    if (is_change(w, &installed))
        return str_fmt(a, "back to what runs:  %.*s", STR(cli_install_command(i, installed, &i->target)));
    return str_fmt(a, "take it back:  %s uninstall %.*s%.*s", help_program(), STR(i->target.name),
                   STR(cli_installs_flags(&i->c, &i->target)));
}

/* How to see, to wait and to take back, one below the other. */
static str ways_on(const struct waiting *w)
{
    struct install *i = w->i;
    str again = cli_install_command(i, i->package, &i->target), installed;
    return str_fmt(&i->c.arena, "wait for it:%*s%.*s --wait\n%.*s", is_change(w, &installed) ? 8 : 3, "", STR(again),
                   STR(way_back(w)));
}

static int tell_late(struct waiting *w)
{
    const struct installs_state *s = &w->state;
    struct install *i = w->i;
    progress_end(&w->progress);
    struct buf why = {.arena = &i->c.arena};
    if (s->stand == INSTALLS_UNSEEN)
        buf_fmt(&why, ": nobody seems to work on it");
    else if (s->message.n || s->reason.n)
        buf_fmt(&why, ": %.*s%s%.*s", STR(s->reason), s->message.n && s->reason.n ? ": " : "",
                STR(cli_visible(&i->c.arena, s->message)));
    term_complain("install", "%.*s is not ready in time%.*s\nIt goes on by itself.\n%.*s",
                  STR(cli_installs_title(&i->c.arena, &i->target)), STR(buf_str(&why)), STR(ways_on(w)));
    return CLI_FAILED;
}

static int tell_interrupted(struct waiting *w)
{
    struct install *i = w->i;
    progress_end(&w->progress);
    term_complain("install", "interrupted; the install goes on by itself.\n%.*s", STR(ways_on(w)));
    return CLI_SIGNALLED + follow_signal(&i->follow);
}

static int tell_leaving(struct waiting *w)
{
    progress_end(&w->progress);
    term_complain("install", "%.*s is being uninstalled by somebody",
                  STR(cli_installs_title(&w->i->c.arena, &w->i->target)));
    return CLI_FAILED;
}

/* The other kind of install: the cluster's, or that of the namespace one is in. */
static str other_scope(struct install *i)
{
    struct arena *a = &i->c.arena;
    struct installs_target other = i->target;
    other.is_cluster = !other.is_cluster;
    other.namespace = other.is_cluster ? (str){0} : command_namespace(&i->c);
    other.resource = cli_installs_resource(other.dialect, other.is_cluster);
    return str_fmt(a, "instead:  %s uninstall %.*s%.*s && %.*s", help_program(), STR(i->target.name),
                   STR(cli_installs_flags(&i->c, &i->target)), STR(cli_install_command(i, i->package, &other)));
}

static int tell_refused(struct waiting *w)
{
    const struct installs_state *s = &w->state;
    struct install *i = w->i;
    progress_end(&w->progress);
    term_complain("install", "%.*s is refused, and nothing was changed: %.*s: %.*s\n%.*s",
                  STR(cli_installs_title(&i->c.arena, &i->target)), STR(s->reason),
                  STR(cli_visible(&i->c.arena, s->message)),
                  STR(str_eq(s->reason, S("ScopeMismatch")) ? other_scope(i) : way_back(w)));
    return CLI_FAILED;
}

/* ---- Ready. ---- */

/* The record says which kinds it brought; who may not read it is not told of them. */
static bool read_record(struct install *i, struct json *ret)
{
    const struct dialect_kind *kind = &i->target.dialect->record[i->target.is_cluster];
    struct client_resource resource = {i->target.resource.group, i->target.resource.version, kind->plural, kind->kind,
                                       !i->target.is_cluster};
    struct client_ref ref = {.resource = &resource, .namespace = i->target.namespace, .name = i->target.name};
    struct err err;
    return client_get(i->c.session.client, &i->c.arena, &ref, ret, &err) == 0;
}

/* The kinds, a line each; the first by itself, too. */
static str kinds_of(struct arena *a, const struct json *record, str *ret_first)
{
    struct buf b = {.arena = a};
    const struct json *crds = json_dig(record, "spec.customresourcedefinitions");
    size_t n = 0;
    json_each_item(crds, crd)
    {
        str name = json_get_text(crd, S("name"));
        if (n == 0)
            *ret_first = name;
        if (n++ < KINDS_TOLD)
            buf_fmt(&b, "\n  %.*s", STR(cli_visible(a, name)));
    }
    if (n > KINDS_TOLD)
        buf_fmt(&b, "\n  and %zu more", n - KINDS_TOLD);
    return buf_str(&b);
}

/* False: it is known that nobody manages roles there. */
static bool has_roles(struct install *i)
{
    static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);
    struct client_ref ref = {.resource = &namespaces, .name = i->target.namespace};
    struct json namespace;
    struct err err;
    if (client_get_metadata(i->c.session.client, &i->c.arena, &ref, &namespace, &err) < 0)
        return true;
    return str_eq(object_label(&namespace, S(LABEL_MANAGED_ROLES)), S("true"));
}

static void tell_users(struct install *i, str first)
{
    struct arena *a = &i->c.arena;
    str namespace = i->target.namespace;
    str roles = i->target.is_cluster ? S("crossplane-env-") : str_fmt(a, "crossplane:ns:%.*s:", STR(namespace));
    if (!i->target.is_cluster && !has_roles(i)) {
        term_say(&i->c.term,
                 "That namespace has no roles for people yet who could use this. It gets them by:\n"
                 "  kubectl label namespace %.*s " LABEL_MANAGED_ROLES "=true",
                 STR(namespace));
        return;
    }
    term_say(&i->c.term, "Roles %.*s{admin,edit} may use that now, {view} may see it.", STR(roles));
    term_say(&i->c.term, "By name:  %s who-can create %.*s%s%.*s", help_program(), STR(shell_word(a, first)),
             i->target.is_cluster ? " -A" : " -n ", STR(namespace));
}

static int tell_ready(struct waiting *w)
{
    struct install *i = w->i;
    struct json record;
    str version = json_text(json_dig(&w->wait.object, "status.version")), kinds = {0}, first = {0};
    progress_end(&w->progress);
    if (read_record(i, &record))
        kinds = kinds_of(&i->c.arena, &record, &first);
    term_say(&i->c.term, "%.*s %.*s is ready%s%.*s%s%.*s", STR(i->target.name), STR(version),
             i->target.is_cluster ? " for the whole cluster" : " in namespace ", STR(i->target.namespace),
             kinds.n ? ", and brought" : ".", STR(kinds));
    if (w->state.message.n)
        term_say(&i->c.term, "Of its dependencies: %.*s.", STR(cli_visible(&i->c.arena, w->state.message)));
    if (first.n && i->target.dialect->has_personas)
        tell_users(i, first);
    return CLI_OK;
}

/* ---- The loop. ---- */

static int fail(struct waiting *w, enum installs_news news, struct err *err)
{
    progress_end(&w->progress);
    if (news == INSTALLS_GONE)
        err_set(err, ERR_NOT_FOUND, "%.*s was deleted by somebody",
                STR(cli_installs_title(&w->i->c.arena, &w->i->target)));
    return command_fail(&w->i->c, err);
}

/* Returns the exit code, or -1: not yet. */
static int judge(struct waiting *w)
{
    switch (w->state.stand) {
    case INSTALLS_READY:
        return tell_ready(w);
    case INSTALLS_REFUSED:
        return tell_refused(w);
    case INSTALLS_LEAVING:
    case INSTALLS_IN_USE:
        return tell_leaving(w);
    default:
        tell_trouble(w);
        tell_unheard(w);
        return -1;
    }
}

static int wait_on(struct waiting *w)
{
    struct err err;
    for (enum installs_news news = INSTALLS_LOOKED;; news = cli_installs_wait_next(&w->wait, &err)) {
        if (news == INSTALLS_INTERRUPTED)
            return tell_interrupted(w);
        if (news == INSTALLS_FAILED || news == INSTALLS_GONE)
            return fail(w, news, &err);
        show(w);
        if (news != INSTALLS_NOTHING)
            cli_install_tell_events(w->i, &w->events, &w->progress);
        int code = judge(w);
        if (code >= 0)
            return code;
        if (news == INSTALLS_LATE)
            return tell_late(w);
    }
}

int cli_install_wait(struct install *i)
{
    struct waiting w = {.i = i, .wait = {.c = &i->c, .target = &i->target, .follow = &i->follow}};
    w.progress = (struct progress){.term = &i->c.term, .steps = w.state.steps, .n = INSTALLS_STEPS};
    cli_installs_wait_begin(&w.wait, &i->object);
    int code = wait_on(&w);
    progress_end(&w.progress);
    i->object = json_dup(&i->c.arena, &w.wait.object);
    cli_installs_wait_end(&w.wait);
    return code;
}
