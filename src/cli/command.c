/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "base/shell.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/term.h"
#include "json/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *const output_words[] = {[OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
                                    [OUTPUT_YAML] = "yaml",   [OUTPUT_NAME] = "name", NULL};

/* ---- The common flags. ---- */

enum { SHARED_MAX = 16 };

struct talk {
    bool is_quiet, is_verbose;
    int color;
};

struct shared_row {
    unsigned takes; /* 0: everybody's */
    struct flag flag;
};

static size_t share_flags(struct command *c, struct talk *talk, struct flag *ret)
{
    const struct shared_row rows[] = {
        {TAKES_SERVER,
         {.name = "kubeconfig", .kind = FLAG_TEXT, .into = &c->server.kubeconfig, .env = "REEVE_KUBECONFIG"}},
        {TAKES_SERVER, {.name = "context", .kind = FLAG_TEXT, .into = &c->server.context, .env = "REEVE_CONTEXT"}},
        {TAKES_SERVER, {.name = "as", .kind = FLAG_TEXT, .into = &c->server.as}},
        {TAKES_SERVER, {.name = "as-group", .kind = FLAG_TEXTS, .into = &c->server.groups}},
        {TAKES_NAMESPACE,
         {.letter = 'n',
          .name = "namespace",
          .kind = FLAG_NAME,
          .into = &c->namespace,
          .env = "REEVE_NAMESPACE",
          .is_given = &c->has_namespace}},
        {TAKES_ALL, {.letter = 'A', .name = "all-namespaces", .kind = FLAG_YES, .into = &c->all_namespaces}},
        {TAKES_SELECTOR, {.letter = 'l', .name = "selector", .kind = FLAG_TEXT, .into = &c->selector}},
        {TAKES_TIMEOUT, {.name = "timeout", .kind = FLAG_TIME, .into = &c->timeout_ns}},
        {0, {.letter = 'v', .name = "verbose", .kind = FLAG_YES, .into = &talk->is_verbose}},
        {0, {.letter = 'q', .name = "quiet", .kind = FLAG_YES, .into = &talk->is_quiet}},
        {0, {.name = "color", .kind = FLAG_WORD, .into = &talk->color, .words = term_colors, .env = "REEVE_COLOR"}},
    };
    size_t n = 0;
    _Static_assert(COUNT(rows) <= SHARED_MAX, "there is room for all");
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].takes == 0 || (c->takes & rows[i].takes))
            ret[n++] = rows[i].flag;
    }
    return n;
}

static const char *page_of(struct command *c)
{
    str page, verb;
    (void)str_cut(str_of(c->name), ' ', &page, &verb);
    return str_cstr(&c->arena, page);
}

int command_start(struct command *c, const struct flag *own, size_t n_own, int argc, char **argv,
                  struct flag_words *ret)
{
    struct talk talk = {0};
    struct flag shared[SHARED_MAX];
    struct err err;
    struct flags_args args = {.arena = &c->arena,
                              .page = page_of(c),
                              .own = own,
                              .n_own = n_own,
                              .shared = shared,
                              .n_shared = share_flags(c, &talk, shared),
                              .argc = argc,
                              .argv = argv};
    int code = flags_read(&args, ret, &err);
    term_open(&c->term, (enum term_color)talk.color, talk.is_quiet, talk.is_verbose);
    c->is_over = code != 0;
    if (code < 0)
        return command_misused(c, "%s", err.msg);
    if (code == 0 && c->server.groups.n && c->server.as.n == 0) {
        c->is_over = true;
        return command_misused(c, "--as-group needs --as");
    }
    return CLI_OK;
}

int command_misused(struct command *c, const char *fmt, ...)
{
    va_list args;
    struct buf text = {.arena = &c->arena};
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    term_complain(c->name, "%.*s", STR(buf_str(&text)));
    (void)fprintf(stderr, "Run \"%s %s --help\".\n", help_program(), page_of(c));
    return CLI_USAGE;
}

/* "add, list or remove" */
static str list_words(struct arena *a, const char *const *words)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; words[i]; i++)
        buf_fmt(&b, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    return buf_str(&b);
}

int command_verb(struct command *c, const struct flag_words *words, const char *const *verbs)
{
    str list = list_words(&c->arena, verbs);
    const char *nearest = words->n ? flags_nearest(words->p[0], verbs) : NULL;
    for (int i = 0; words->n && verbs[i]; i++) {
        if (strcmp(verbs[i], words->p[0]) == 0) {
            c->name = str_cstr(&c->arena, str_fmt(&c->arena, "%s %s", c->name, verbs[i]));
            return i;
        }
    }
    if (words->n == 0)
        (void)command_misused(c, "say %.*s", STR(list));
    else if (nearest)
        (void)command_misused(c, "unknown command \"%s\", did you mean \"%s\"?", words->p[0], nearest);
    else
        (void)command_misused(c, "unknown command \"%s\": say %.*s", words->p[0], STR(list));
    return -1;
}

/* ---- The server. ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A context that does not exist is told with those that do. */
static int explain_context(struct command *c, const str *names, size_t n, struct err *err)
{
    const char **list = arena_alloc(&c->arena, (n + 1) * sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = str_cstr(&c->arena, names[i]);
    list[n] = NULL;
    qsort(list, n, sizeof *list, by_text);
    const char *nearest = flags_nearest(str_cstr(&c->arena, c->server.context), list);
    str all = list_words(&c->arena, list);
    if (nearest)
        return err_set(err, ERR_NOT_FOUND, "%s, did you mean \"%s\"?", str_cstr(&c->arena, str_of(err->msg)), nearest);
    return err_set(err, ERR_NOT_FOUND, "%s: say %.*s", str_cstr(&c->arena, str_of(err->msg)), STR(all));
}

/* Nobody said which server; one that was started on this machine has left its address. */
static int explain_missing(struct command *c, struct err *err)
{
    const char *folder;
    struct err ignored;
    struct client_config_args args = {.kubeconfig = c->server.kubeconfig, .env = (const char *const *)environ};
    const str *contexts;
    size_t n;
    if (err->code != ERR_NOT_FOUND || client_config_contexts(&c->arena, &args, &contexts, &n, &ignored) < 0)
        return err->code;
    if (n)
        return c->server.context.n ? explain_context(c, contexts, n, err) : err->code;
    if (c->server.kubeconfig.n || cli_data_dir(&c->arena, &folder, &ignored) < 0)
        return err->code;
    str file = str_fmt(&c->arena, "%s/admin.kubeconfig", folder);
    struct buf word = {.arena = &c->arena};
    shell_add_word(&word, file);
    if (access(str_cstr(&c->arena, file), R_OK) == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no kubeconfig says which server to ask. That of \"%s up\" is there: export KUBECONFIG=%.*s",
                       help_program(), STR(buf_str(&word)));
    return err_set(err, ERR_NOT_FOUND,
                   "no kubeconfig says which server to ask: name one with --kubeconfig or $KUBECONFIG, or start a "
                   "control plane with \"%s up\"",
                   help_program());
}

int command_connect(struct command *c, struct err *err)
{
    return session_open(&c->session, &c->server, err) < 0 ? explain_missing(c, err) : 0;
}

str command_namespace(const struct command *c)
{
    return c->namespace.n ? c->namespace : c->session.config.namespace;
}

bool command_lacks_namespace(struct command *c, str namespace)
{
    static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);
    struct client_ref ref = {.resource = &namespaces, .name = namespace};
    struct err unseen;
    return client_get_metadata(c->session.client, &c->arena, &ref, NULL, &unseen) == ERR_NOT_FOUND;
}

int command_end(struct command *c, int code)
{
    session_close(&c->session);
    arena_done(&c->arena);
    return code;
}

/* ---- Output. ---- */

void output_text(str text)
{
    (void)fwrite(text.n ? text.p : "", 1, text.n, stdout);
}

void output_tree(const struct json *tree, bool as_yaml)
{
    struct buf out = {0};
    if (as_yaml) {
        yaml_encode(&out, tree);
    } else {
        json_encode(&out, tree, JSON_PRETTY);
        buf_add_char(&out, '\n');
    }
    output_text(buf_str(&out));
    buf_done(&out);
}
