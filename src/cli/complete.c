/* SPDX-License-Identifier: Apache-2.0 */
/* reeve __complete WORD...: what the scripts of src/cli/completion and kubectl ask for. One candidate a line, a tabulator before
 * what it is; the last line says how to go on, ":4" for instance. */
#include "cli/complete.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

void complete_read(struct complete *c, int n, char **words)
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

void complete_add(struct complete *c, str text, const char *about)
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
