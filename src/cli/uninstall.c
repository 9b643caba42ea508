/* SPDX-License-Identifier: Apache-2.0 */
/* reeve uninstall: takes an install away, and waits until its rights and kinds are gone, too.
 *
 *   count instances ─ some ─► nothing is changed: both ways forward are printed
 *         │ none, --when-unused or --delete-instances
 *   [--delete-instances: say so on the object] ─► delete ─► the controller takes back, step by step ─► the object is gone
 *                                                              └─► in use: what people made of it is counted, both ways out told */
#include "cli/cli_installs.h"

#include "base/shell.h"
#include "cli/help.h"
#include "cli/term.h"
#include "object/object.h"

enum {
    MINUTES = 5,
    NO_WORD = 5, /* seconds after which a controller has said something */
    STALE = 3,   /* seconds after which what it says is of now */
    ELSEWHERE_MAX = 5,
};
enum { STEP_INSTANCES, STEP_PACKAGE, STEPS };

struct uninstall {
    struct command c;
    struct installs_target target;
    int dry_run, output;
    bool is_waiting, is_forgiving;
    bool deletes_instances, is_patient; /* --delete-instances, --when-unused */
    str in_use;                         /* instances because of which nothing was changed */
    struct follow follow;
    struct json object;
};

struct leaving {
    struct uninstall *u;
    struct installs_wait wait;
    struct installs_state state;
    struct progress progress;
    struct progress_step steps[STEPS];
    bool is_unheard_told;
};

/* ---- Asking for it. ---- */

static void say_one(struct uninstall *u, const struct installs_target *other, struct buf *b)
{
    buf_fmt(b, "\n%.*s is another:  %s uninstall %.*s%.*s", STR(cli_installs_title(&u->c.arena, other)), help_program(),
            STR(other->name), STR(cli_installs_flags(&u->c, other)));
}

/* In all namespaces, if one may look there. */
static bool say_everywhere(struct uninstall *u, struct installs_target *other, struct buf *b)
{
    struct arena *a = &u->c.arena;
    struct client_ref all = {.resource = &other->resource};
    struct client_list_options options = {.field_selector = str_fmt(a, "metadata.name=%.*s", STR(other->name))};
    struct json items;
    struct err ignored;
    if (client_list(u->c.session.client, a, &all, &options, &items, NULL, &ignored) < 0)
        return false;
    for (size_t i = 0; i < items.n && i < ELSEWHERE_MAX; i++) {
        other->namespace = object_namespace(&items.items[i]);
        say_one(u, other, b);
    }
    return true;
}

/* The same name in another place is what people mean most often. */
static void say_elsewhere(struct uninstall *u, struct buf *b)
{
    for (unsigned i = 0; i < 4; i++) {
        struct installs_target other = {
            .dialect = i & 1 ? &dialect_stacks : &dialect_packages, .is_cluster = i & 2, .name = u->target.name};
        other.namespace = other.is_cluster ? (str){0} : command_namespace(&u->c);
        other.resource = cli_installs_resource(other.dialect, other.is_cluster);
        struct client_ref ref = cli_installs_ref(&other);
        struct err ignored;
        if (!other.is_cluster && say_everywhere(u, &other, b))
            continue;
        if (client_get_metadata(u->c.session.client, &u->c.arena, &ref, NULL, &ignored) == 0)
            say_one(u, &other, b);
    }
}

static int find(struct uninstall *u, struct err *err)
{
    struct arena *a = &u->c.arena;
    struct client_ref ref = cli_installs_ref(&u->target);
    cli_installs_need(&u->c, &u->target, "get");
    int code = client_get(u->c.session.client, a, &ref, &u->object, err);
    if (code != ERR_NOT_FOUND || !client_is_gone(err) || u->is_forgiving)
        return code < 0 ? cli_installs_explain(a, &u->target, err) : 0;
    struct buf text = {.arena = a};
    buf_fmt(&text, "there is no %.*s", STR(cli_installs_title(a, &u->target)));
    say_elsewhere(u, &text);
    return err_set(err, ERR_NOT_FOUND, "%.*s", STR(buf_str(&text)));
}

/* On the object, so that the controller does it, with the rights that the package has anyway. */
static int mark(struct uninstall *u, struct err *err)
{
    struct arena *a = &u->c.arena;
    struct json patch = json_obj(), meta = json_obj(), annotations = json_obj();
    if (!u->deletes_instances || str_eq(object_annotation(&u->object, S(ANNOTATION_DELETE_INSTANCES)), S("true")))
        return 0;
    json_add(a, &annotations, S(ANNOTATION_DELETE_INSTANCES), json_str(S("true")));
    json_add(a, &meta, S("annotations"), annotations);
    json_add(a, &meta, S("uid"), json_str(object_uid(&u->object)));
    json_add(a, &patch, S("metadata"), meta);
    struct client_ref ref = cli_installs_ref(&u->target);
    struct client_patch_args args = {
        CLIENT_PATCH_MERGE, &patch, {.field_manager = INSTALLS_MANAGER, .dry_run = u->dry_run == DRY_RUN_SERVER}};
    return client_patch(u->c.session.client, a, &ref, &args, &u->object, err);
}

/* Whether instances keep it, before anything is changed. What is being uninstalled already waits for them anyway. */
static int check_instances(struct uninstall *u, struct err *err)
{
    if (u->deletes_instances || u->is_patient || object_is_deleting(&u->object))
        return 0;
    int code = cli_installs_count(&u->c, &u->target, &u->object, &u->in_use, err);
    if (code == ERR_FORBIDDEN) {
        str why = str_dup(&u->c.arena, str_of(err->msg));
        return err_set(err, code, "%.*s\nhint: --when-unused leaves the counting to the controller", STR(why));
    }
    return code;
}

static int ask(struct uninstall *u, struct err *err)
{
    int code = find(u, err);
    if (code < 0 || (code = check_instances(u, err)) < 0 || u->in_use.n)
        return code;
    if (u->deletes_instances)
        cli_installs_need(&u->c, &u->target, "patch");
    cli_installs_need(&u->c, &u->target, "delete");
    if (u->dry_run == DRY_RUN_CLIENT || (code = mark(u, err)) < 0 || object_is_deleting(&u->object))
        return code;
    struct client_ref ref = cli_installs_ref(&u->target);
    struct client_delete_options options = {.uid = object_uid(&u->object), .dry_run = u->dry_run == DRY_RUN_SERVER};
    return client_delete(u->c.session.client, &u->c.arena, &ref, &options, NULL, err);
}

/* ---- Telling. ---- */

static void print(struct uninstall *u, const char *word)
{
    struct arena *a = &u->c.arena;
    str path = cli_installs_path(a, &u->target);
    if (u->output == OUTPUT_NAME)
        output_text(str_fmt(a, "%.*s\n", STR(path)));
    else
        output_text(str_fmt(a, "%.*s %s%s\n", STR(path), word, cli_installs_dry_words[u->dry_run]));
}

static str command_of(struct uninstall *u, const char *flag)
{
    return str_fmt(&u->c.arena, "%s uninstall %.*s%.*s%s", help_program(), STR(shell_word(&u->c.arena, u->target.name)),
                   STR(cli_installs_flags(&u->c, &u->target)), flag);
}

static int tell_gone(struct leaving *l)
{
    for (size_t i = 0; i < STEPS; i++)
        l->steps[i].state = PROGRESS_DONE;
    l->steps[STEP_INSTANCES].note = S("none left");
    l->steps[STEP_PACKAGE].note = S("taken back");
    progress_show(&l->progress);
    progress_end(&l->progress);
    print(l->u, "uninstalled");
    return CLI_OK;
}

static int tell_unchanged(struct uninstall *u)
{
    term_complain("uninstall",
                  "%.*s is in use: %.*s. Nothing was changed.\n"
                  "To uninstall it once they are deleted:\n  %.*s\nTo delete them as well:\n  %.*s",
                  STR(cli_installs_title(&u->c.arena, &u->target)), STR(cli_visible(&u->c.arena, u->in_use)),
                  STR(command_of(u, " --when-unused")), STR(command_of(u, " --delete-instances")));
    return CLI_FAILED;
}

static int tell_in_use(struct leaving *l)
{
    struct uninstall *u = l->u;
    str message = cli_visible(&u->c.arena, l->state.message), text, advice;
    progress_end(&l->progress);
    if (!str_cut(message, ';', &text, &advice))
        text = message;
    term_complain(
        "uninstall",
        "%.*s is in use, %.*s\nIt goes on by itself when they are gone. Either delete them, or have them deleted:\n  %.*s",
        STR(cli_installs_title(&u->c.arena, &u->target)), STR(u->deletes_instances ? message : text),
        STR(command_of(u, " --delete-instances")));
    return CLI_FAILED;
}

static int tell_late(struct leaving *l)
{
    struct uninstall *u = l->u;
    const struct installs_state *s = &l->state;
    progress_end(&l->progress);
    term_complain("uninstall", "%.*s is not gone in time%s%.*s\nIt goes on by itself. Wait for it:  %.*s",
                  STR(cli_installs_title(&u->c.arena, &u->target)),
                  s->message.n ? ": " : ": nobody seems to work on it", STR(cli_visible(&u->c.arena, s->message)),
                  STR(command_of(u, "")));
    return CLI_FAILED;
}

static int tell_interrupted(struct leaving *l)
{
    struct uninstall *u = l->u;
    progress_end(&l->progress);
    term_complain("uninstall", "interrupted; what was asked for goes on by itself.\nwait for it:  %.*s",
                  STR(command_of(u, "")));
    return CLI_SIGNALLED + follow_signal(&u->follow);
}

/* ---- Waiting. ---- */

static void show(struct leaving *l)
{
    struct progress_step *instances = &l->steps[STEP_INSTANCES], *package = &l->steps[STEP_PACKAGE];
    cli_installs_read(&l->wait.object, &l->state);
    str message = l->state.message;
    bool is_waiting = l->state.stand == INSTALLS_IN_USE || str_has_prefix(message, S("deleting "));
    instances->state = is_waiting || message.n == 0 ? PROGRESS_RUNNING : PROGRESS_DONE;
    instances->note = is_waiting ? message : message.n ? S("none left") : (str){0};
    package->state = instances->state == PROGRESS_DONE ? PROGRESS_RUNNING : PROGRESS_AHEAD;
    package->note = package->state == PROGRESS_RUNNING ? message : (str){0};
    progress_show(&l->progress);
}

static void tell_unheard(struct leaving *l)
{
    if (l->state.message.n || l->is_unheard_told || cli_installs_now() - l->wait.began < NO_WORD * NS_PER_S)
        return;
    l->is_unheard_told = true;
    progress_say(&l->progress,
                 "No controller has said a word: nobody seems to work on it. \"%s up\" has one\n"
                 "inside; on another Kubernetes somebody has to run \"%s manager\".",
                 help_program(), help_program());
}

/* What was being uninstalled before we came may have a status of before: controllers look again every NS_PER_S. */
static bool is_held_back(const struct leaving *l)
{
    int64_t patience = object_is_deleting(&l->u->object) ? STALE * NS_PER_S : 0;
    if (l->u->is_patient)
        return false; /* until the time of the command is over */
    return l->state.stand == INSTALLS_IN_USE && cli_installs_now() - l->wait.began >= patience;
}

/* When there is no time left to look again, the status of before is what is known; unless we have just asked for what it advises. */
static bool is_in_the_way(const struct leaving *l)
{
    return l->state.stand == INSTALLS_IN_USE && !l->u->deletes_instances;
}

static int wait_on(struct leaving *l)
{
    struct err err;
    for (;;) {
        switch (cli_installs_wait_next(&l->wait, &err)) {
        case INSTALLS_GONE:
            return tell_gone(l);
        case INSTALLS_INTERRUPTED:
            return tell_interrupted(l);
        case INSTALLS_FAILED:
            progress_end(&l->progress);
            return command_fail(&l->u->c, &err);
        case INSTALLS_LATE:
            show(l);
            return is_held_back(l) || is_in_the_way(l) ? tell_in_use(l) : tell_late(l);
        case INSTALLS_LOOKED:
            if (!str_eq(object_uid(&l->wait.object), object_uid(&l->u->object)))
                return tell_gone(l); /* another has its name already */
            show(l);
            if (is_held_back(l))
                return tell_in_use(l);
            break;
        case INSTALLS_NOTHING:
            progress_show(&l->progress);
            if (is_held_back(l))
                return tell_in_use(l);
            break;
        }
        tell_unheard(l);
    }
}

static int wait_until_gone(struct uninstall *u)
{
    struct leaving l = {.u = u,
                        .wait = {.c = &u->c, .target = &u->target, .follow = &u->follow},
                        .steps = {{.name = "instances"}, {.name = "package"}}};
    l.progress = (struct progress){.term = &u->c.term, .steps = l.steps, .n = STEPS};
    cli_installs_wait_begin(&l.wait, &u->object);
    int code = wait_on(&l);
    progress_end(&l.progress);
    cli_installs_wait_end(&l.wait);
    return code;
}

static int work(struct uninstall *u)
{
    struct err err;
    int code = ask(u, &err);
    bool is_gone = code == ERR_NOT_FOUND && client_is_gone(&err);
    if (code < 0 && follow_signal(&u->follow)) {
        term_complain("uninstall", "interrupted before the server answered; this finds out, and goes on:\n  %.*s",
                      STR(command_of(u, u->deletes_instances ? " --delete-instances" : "")));
        return CLI_SIGNALLED + follow_signal(&u->follow);
    }
    if (is_gone && u->is_forgiving)
        return CLI_OK;
    if (code < 0 && !is_gone)
        return command_fail(&u->c, &err);
    if (u->in_use.n)
        return tell_unchanged(u);
    if (u->is_waiting && !is_gone)
        return wait_until_gone(u);
    print(u, is_gone || u->dry_run ? "uninstalled" : "uninstalling");
    return CLI_OK;
}

static int run(struct uninstall *u, const struct flag_words *words)
{
    struct err err;
    if (words->n != 1)
        return command_misused(&u->c, words->n ? "one install at a time" : "which install?");
    if (u->target.is_cluster && u->c.has_namespace)
        return command_misused(&u->c, "-n and --cluster contradict each other: it is of one namespace, or of all");
    if (u->deletes_instances && u->is_patient)
        return command_misused(&u->c, "--when-unused and --delete-instances exclude each other");
    u->is_waiting = u->is_waiting && u->dry_run == DRY_RUN_NONE;
    u->target.name = str_of(words->p[0]);
    u->target.resource = cli_installs_resource(u->target.dialect, u->target.is_cluster);
    if (u->is_waiting)
        follow_catch();
    if (command_connect(&u->c, &err) < 0 || (u->is_waiting && follow_open(&u->follow, &u->c.session, &err) < 0))
        return command_fail(&u->c, &err);
    if (!u->target.is_cluster)
        u->target.namespace = command_namespace(&u->c);
    int code = work(u);
    follow_close(&u->follow);
    return code;
}

int cli_uninstall(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "name", NULL};
    struct uninstall u = {
        .c = {.name = "uninstall",
              .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_TIMEOUT,
              .timeout_ns = 60 * NS_PER_S * MINUTES},
        .target.dialect = &dialect_packages,
        .is_waiting = true,
    };
    bool is_stack = false;
    const struct flag flags[] = {
        {.name = "cluster", .kind = FLAG_YES, .into = &u.target.is_cluster},
        {.name = "delete-instances", .kind = FLAG_YES, .into = &u.deletes_instances},
        {.name = "dry-run", .kind = FLAG_WORD, .into = &u.dry_run, .words = cli_installs_dry_runs, .bare = "client"},
        {.name = "ignore-not-found", .kind = FLAG_YES, .into = &u.is_forgiving},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &u.output, .words = outputs},
        {.name = "stack", .kind = FLAG_YES, .into = &is_stack},
        {.name = "wait", .kind = FLAG_YES, .into = &u.is_waiting},
        {.name = "when-unused", .kind = FLAG_YES, .into = &u.is_patient},
    };
    struct flag_words words;
    int code = command_start(&u.c, flags, COUNT(flags), argc, argv, &words);
    if (code == CLI_OK && !u.c.is_over) {
        u.output = u.output ? OUTPUT_NAME : OUTPUT_TABLE;
        u.target.dialect = is_stack ? &dialect_stacks : &dialect_packages;
        code = run(&u, &words);
    }
    return command_end(&u.c, code);
}
