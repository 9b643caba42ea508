/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/term.h"
#include "net/address.h"
#include "object/name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* As XDG has it: unset, empty and relative paths do not count. */
int cli_data_dir(struct arena *a, const char **ret, struct err *err)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet */
    const char *own = getenv("REEVE_DATA_DIR"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    /* NOLINTEND(concurrency-mt-unsafe) */
    if (own && own[0])
        *ret = own;
    else if (xdg && xdg[0] == '/')
        *ret = str_cstr(a, str_fmt(a, "%s/reeve", xdg));
    else if (home && home[0] == '/')
        *ret = str_cstr(a, str_fmt(a, "%s/.local/share/reeve", home));
    else
        return err_set(err, ERR_INVALID, "HOME is not set: say --data-dir DIR");
    return 0;
}

/* Set once, before anything else runs. */
static const char *program = "reeve";
static bool is_completion;

void help_set_program(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *base = slash ? slash + 1 : argv0;
    if (str_has_prefix(str_of(base), S("kubectl-")))
        program = "kubectl reeve";
    is_completion = str_has_prefix(str_of(base), S("kubectl_complete-"));
}

bool help_is_completion(void)
{
    return is_completion;
}

const char *help_program(void)
{
    return program;
}

const struct help_page *help_find(const char *command)
{
    for (size_t i = 0; i < help_pages_n; i++) {
        if (strcmp(help_pages[i].command, command) == 0)
            return &help_pages[i];
    }
    return NULL;
}

/* The pages mark their own name with a byte that no text has. */
void help_print(const struct help_page *page)
{
    for (const char *at = page->text; *at; at++) {
        if (*at == HELP_PROGRAM[0])
            (void)fputs(program, stdout);
        else
            (void)putchar(*at);
    }
}

enum { WORD_MAX = 64 }; /* longer words are not compared with others */

/* ---- Near words. ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein distance of two words of at most WORD_MAX bytes, one row of the matrix at a time. */
static size_t word_distance(str a, str b)
{
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a.p[i - 1] != b.p[j - 1]));
            diagonal = above;
        }
    }
    return row[b.n];
}

const char *flags_nearest(const char *word, const char *const *list)
{
    str given = str_of(word);
    const char *nearest = NULL;
    size_t best = given.n / 3 + 2; /* distances below this are near: one slip in a short word, more in a long one */
    if (given.n > WORD_MAX)
        return NULL;
    for (; *list; list++) {
        str candidate = str_of(*list);
        size_t distance = candidate.n > WORD_MAX ? best : word_distance(given, candidate);
        if (distance < best) {
            best = distance;
            nearest = *list;
        }
    }
    return nearest;
}

/* ---- The tables. ---- */

static const struct flag *flag_at(const struct flags_args *args, size_t i)
{
    return i < args->n_own ? &args->own[i] : &args->shared[i - args->n_own];
}

static size_t flag_count(const struct flags_args *args)
{
    return args->n_own + args->n_shared;
}

static const struct flag *find_name(const struct flags_args *args, str name)
{
    for (size_t i = 0; i < flag_count(args); i++) {
        if (str_eq(str_of(flag_at(args, i)->name), name))
            return flag_at(args, i);
    }
    return NULL;
}

static const struct flag *find_letter(const struct flags_args *args, char letter)
{
    for (size_t i = 0; letter && i < flag_count(args); i++) {
        if (flag_at(args, i)->letter == letter)
            return flag_at(args, i);
    }
    return NULL;
}

static bool is_documented(const struct help_page *page, const struct flag *f)
{
    for (size_t i = 0; i < page->n_flags; i++) {
        if (strcmp(page->flags[i].name, f->name) == 0)
            return page->flags[i].letter == f->letter && (page->flags[i].value != NULL) == (f->kind != FLAG_YES);
    }
    return false;
}

/* What the manual says must be true, and nothing may be missing in it. */
static void check_manual(const struct flags_args *args)
{
    const struct help_page *page = help_find(args->page);
    assert(page && "every command has a page in man/");
    for (size_t i = 0; i < flag_count(args); i++)
        assert(is_documented(page, flag_at(args, i)) && "every flag is in the manual, with its letter and value");
    for (size_t i = 0; !page->verbs && i < page->n_flags; i++) /* verbs share a page: each has some of its flags */
        assert((strcmp(page->flags[i].name, "help") == 0 || find_name(args, str_of(page->flags[i].name))) &&
               "the manual knows no other flags");
}

/* ---- Values. ---- */

static int take_word(const struct flag *f, const char *value, struct err *err)
{
    char list[200] = "";
    for (int i = 0; f->words[i]; i++) {
        if (strcmp(f->words[i], value) == 0) {
            *(int *)f->into = i;
            return 0;
        }
        const char *between = i == 0 ? "" : f->words[i + 1] ? ", " : " or ";
        size_t n = strlen(list);
        (void)snprintf(list + n, sizeof list - n, "%s%s", between, f->words[i]);
    }
    return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\": say %s", f->name, value, list);
}

static int take_yes(const struct flag *f, const char *value, struct err *err)
{
    static const char *const yes[] = {"true", "yes", "1"}, *const no[] = {"false", "no", "0"};
    for (size_t i = 0; value && i < COUNT(yes); i++) {
        if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
            *(bool *)f->into = strcmp(value, yes[i]) == 0;
            return 0;
        }
    }
    if (value)
        return err_set(err, ERR_BAD_REQUEST, "--%s=%s: say true or false, or nothing", f->name, value);
    *(bool *)f->into = true;
    return 0;
}

static int take_time(const struct flag *f, const char *value, struct err *err)
{
    static const int64_t longest = INT64_C(365) * 24 * 3600 * 1000000000; /* so that sums of times do not overflow */
    if (!duration_parse(str_of(value), f->into) || *(int64_t *)f->into <= 0)
        return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\" is no duration like 30s or 5m", f->name, value);
    if (*(int64_t *)f->into > longest)
        return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\" is longer than a year", f->name, value);
    return 0;
}

static int take_count(const struct flag *f, const char *value, struct err *err)
{
    uint64_t n;
    if (!str_to_uint64(str_of(value), &n) || n < 1 || n > 1000000)
        return err_set(err, ERR_BAD_REQUEST, "invalid value \"%s\" for --%s: use a whole number from 1 to 1000000",
                       value, f->name);
    *(uint32_t *)f->into = (uint32_t)n;
    return 0;
}

static int take_address(const struct flag *f, const char *value, struct err *err)
{
    struct flag_address *into = f->into;
    if (!address_parse(str_of(value), &into->host, &into->port))
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot listen at \"%s\": say HOST:PORT, such as 127.0.0.1:6443, [::1]:6443 or localhost:0",
                       value);
    return 0;
}

static int take_name(const struct flag *f, const char *value, struct err *err)
{
    *(str *)f->into = str_of(value);
    if (!name_is(NAME_DNS_LABEL, str_of(value)))
        return err_set(err, ERR_BAD_REQUEST,
                       "--%s \"%s\" is no name: small letters, digits and dashes are allowed, 63 at most", f->name,
                       value);
    return 0;
}

static int take_value(const struct flags_args *args, const struct flag *f, const char *value, struct err *err)
{
    if (f->kind != FLAG_YES && f->kind != FLAG_CALL && !value[0])
        return err_set(err, ERR_BAD_REQUEST, "--%s needs a value", f->name);
    switch (f->kind) {
    case FLAG_YES:
        return take_yes(f, value, err);
    case FLAG_TEXT:
        *(str *)f->into = str_of(value);
        return 0;
    case FLAG_TEXTS:
        *vec_push(args->arena, (flag_texts *)f->into) = str_of(value);
        return 0;
    case FLAG_PATH:
        *(const char **)f->into = value;
        return 0;
    case FLAG_NAME:
        return take_name(f, value, err);
    case FLAG_TIME:
        return take_time(f, value, err);
    case FLAG_ADDRESS:
        return take_address(f, value, err);
    case FLAG_COUNT:
        return take_count(f, value, err);
    case FLAG_WORD:
        return take_word(f, value, err);
    case FLAG_CALL:
        break;
    }
    return f->take(f->into, value, err);
}

/* ---- The command line. ---- */

struct reader {
    const struct flags_args *args;
    int at; /* the next of argv */
    bool is_help;
    bool *given; /* by flag; the environment is not asked for these */
    struct flag_words *words;
};

static int give(struct reader *r, const struct flag *f, const char *value, struct err *err)
{
    for (size_t i = 0; i < flag_count(r->args); i++)
        r->given[i] |= flag_at(r->args, i) == f;
    if (f->is_given)
        *f->is_given = true;
    if (!value && f->kind != FLAG_YES) {
        if (f->bare)
            value = f->bare;
        else if (r->at < r->args->argc)
            value = r->args->argv[r->at++];
        else
            return err_set(err, ERR_BAD_REQUEST, "--%s needs a value", f->name);
    }
    return take_value(r->args, f, value, err);
}

static int unknown_flag(const struct flags_args *args, str name, struct err *err)
{
    const char **list = arena_alloc(args->arena, (flag_count(args) + 2) * sizeof *list);
    size_t n = 0;
    for (; n < flag_count(args); n++)
        list[n] = flag_at(args, n)->name;
    list[n++] = "help";
    list[n] = NULL;
    const char *nearest = flags_nearest(str_cstr(args->arena, name), list);
    if (nearest)
        return err_set(err, ERR_BAD_REQUEST, "unknown flag --%.*s, did you mean --%s?", STR(name), nearest);
    return err_set(err, ERR_BAD_REQUEST, "unknown flag --%.*s", STR(name));
}

static int read_long(struct reader *r, const char *text, struct err *err)
{
    str name, rest;
    bool has_value = str_cut(str_of(text), '=', &name, &rest);
    if (str_eq(name, S("help"))) {
        r->is_help = true;
        return 0;
    }
    const struct flag *f = find_name(r->args, name);
    return f ? give(r, f, has_value ? text + name.n + 1 : NULL, err) : unknown_flag(r->args, name, err);
}

static int read_letters(struct reader *r, const char *text, struct err *err)
{
    for (; *text; text++) {
        const struct flag *f = find_letter(r->args, *text);
        if (*text == 'h') {
            r->is_help = true;
            continue;
        }
        if (f == NULL)
            return err_set(err, ERR_BAD_REQUEST, "unknown flag -%c", *text >= ' ' && *text <= '~' ? *text : '?');
        if (f->kind != FLAG_YES) /* what follows is its value: -nshop, -n=shop */
            return give(r, f, text[1] == '=' ? text + 2 : text[1] ? text + 1 : NULL, err);
        int code = give(r, f, NULL, err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int read_line(struct reader *r, struct err *err)
{
    bool is_words = false;
    int code = 0;
    for (r->at = 1; r->at < r->args->argc && code == 0;) {
        char *text = r->args->argv[r->at++];
        if (is_words || text[0] != '-' || !text[1])
            r->words->p[r->words->n++] = text;
        else if (strcmp(text, "--") == 0)
            is_words = true;
        else
            code = text[1] == '-' ? read_long(r, text + 2, err) : read_letters(r, text + 1, err);
    }
    return code;
}

/* An empty variable counts as none. */
static int read_environment(const struct reader *r, struct err *err)
{
    for (size_t i = 0; i < flag_count(r->args); i++) {
        const struct flag *f = flag_at(r->args, i);
        const char *value =
            f->env && !r->given[i] ? getenv(f->env) : NULL; /* NOLINT(concurrency-mt-unsafe): no threads */
        if (value && value[0] && take_value(r->args, f, value, err) < 0)
            return err_wrap(err, "$%s", f->env);
    }
    return 0;
}

int flags_read(const struct flags_args *args, struct flag_words *ret, struct err *err)
{
    struct reader r = {.args = args, .given = ARENA_ARRAY(args->arena, bool, flag_count(args) + 1), .words = ret};
    *ret = (struct flag_words){arena_alloc(args->arena, ((size_t)args->argc + 1) * sizeof *ret->p), 0};
    check_manual(args);
    int code = read_line(&r, err);
    if (code == 0)
        code = read_environment(&r, err);
    ret->p[ret->n] = NULL;
    if (!r.is_help) /* somebody who asks for help gets it, whatever else is wrong */
        return code;
    help_print(help_find(args->page));
    return 1;
}

int flags_only(const struct flags_args *args, struct err *err)
{
    struct flag_words words;
    int code = flags_read(args, &words, err);
    return code == 0 && words.n ? err_set(err, ERR_BAD_REQUEST, "unknown argument \"%s\"", words.p[0]) : code;
}

int flags_refuse(const char *page, const struct err *err)
{
    term_complain(page, "%s", err->msg);
    if (err->code != ERR_BAD_REQUEST)
        return CLI_FAILED;
    (void)fprintf(stderr, "Run \"%s %s --help\".\n", help_program(), page);
    return CLI_USAGE;
}
