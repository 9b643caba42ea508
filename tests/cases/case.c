/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/case.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int expectations; /* of the case that runs now */

const struct case_section *case_find(const struct case_file *c, const struct case_section *after, str name)
{
    size_t from = after ? (size_t)(after - c->sections.p) + 1 : 0;
    for (size_t i = from; i < c->sections.n; i++) {
        if (str_eq(c->sections.p[i].name, name))
            return &c->sections.p[i];
    }
    return NULL;
}

static bool next_word(str *rest, str *word)
{
    *rest = str_trim(*rest);
    return rest->n && (str_cut(*rest, ' ', word, rest), true);
}

bool case_has_arg(const struct case_section *s, str word)
{
    str rest = s->args, w;
    while (next_word(&rest, &w)) {
        if (str_eq(w, word))
            return true;
    }
    return false;
}

str case_arg(const struct case_section *s, str key)
{
    str rest = s->args, w, k, v;
    while (next_word(&rest, &w)) {
        if (str_cut(w, '=', &k, &v) && str_eq(k, key))
            return v;
    }
    return (str){0};
}

void case_fail(struct case_file *c, const struct case_section *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("# %s:%zu: ", c->path, at ? at->line : 1);
    (void)vprintf(fmt, args);
    printf("\n");
    va_end(args);
    c->failures++;
    expectations++;
}

static void print_block(const char *title, str text)
{
    printf("#   %s:\n", title);
    for (str line; text.n;) {
        str_cut(text, '\n', &line, &text);
        printf("#     %.*s\n", STR(line));
    }
}

void case_expect(struct case_file *c, const struct case_section *want, str got)
{
    expectations++;
    if (str_eq(str_trim(want->text), str_trim(got)))
        return;
    case_fail(c, want, "differs");
    print_block("want", str_trim(want->text));
    print_block("got", str_trim(got));
}

static str read_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        exit(2);
    }
    struct buf b = {.arena = a};
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_add(&b, chunk, n);
    (void)fclose(f);
    return buf_str(&b);
}

static void parse(struct case_file *c, str text)
{
    struct buf body = {.arena = c->arena};
    struct case_section *now = NULL;
    size_t number = 0;
    for (str line; text.n;) {
        number++;
        str_cut(text, '\n', &line, &text);
        if (str_has_prefix(line, S("--- "))) {
            if (now)
                now->text = buf_str(&body);
            body = (struct buf){.arena = c->arena};
            now = vec_push(c->arena, &c->sections);
            *now = (struct case_section){.line = number};
            str_cut(str_trim(str_from(line, 4)), ' ', &now->name, &now->args);
        } else if (now) {
            if (body.n || body.p)
                buf_add_char(&body, '\n');
            buf_add_str(&body, str_has_prefix(line, S("\\--- ")) ? str_from(line, 1) : line);
            if (body.p == NULL)
                buf_grow(&body, 1);
        }
    }
    if (now)
        now->text = buf_str(&body);
}

static bool run(const char *path, int number, void (*fn)(struct case_file *c))
{
    struct arena arena ARENA_SCOPE = {0};
    struct case_file c = {.path = path, .arena = &arena};
    parse(&c, read_file(&arena, path));
    expectations = 0;
    fn(&c);
    if (expectations == 0)
        case_fail(&c, NULL, "the case expects nothing");
    printf("%s %d - %s\n", c.failures ? "not ok" : "ok", number, path);
    (void)fflush(stdout);
    return c.failures == 0;
}

static int is_case(const struct dirent *e)
{
    return str_has_suffix(str_of(e->d_name), S(".test"));
}

int case_main(int argc, char **argv, void (*fn)(struct case_file *c))
{
    int number = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **names;
        int n = scandir(argv[i], &names, is_case, alphasort);
        if (n < 0) {
            perror(argv[i]);
            return 2;
        }
        for (int k = 0; k < n; k++) {
            struct arena a ARENA_SCOPE = {0};
            str path = str_fmt(&a, "%s/%s", argv[i], names[k]->d_name);
            failed += !run(str_cstr(&a, path), ++number, fn);
            free(names[k]);
        }
        free(names);
    }
    printf("1..%d\n", number);
    return failed || number == 0;
}
