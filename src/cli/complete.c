/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/question.h"
#include "object/fleet.h"
#include "object/kind.h"
#include "object/object.h"
#include "package/dialect.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What a command line that is not finished may go on with.
 *
 *   words ─► complete_read (pure): which flag or word is at hand ─► complete_words (the manual), complete_names (the server) */

/* What may stand in a place of the command line. */
enum complete_what {
    COMPLETE_NOTHING, /* that we know of */
    COMPLETE_FILES,
    COMPLETE_FOLDERS,
    COMPLETE_COMMANDS,
    COMPLETE_SHELLS,
    COMPLETE_VERBS, /* of the API */
    COMPLETE_TYPES, /* of objects; behind a slash their names */
    COMPLETE_NAMESPACES,
    COMPLETE_CONTEXTS,
    COMPLETE_USERS, /* that bindings name */
    COMPLETE_ROLES,
    COMPLETE_INSTALLS,
    COMPLETE_CLUSTERS,
    COMPLETE_BRANCHES, /* roles, namespaces and installs: what tree draws */
};

/* How a shell is to go on: numbers of cobra, which kubectl expects of its plugins. */
enum complete_directive {
    DIRECTIVE_FILES = 0,
    DIRECTIVE_NO_SPACE = 2,
    DIRECTIVE_NO_FILES = 4,
    DIRECTIVE_FOLDERS = 16,
};

struct complete {
    struct command base; /* its common flags are those that were typed */
    const struct help_page *page;
    const char *verb;             /* of the command; NULL: it has none, or none yet */
    flag_texts words;             /* behind it */
    const struct help_flag *flag; /* whose value is at hand; NULL: it is a word, or a flag */
    str typed;                    /* what is there of it */
    bool is_cluster;              /* --cluster was given */
    bool is_words;                /* behind -- */
    VEC(struct complete_candidate {
        str text;
        const char *about; /* or NULL */
    })
    found;
    unsigned directive;
};

static void complete_add(struct complete *c, str text, const char *about);

/* What a server can tell of a command line that is not finished. A page of each list at most: nobody reads more. */

enum { PAGE = 500 };

static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);
static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);
static const struct client_resource roles =
    CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false);

typedef VEC(str) names;

/* One page; of whole objects, or of their metadata. */
static struct json list_page(struct complete *c, const struct client_ref *ref, bool is_whole)
{
    struct buf target = {.arena = &c->base.arena};
    struct err ignored;
    struct json answer;
    client_path(&target, ref);
    buf_fmt(&target, "?limit=%d", PAGE);
    struct client_request request = {
        .method = S("GET"),
        .target = buf_str(&target),
        .accept = is_whole ? (str){0} : S("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
    };
    if (client_raw(c->base.session.client, &c->base.arena, &request, &answer, &ignored) < 0)
        return json_arr();
    const struct json *items = json_get(&answer, S("items"));
    return json_is_arr(items) ? *items : json_arr();
}

/* prefix: what stands in front of each, "pods/". */
static void add_objects(struct complete *c, names *n, const struct client_ref *ref, str prefix)
{
    struct json items = list_page(c, ref, false);
    json_each_item(&items, object)
    {
        str name = object_name(object);
        *vec_push(&c->base.arena, n) = prefix.n ? str_fmt(&c->base.arena, "%.*s%.*s", STR(prefix), STR(name)) : name;
    }
}

static void add_installs(struct complete *c, names *n, bool is_cluster)
{
    const struct dialect *dialects[] = {&dialect_packages, &dialect_stacks};
    for (size_t i = 0; i < COUNT(dialects); i++) {
        const struct dialect *d = dialects[i];
        const struct dialect_kind *kind = &d->install[is_cluster];
        struct client_resource resource = {d->group, d->version, kind->plural, kind->kind, !is_cluster};
        struct client_ref ref = {.resource = &resource,
                                 .namespace = is_cluster ? (str){0} : command_namespace(&c->base)};
        add_objects(c, n, &ref, (str){0});
    }
}

static void add_subject(struct complete *c, names *n, const struct json *subject)
{
    str name = json_get_text(subject, S("name")), kind = json_get_text(subject, S("kind"));
    if (str_eq(kind, S("User")))
        *vec_push(&c->base.arena, n) = name;
    else if (str_eq(kind, S("ServiceAccount")))
        *vec_push(&c->base.arena, n) = str_fmt(&c->base.arena, "system:serviceaccount:%.*s:%.*s",
                                               STR(json_get_text(subject, S("namespace"))), STR(name));
}

static void add_users(struct complete *c, names *n)
{
    static const struct client_resource bindings[] = {
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false),
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true)};
    for (size_t i = 0; i < COUNT(bindings); i++) {
        struct json items = list_page(c, &(struct client_ref){.resource = &bindings[i]}, true);
        json_each_item(&items, binding)
        {
            const struct json *subjects = json_get(binding, S("subjects"));
            json_each_item(subjects, subject) add_subject(c, n, subject);
        }
    }
}

/* ---- Types. ---- */

/* Which types have the verb that was typed before; one that is none of the usual says nothing. */
static unsigned verb_typed(const struct complete *c)
{
    static const struct {
        const char *name;
        unsigned verb;
    } rows[] = {{"create", VERB_CREATE}, {"delete", VERB_DELETE}, {"deletecollection", VERB_DELETECOLLECTION},
                {"get", VERB_GET},       {"list", VERB_LIST},     {"patch", VERB_PATCH},
                {"update", VERB_UPDATE}, {"watch", VERB_WATCH}};
    for (size_t i = 0; c->words.n && i < COUNT(rows); i++) {
        if (str_eq(c->words.p[c->words.n - 1], str_of(rows[i].name)))
            return rows[i].verb;
    }
    return 0;
}

static void add_types(struct complete *c, names *n)
{
    const struct client_discovery *all;
    struct err ignored;
    unsigned verb = verb_typed(c);
    if (resource_all(&c->base, &all, &ignored) < 0)
        return;
    for (size_t i = 0; i < all->n; i++) {
        const struct client_resource *r = &all->p[i].resource;
        if ((all->p[i].verbs & verb) == verb)
            *vec_push(&c->base.arena, n) =
                r->group.n ? str_fmt(&c->base.arena, "%.*s.%.*s", STR(r->plural), STR(r->group)) : r->plural;
    }
}

/* TYPE/NAME */
static void add_named(struct complete *c, names *n)
{
    struct resource_named found;
    struct err ignored;
    str type, name;
    (void)str_cut(c->typed, '/', &type, &name);
    if (type.n == 0 || resource_find(&c->base, type, &found, &ignored) < 0)
        return;
    const struct client_discovery *all;
    (void)resource_all(&c->base, &all, &ignored);
    for (size_t i = 0; i < all->n; i++) {
        const struct client_resource *r = &all->p[i].resource;
        if (!str_eq(r->group, found.group) || !str_eq(r->plural, found.resource))
            continue;
        struct client_ref ref = {.resource = r, .namespace = r->namespaced ? command_namespace(&c->base) : (str){0}};
        add_objects(c, n, &ref, str_upto(c->typed, type.n + 1));
    }
}

/* ---- All of it. ---- */

/* Only files are read for these. */
static void add_contexts(struct complete *c, names *n)
{
    struct client_config_args args = {.kubeconfig = c->base.server.kubeconfig, .env = (const char *const *)environ};
    struct err ignored;
    const str *list;
    size_t count;
    if (client_config_contexts(&c->base.arena, &args, &list, &count, &ignored) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        *vec_push(&c->base.arena, n) = list[i];
}

static void collect(struct complete *c, names *n, enum complete_what what)
{
    bool is_tree = what == COMPLETE_BRANCHES;
    if (what == COMPLETE_NAMESPACES || is_tree)
        add_objects(c, n, &(struct client_ref){.resource = &namespaces}, (str){0});
    if (what == COMPLETE_ROLES || is_tree)
        add_objects(c, n, &(struct client_ref){.resource = &roles}, (str){0});
    if (what == COMPLETE_INSTALLS || is_tree)
        add_installs(c, n, c->is_cluster);
    if (what == COMPLETE_CLUSTERS)
        add_objects(c, n, &(struct client_ref){.resource = &clusters}, (str){0});
    if (what == COMPLETE_USERS)
        add_users(c, n);
    if (what == COMPLETE_TYPES && str_find_char(c->typed, '/') >= 0)
        add_named(c, n);
    else if (what == COMPLETE_TYPES)
        add_types(c, n);
}

static int by_text(const void *a, const void *b)
{
    const str *x = a, *y = b;
    return str_cmp(*x, *y);
}

/* Asks the kubeconfig for its contexts, and the server for the rest: types, names of objects. */
static void complete_names(struct complete *c, enum complete_what what)
{
    struct err ignored;
    names n = {0};
    if (what == COMPLETE_CONTEXTS)
        add_contexts(c, &n);
    else if (command_connect(&c->base, &ignored) == 0)
        collect(c, &n, what);
    if (n.n)
        qsort(n.p, n.n, sizeof *n.p, by_text);
    for (size_t i = 0; i < n.n; i++) {
        if (i == 0 || !str_eq(n.p[i], n.p[i - 1]))
            complete_add(c, n.p[i], NULL);
    }
}

/* reeve __complete WORD...: what the scripts of src/cli/completion and kubectl ask for. One candidate a line, a tabulator before
 * what it is; the last line says how to go on, ":4" for instance. */

enum { PATIENCE_S = 2 }; /* whoever pressed the key is waiting */

/* ---- Reading what is there. ---- */

static const struct help_flag *flag_named(const struct complete *c, str name)
{
    for (size_t i = 0; c->page && i < c->page->n_flags; i++) {
        if (str_eq(str_of(c->page->flags[i].name), name))
            return &c->page->flags[i];
    }
    return NULL;
}

static const struct help_flag *flag_lettered(const struct complete *c, char letter)
{
    for (size_t i = 0; c->page && i < c->page->n_flags; i++) {
        if (c->page->flags[i].letter == letter)
            return &c->page->flags[i];
    }
    return NULL;
}

/* Of the flags that say which server is to be asked. */
static void take_flag(struct complete *c, const struct help_flag *f, str value)
{
    str name = str_of(f->name);
    if (str_eq(name, S("kubeconfig")))
        c->base.server.kubeconfig = value;
    else if (str_eq(name, S("context")))
        c->base.server.context = value;
    else if (str_eq(name, S("as")))
        c->base.server.as = value;
    else if (str_eq(name, S("as-group")))
        *vec_push(&c->base.arena, &c->base.server.groups) = value;
    else if (str_eq(name, S("namespace")))
        c->base.namespace = value;
    else if (str_eq(name, S("cluster")) && !f->value)
        c->is_cluster = true;
}

/* A flag, with or without a value; one that still needs its value becomes c->flag. */
static void read_flag(struct complete *c, str word)
{
    bool is_long = str_has_prefix(word, S("--"));
    str name = word, value = {0};
    bool has_value = is_long ? str_cut(str_from(word, 2), '=', &name, &value) : word.n > 2;
    const struct help_flag *f = is_long ? flag_named(c, name) : flag_lettered(c, word.p[1]);
    if (!is_long && has_value)
        value = str_from(word, word.p[2] == '=' ? 3 : 2);
    if (f == NULL)
        return;
    if (f->value == NULL || has_value)
        take_flag(c, f, value);
    else if (!f->is_optional)
        c->flag = f;
}

static bool has_verb(const struct help_page *page, str word, const char **ret)
{
    for (const char *const *verb = page ? page->verbs : NULL; verb && *verb; verb++) {
        if (str_eq(str_of(*verb), word)) {
            *ret = *verb;
            return true;
        }
    }
    return false;
}

static void read_word(struct complete *c, str word)
{
    if (c->flag) {
        take_flag(c, c->flag, word);
        c->flag = NULL;
    } else if (!c->is_words && str_eq(word, S("--"))) {
        c->is_words = true;
    } else if (!c->is_words && word.n > 1 && word.p[0] == '-') {
        read_flag(c, word);
    } else if (c->page == NULL) {
        c->page = help_find(str_cstr(&c->base.arena, word));
        if (c->page == NULL)
            *vec_push(&c->base.arena, &c->words) = word;
    } else if (c->verb || c->words.n || !has_verb(c->page, word, &c->verb)) {
        *vec_push(&c->base.arena, &c->words) = word;
    }
}

/* The last of the words is the one to go on with; it may be empty. */
static void complete_read(struct complete *c, int n, char **words)
{
    for (int i = 0; i < n - 1; i++)
        read_word(c, str_of(words[i]));
    c->typed = n ? str_of(words[n - 1]) : (str){0};
    if (c->flag || c->is_words || !str_has_prefix(c->typed, S("--")) || str_find_char(c->typed, '=') < 0)
        return;
    str name, value; /* --output=js */
    (void)str_cut(str_from(c->typed, 2), '=', &name, &value);
    c->flag = flag_named(c, name);
    c->typed = value;
}

/* ---- What may follow. ---- */

/* What a shell takes for a word, whoever wrote it. */
static bool is_plain(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char ch = (unsigned char)text.p[i];
        bool is_letter = (ch | 0x20) >= 'a' && (ch | 0x20) <= 'z';
        if (!is_letter && !char_is_digit(ch) && (ch == 0 || !strchr("-_.:/@%+,=", ch)))
            return false;
    }
    return text.n > 0;
}

/* Adds a candidate that begins with what was typed. One that a shell could take for more than a word is left out. */
static void complete_add(struct complete *c, str text, const char *about)
{
    if (str_has_prefix(text, c->typed) && is_plain(text))
        *vec_push(&c->base.arena, &c->found) = (struct complete_candidate){text, about};
}

static void add_flags(struct complete *c)
{
    for (size_t i = 0; c->page && i < c->page->n_flags; i++) {
        const struct help_flag *f = &c->page->flags[i];
        complete_add(c, str_fmt(&c->base.arena, "--%s", f->name), f->about);
    }
}

static void add_commands(struct complete *c)
{
    for (size_t i = 0; i < help_pages_n; i++) {
        if (help_pages[i].command[0])
            complete_add(c, str_of(help_pages[i].command), help_pages[i].summary);
    }
    complete_add(c, S("help"), "show the manual of a command");
}

static void add_list(struct complete *c, const char *const *list)
{
    for (; list && *list; list++)
        complete_add(c, str_of(*list), NULL);
}

static void add(struct complete *c, enum complete_what what)
{
    static const char *const shells[] = {"bash", "fish", "zsh", NULL};
    static const char *const verbs[] = {"approve",  "bind", "create",      "delete", "deletecollection",
                                        "escalate", "get",  "impersonate", "list",   "patch",
                                        "update",   "use",  "watch",       NULL};
    c->directive = what == COMPLETE_FILES     ? DIRECTIVE_FILES
                   : what == COMPLETE_FOLDERS ? DIRECTIVE_FOLDERS
                                              : DIRECTIVE_NO_FILES;
    if (what == COMPLETE_COMMANDS)
        add_commands(c);
    else if (what == COMPLETE_SHELLS)
        add_list(c, shells);
    else if (what == COMPLETE_VERBS)
        add_list(c, verbs);
    else if (what > COMPLETE_FOLDERS)
        complete_names(c, what);
}

/* ---- Which place this is. ---- */

/* What the manual calls values. */
static enum complete_what what_of_value(str value)
{
    static const struct {
        const char *value;
        enum complete_what what;
    } rows[] = {{"NS", COMPLETE_NAMESPACES},    {"NAMESPACE", COMPLETE_NAMESPACES},
                {"CONTEXT", COMPLETE_CONTEXTS}, {"FILE", COMPLETE_FILES},
                {"DIR", COMPLETE_FOLDERS},      {"DATA", COMPLETE_FOLDERS},
                {"USER", COMPLETE_USERS},       {"ROLE", COMPLETE_ROLES}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (str_eq(value, str_of(rows[i].value)))
            return rows[i].what;
    }
    return COMPLETE_NOTHING;
}

/* In capitals is what stands for something else; "IfNotPresent" is meant as it is. */
static bool is_literal(str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (char_is_lower(word.p[i]))
            return true;
    return false;
}

/* "table|wide|json": words; "FILE|json": both. */
static void add_values(struct complete *c, str value)
{
    enum complete_what what = COMPLETE_NOTHING;
    str word, rest = value;
    for (bool more = true; more;) {
        more = str_cut(rest, '|', &word, &rest);
        if (is_literal(word))
            complete_add(c, word, NULL);
        else if (what == COMPLETE_NOTHING)
            what = what_of_value(word);
    }
    add(c, what);
}

/* The words of commands, in their order; the last one may be said again and again. */
static enum complete_what what_of_word(const struct complete *c)
{
    static const struct {
        const char *command, *verb;
        enum complete_what words[3];
    } rows[] = {
        {"approve", NULL, {COMPLETE_INSTALLS}},
        {"check", NULL, {COMPLETE_FILES, COMPLETE_FILES, COMPLETE_FILES}},
        {"clusters", "remove", {COMPLETE_CLUSTERS}},
        {"completion", NULL, {COMPLETE_SHELLS}},
        {"install", NULL, {COMPLETE_FOLDERS}},
        {"matrix", NULL, {COMPLETE_USERS}},
        {"package", "build", {COMPLETE_FOLDERS}},
        {"package", "init", {COMPLETE_FOLDERS}},
        {"package", "inspect", {COMPLETE_FOLDERS}},
        {"package", "lint", {COMPLETE_FOLDERS}},
        {"plan", NULL, {COMPLETE_FOLDERS}},
        {"tree", NULL, {COMPLETE_BRANCHES}},
        {"uninstall", NULL, {COMPLETE_INSTALLS}},
        {"who-can", NULL, {COMPLETE_VERBS, COMPLETE_TYPES}},
        {"why", NULL, {COMPLETE_USERS, COMPLETE_VERBS, COMPLETE_TYPES}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool is_verb = rows[i].verb ? c->verb && strcmp(rows[i].verb, c->verb) == 0 : c->verb == NULL;
        if (strcmp(rows[i].command, c->page->command) == 0 && is_verb)
            return c->words.n < 3                       ? rows[i].words[c->words.n]
                   : rows[i].words[2] == COMPLETE_FILES ? COMPLETE_FILES
                                                        : COMPLETE_NOTHING;
    }
    return COMPLETE_NOTHING;
}

static void find(struct complete *c)
{
    bool is_help = c->page == NULL && c->words.n == 1 && str_eq(c->words.p[0], S("help"));
    c->directive = DIRECTIVE_NO_FILES;
    if (c->flag)
        add_values(c, str_of(c->flag->value));
    else if (!c->is_words && str_has_prefix(c->typed, S("-")))
        add_flags(c);
    else if (c->page == NULL && (c->words.n == 0 || is_help))
        add_commands(c);
    else if (c->page && c->page->verbs && c->verb == NULL && c->words.n == 0)
        add_list(c, c->page->verbs);
    else if (c->page)
        add(c, what_of_word(c));
}

/* ---- The answer. ---- */

/* Nothing was found in time. */
static void give_up(int signal)
{
    static const char nothing[] = ":4\n";
    (void)signal;
    if (write(STDOUT_FILENO, nothing, sizeof nothing - 1) < 0)
        _exit(CLI_FAILED);
    _exit(CLI_OK);
}

int cli_complete(int argc, char **argv)
{
    struct complete c = {.base = {.name = "__complete"}};
    const struct sigaction action = {.sa_handler = give_up};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(PATIENCE_S);
    complete_read(&c, argc - 1, argv + 1);
    find(&c);
    (void)alarm(0);
    vec_each(&c.found, it)(void) printf("%.*s%s%s\n", STR(it->text), it->about ? "\t" : "", it->about ? it->about : "");
    (void)printf(":%u\n", c.directive);
    return command_end(&c.base, CLI_OK);
}

/* reeve completion: the script of a shell. */

static int print(struct command *c, const struct flag_words *words)
{
    static const char *const shells[] = {"bash", "fish", "zsh", NULL}; /* as completion_scripts has them */
    int shell = command_verb(c, words, shells);
    if (shell < 0)
        return CLI_USAGE;
    if (words->n > 1)
        return command_misused(c, "unknown argument \"%s\"", words->p[1]);
    assert((size_t)shell < completion_scripts_n);
    output_text(completion_scripts[shell]);
    return CLI_OK;
}

int cli_completion(int argc, char **argv)
{
    struct command c = {.name = "completion"};
    struct flag_words words;
    int code = command_start(&c, NULL, 0, argc, argv, &words);
    return command_end(&c, c.is_over ? code : print(&c, &words));
}
