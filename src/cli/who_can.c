/* SPDX-License-Identifier: Apache-2.0 */
/* reeve who-can: every subject that may do something, and by which binding and role. */
#include "cli/cli_access.h"
#include "cli/cli_output.h"
#include "cli/question.h"

struct options {
    int output; /* enum output */
    str subresource;
};

/* ---- As a table. ---- */

enum {
    COLUMN_KIND,
    COLUMN_NAME,
    COLUMN_SCOPE,
    COLUMN_BINDING,
    COLUMN_ROLE,
    COLUMNS,
    COLUMN_SOURCE = COLUMNS,
    COLUMN_PACKAGE,
    COLUMNS_WIDE
};

static void add_once(struct buf *b, struct map *seen, str text)
{
    if (text.n == 0 || map_set(seen, text, b))
        return;
    if (b->n)
        buf_add_char(b, ',');
    buf_add_str(b, text);
}

static str sources_of(struct arena *a, const struct explain_path *path, bool packages)
{
    struct buf b = {.arena = a};
    struct map seen = {0};
    if (packages)
        add_once(&b, &seen, path->package);
    for (size_t i = 0; i < path->n_sources; i++)
        add_once(&b, &seen, packages ? path->sources[i].package : path->sources[i].role->name);
    map_done(&seen);
    return b.n ? buf_str(&b) : S("-");
}

/* A Role says so: it is the rarer one, and may be called like a ClusterRole. */
static str role_of(struct arena *a, const struct authz_grant *g)
{
    return g->role_kind == AUTHZ_ROLE ? str_fmt(a, "Role/%.*s", STR(g->role_name)) : g->role_name;
}

static void fill_cells(struct arena *a, const struct explain_holder *h, const struct explain_path *path,
                       struct table_cell *cells)
{
    const struct authz_grant *g = path ? &path->grant : NULL;
    bool is_wide = !g || g->kind == AUTHZ_CLUSTER_ROLE_BINDING;
    cells[COLUMN_KIND].text = authz_subject_kind_name(h->subject.kind);
    cells[COLUMN_NAME] = (struct table_cell){.text = authz_subject_name(a, &h->subject), .style = STYLE_NAME};
    cells[COLUMN_SCOPE] =
        (struct table_cell){.text = is_wide ? S("cluster") : g->namespace, .style = is_wide ? STYLE_WARN : STYLE_PLAIN};
    cells[COLUMN_BINDING].text = g ? g->name : S("-");
    cells[COLUMN_ROLE].text = g ? role_of(a, g) : S("-");
}

/* A row for each path of each holder. The masters have one, without a path: no binding is the reason. */
struct rows {
    const struct explain_holders *holders;
    bool is_wide;
    size_t holder, path; /* the next */
};

static void begin_rows(void *ctx)
{
    struct rows *r = ctx;
    r->holder = r->path = 0;
}

static size_t rows_of(const struct explain_holder *h)
{
    return h->is_master ? 1 : h->n_paths;
}

static bool next_row(void *ctx, struct arena *a, struct table_cell *cells)
{
    struct rows *r = ctx;
    const struct explain_holder *h = r->holders->list + r->holder, *end = r->holders->list + r->holders->n;
    for (; h < end && r->path == rows_of(h); h++) {
        r->holder++;
        r->path = 0;
    }
    if (h == end)
        return false;
    const struct explain_path *path = h->is_master ? NULL : &h->paths[r->path];
    r->path++;
    fill_cells(a, h, path, cells);
    if (r->is_wide) {
        cells[COLUMN_SOURCE].text = path ? sources_of(a, path, false) : S("-");
        cells[COLUMN_PACKAGE].text = path ? sources_of(a, path, true) : S("-");
    }
    return true;
}

static void print_table(struct command *c, const struct explain_holders *holders, bool is_wide)
{
    static const str names[COLUMNS_WIDE] = {S_INIT("KIND"), S_INIT("NAME"),   S_INIT("SCOPE"),  S_INIT("BINDING"),
                                            S_INIT("ROLE"), S_INIT("SOURCE"), S_INIT("PACKAGE")};
    struct table t = {.arena = &c->arena,
                      .columns = is_wide ? COLUMNS_WIDE : COLUMNS,
                      .width = is_wide ? 0 : term_room(&c->term),
                      .term = &c->term};
    struct rows rows = {.holders = holders, .is_wide = is_wide};
    cli_table_add(&t, names);
    cli_table_output(&t, &(struct table_rows){begin_rows, next_row, &rows});
}

/* ---- For programs. ---- */

/* "user/jane": what reeve why takes. */
static void print_names(struct command *c, const struct explain_holders *holders)
{
    struct buf out = {0};
    for (size_t i = 0; i < holders->n; i++) {
        const struct authz_subject *s = &holders->list[i].subject;
        buf_add_str(&out, str_lower(&c->arena, authz_subject_kind_name(s->kind)));
        buf_add_char(&out, '/');
        term_add(&out, &c->term, STYLE_PLAIN, authz_subject_name(&c->arena, s));
        buf_add_char(&out, '\n');
    }
    output_text(buf_str(&out));
    buf_done(&out);
}

static void print_document(struct command *c, const struct question *q, const struct explain_holders *holders,
                           bool as_yaml)
{
    struct arena *a = &c->arena;
    struct json doc = question_document(a, "WhoCan", q), subjects = json_arr_sized(a, holders->n);
    for (size_t i = 0; i < holders->n; i++) {
        const struct explain_holder *h = &holders->list[i];
        struct json subject = document_subject(a, &h->subject), paths = json_arr_sized(a, h->n_paths);
        for (size_t k = 0; k < h->n_paths; k++) {
            struct json path = question_path(a, &h->paths[k]);
            json_remove(&path, S("subject"));
            json_push(a, &paths, path);
        }
        if (h->is_master)
            json_add(a, &subject, S("canDoEverything"), json_bool(true));
        json_add(a, &subject, S("paths"), paths);
        json_push(a, &subjects, subject);
    }
    json_add(a, &doc, S("subjects"), subjects);
    output_tree(&doc, as_yaml);
}

/* ---- The command. ---- */

/* What is in no namespace is granted by the kinds of the cluster alone. */
static int load(struct command *c, const struct question *q, struct rights *r, struct err *err)
{
    unsigned wide = 1U << AUTHZ_CLUSTER_ROLE | 1U << AUTHZ_CLUSTER_ROLE_BINDING;
    unsigned narrow = 1U << AUTHZ_ROLE | 1U << AUTHZ_ROLE_BINDING;
    bool is_wide = q->what.namespace.n == 0 && !q->everywhere;
    return rights_load_kinds(c, is_wide ? wide : wide | narrow, q->what.namespace, r, err);
}

static void print(struct command *c, const struct options *o, const struct question *q,
                  const struct explain_holders *holders)
{
    switch ((enum output)o->output) {
    case OUTPUT_NAME:
        print_names(c, holders);
        break;
    case OUTPUT_JSON:
    case OUTPUT_YAML:
        print_document(c, q, holders, o->output == OUTPUT_YAML);
        break;
    case OUTPUT_TABLE:
    case OUTPUT_WIDE:
        print_table(c, holders, o->output == OUTPUT_WIDE);
        break;
    }
}

/* A namespace itself is in no other. */
static void note_place(struct command *c, const struct options *o, const struct question *q)
{
    bool is_table = o->output == OUTPUT_TABLE || o->output == OUTPUT_WIDE;
    bool is_namespace = q->what.group.n == 0 && str_eq(q->what.resource, S("namespaces"));
    if (is_table && !is_namespace)
        question_note_place(c, q->what.namespace, "-A asks about all of them");
}

static void note_masters(struct command *c, const struct options *o, const struct explain_holders *holders)
{
    bool has_masters = false;
    for (size_t i = 0; i < holders->n; i++)
        has_masters = has_masters || holders->list[i].is_master;
    if (has_masters && (o->output == OUTPUT_TABLE || o->output == OUTPUT_WIDE))
        term_say(&c->term,
                 "Note: members of the group system:masters may do everything; no role or binding limits them.");
}

static int answer(struct command *c, const struct options *o, char **words)
{
    struct question q = {0};
    struct explain_keep keep = {.what = &q.what};
    struct rights rights = {.keep = &keep};
    struct err err = {0};
    if (command_connect(c, &err) < 0)
        return command_fail(c, &err);
    if (question_what(c, words[0], words[1], o->subresource, &q, &err) < 0)
        return question_fail(c, &err);
    int code = load(c, &q, &rights, &err) < 0 ? command_fail(c, &err) : CLI_OK;
    if (code == CLI_OK) {
        struct explain_holders holders = explain_who_can(&c->arena, rights.index, &q.what, q.everywhere);
        note_place(c, o, &q);
        note_masters(c, o, &holders);
        print(c, o, &q, &holders);
    }
    rights_done(&rights);
    explain_keep_done(&keep);
    return code;
}

int cli_who_can(int argc, char **argv)
{
    struct options o = {0};
    const struct flag own[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &o.output, .words = output_words},
        {.name = "subresource", .kind = FLAG_TEXT, .into = &o.subresource},
    };
    struct command c = {.name = "who-can", .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_ALL};
    struct flag_words words;
    int code = command_start(&c, own, COUNT(own), argc, argv, &words);
    if (c.is_over)
        return command_end(&c, code);
    if (words.n != 2)
        return command_end(&c, command_misused(&c, "name a verb and a resource: get pods"));
    return command_end(&c, answer(&c, &o, words.p));
}
