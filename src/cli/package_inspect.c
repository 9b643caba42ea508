/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/cli_output.h"
#include "cli/cli_package.h"
#include "cli/cli_plan_internal.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/term.h"
#include "package/plan.h"
#include "package/pod.h"

/* A package that is looked at, and its description for programs. */

struct inspection {
    struct arena *arena;
    const struct term *term;
    const char *what; /* as the command line has it */
    const struct package_source *source;
    struct plan plan; /* of it alone */
    struct buf *out;
};

/* What a package is, for programs: reeve-package(1), OUTPUT, says what is in it. */

static struct json crds_of(struct arena *a, const struct package *p)
{
    struct json list = json_arr();
    for (size_t i = 0; i < p->n_crds; i++) {
        const struct crd_info *crd = &p->crds[i].info;
        struct json o = json_obj(), versions = json_arr();
        vec_each(&crd->versions, v)
        {
            struct json version = json_obj();
            json_add(a, &version, S("name"), json_str(v->name));
            json_add(a, &version, S("served"), json_bool(v->served));
            json_add(a, &version, S("storage"), json_bool(v->storage));
            json_push(a, &versions, version);
        }
        json_add(a, &o, S("name"), json_str(crd->name));
        json_add(a, &o, S("kind"), json_str(crd->kind));
        json_add(a, &o, S("group"), json_str(crd->group));
        json_add(a, &o, S("scope"), json_str(crd->is_namespaced ? S("Namespaced") : S("Cluster")));
        json_add(a, &o, S("versions"), versions);
        document_add_text(a, &o, "file", p->crds[i].path);
        json_push(a, &list, o);
    }
    return list;
}

static struct json needs_of(struct arena *a, const struct package *p)
{
    struct json list = json_arr();
    for (size_t i = 0; i < p->n_dependencies; i++) {
        struct json o = json_obj();
        json_add(a, &o, S("crd"), json_str(p->dependencies[i].text));
        json_push(a, &list, o);
    }
    for (size_t i = 0; i < p->n_requirements; i++) {
        struct json o = json_obj();
        json_add(a, &o, S("package"), json_str(p->requirements[i].package));
        document_add_text(a, &o, "version", p->requirements[i].constraint);
        json_push(a, &list, o);
    }
    return list;
}

/* image is missing where the package's own image runs. */
static void add_containers(struct arena *a, struct json *to, const struct json *list, bool is_init)
{
    json_each_item(list, c)
    {
        struct json o = json_obj();
        json_add(a, &o, S("name"), json_str(json_get_text(c, S("name"))));
        document_add_text(a, &o, "image", json_get_text(c, S("image")));
        if (is_init)
            json_add(a, &o, S("init"), json_bool(true));
        json_push(a, to, o);
    }
}

static struct json grants_of(struct arena *a, const struct plan *plan)
{
    struct json list = json_arr();
    for (size_t i = 0; i < plan->n_grants; i++) {
        const struct plan_grant *g = &plan->grants[i];
        struct json o = json_obj();
        json_add(a, &o, S("who"), json_str(str_of(planning_who(g->who))));
        json_add(a, &o, S("isClusterWide"), json_bool(g->is_cluster_wide));
        json_add(a, &o, S("rules"), rules_to_json(a, g->rules));
        json_push(a, &list, o);
    }
    return list;
}

static struct json findings_of(struct arena *a, const struct findings *findings)
{
    struct json list = json_arr();
    vec_each(&findings->list, f)
    {
        struct json o = json_obj();
        document_add_text(a, &o, "reason", f->reason);
        json_add(a, &o, S("message"), json_str(f->message));
        json_push(a, &list, o);
    }
    return list;
}

/* The document of -o json: kind PackageDescription. */
static struct json package_describe(const struct inspection *s)
{
    struct arena *a = s->arena;
    const struct package *p = s->source->package;
    struct json tree = document_new(a, "PackageDescription"), containers = json_arr();
    str from = s->source->is_directory ? S("directory") : s->source->is_from_store ? S("store") : S("registry");
    json_add(a, &tree, S("package"), json_str(str_of(s->what)));
    json_add(a, &tree, S("from"), json_str(from));
    json_add(a, &tree, S("digest"), json_str(p->digest));
    if (s->source->size)
        json_add(a, &tree, S("size"), json_uint(s->source->size));
    json_add(a, &tree, S("format"), json_str(p->format == PACKAGE_FORMAT_XPKG ? S("xpkg") : S("registry")));
    json_add(a, &tree, S("repository"), json_str(p->repo));
    json_add(a, &tree, S("name"), json_str(p->name));
    json_add(a, &tree, S("version"), json_str(p->version));
    json_add(a, &tree, S("scope"), json_str(p->scope == PACKAGE_CLUSTER ? S("Cluster") : S("Namespaced")));
    json_add(a, &tree, S("metadata"), p->metadata);
    json_add(a, &tree, S("crds"), crds_of(a, p));
    json_add(a, &tree, S("dependsOn"), needs_of(a, p));
    add_containers(a, &containers, json_dig(&p->deployment, "spec.template.spec.initContainers"), true);
    add_containers(a, &containers, json_dig(&p->deployment, "spec.template.spec.containers"), false);
    json_add(a, &tree, S("containers"), containers);
    planning_add_pod(a, &tree, &p->deployment);
    json_add(a, &tree, S("grants"), grants_of(a, &s->plan));
    json_add(a, &tree, S("findings"), findings_of(a, &s->plan.findings));
    json_add(a, &tree, S("warnings"), findings_of(a, &p->warnings));
    return tree;
}

/* reeve package inspect: what a package is, what it brings and needs, and which rights an install of it gives to whom. No server is
 * asked. */

static const char *const outputs[] = {"text", "json", "yaml", NULL};
enum { TEXT, JSON, YAML };

enum { LABEL_WIDTH = 14, CRD_COLUMNS = 4 };

/* ---- The head. ---- */

static void head(const struct inspection *s, const char *text)
{
    buf_add_char(s->out, '\n');
    term_add(s->out, s->term, STYLE_HEAD, str_of(text));
    buf_add_char(s->out, '\n');
}

/* "Digest        sha256:…", nothing for what is not known. Where a terminal has no room for a digest beside its label, it stands
 * below. */
static void say(const struct inspection *s, const char *label, str text)
{
    str shown = cli_visible(s->arena, text), first, rest;
    size_t room = term_room(s->term);
    if (text.n == 0)
        return;
    str_cut(shown, ' ', &first, &rest);
    bool is_below = room && LABEL_WIDTH + first.n > room;
    struct term_wrap wrap = {.width = room,
                             .lead = is_below ? S("  ") : str_fmt(s->arena, "%-*s", LABEL_WIDTH, label),
                             .hang = is_below ? S("    ") : str_fmt(s->arena, "%*s", LABEL_WIDTH, "")};
    if (is_below)
        buf_fmt(s->out, "%s\n", label);
    term_add_wrapped(s->out, s->term, &wrap, shown);
}

static void say_people(const struct inspection *s, const char *label, const struct json *list)
{
    struct buf text = {.arena = s->arena};
    json_each_item(list, person)
    {
        str name = json_get_text(person, S("name")), email = json_get_text(person, S("email"));
        buf_add_str(&text, text.n ? S(", ") : S(""));
        buf_add_str(&text, name);
        if (email.n)
            buf_fmt(&text, "%s<%.*s>", name.n ? " " : "", STR(email));
    }
    say(s, label, buf_str(&text));
}

static str where_from(const struct inspection *s)
{
    const struct package_source *from = s->source;
    if (from->is_directory)
        return str_fmt(s->arena, "directory %s", s->what);
    return str_fmt(s->arena, "%.*s (%s)", STR(from->reference), from->is_from_store ? "local store" : "registry");
}

static void print_head(const struct inspection *s)
{
    const struct package *p = s->source->package;
    const struct json *m = &p->metadata;
    str title = json_get_text(m, S("title"));
    struct buf size = {.arena = s->arena};
    if (s->source->size)
        progress_bytes(&size, s->source->size);
    term_add(s->out, s->term, STYLE_HEAD,
             str_fmt(s->arena, "%.*s %.*s", STR(title.n ? title : p->name), STR(p->version)));
    buf_add_char(s->out, '\n');
    struct planning_lines lines = {.term = s->term, .arena = s->arena};
    str overview = str_trim(json_get_text(m, S("overviewShort")));
    if (overview.n)
        planning_add_wrapped(s->out, &lines, STYLE_PLAIN, overview);
    buf_add_char(s->out, '\n');
    say(s, "Package", p->family);
    say(s, "From", where_from(s));
    say(s, "Digest", p->digest);
    say(s, "Size", buf_str(&size));
    say(s, "Format", p->format == PACKAGE_FORMAT_XPKG ? S("xpkg") : S("registry"));
    say(s, "Scope",
        p->scope == PACKAGE_CLUSTER ? S("Cluster: one install serves all namespaces")
                                    : S("Namespaced: an install serves the namespace it is in"));
    say_people(s, "Maintainers", json_get(m, S("maintainers")));
    say(s, "License", json_get_text(m, S("license")));
    say(s, "Website", json_get_text(m, S("website")));
    say(s, "Source", json_get_text(m, S("source")));
}

/* ---- What it brings and needs. ---- */

/* "v1, v1beta1 (stored), v1alpha1 (not served)" */
static str versions_of(struct arena *a, const struct crd_info *crd)
{
    struct buf text = {.arena = a};
    vec_each(&crd->versions, v)
    {
        buf_fmt(&text, "%s%.*s", text.n ? ", " : "", STR(v->name));
        if (!v->served)
            buf_add_str(&text, S(" (not served)"));
        else if (v->storage && crd->versions.n > 1)
            buf_add_str(&text, S(" (stored)"));
    }
    return buf_str(&text);
}

static void print_crds(const struct inspection *s)
{
    const struct package *p = s->source->package;
    struct table table = {.arena = s->arena, .columns = CRD_COLUMNS, .width = term_room(s->term)};
    if (p->n_crds == 0)
        return;
    head(s, str_cstr(s->arena, str_fmt(s->arena, "CRDs (%zu)", p->n_crds)));
    cli_table_add(&table, (const str[CRD_COLUMNS]){S("  KIND"), S("GROUP"), S("SCOPE"), S("VERSIONS")});
    for (size_t i = 0; i < p->n_crds; i++) {
        const struct crd_info *crd = &p->crds[i].info;
        const str cells[CRD_COLUMNS] = {str_fmt(s->arena, "  %.*s", STR(crd->kind)), crd->group,
                                        crd->is_namespaced ? S("Namespaced") : S("Cluster"),
                                        versions_of(s->arena, crd)};
        cli_table_add(&table, cells);
    }
    cli_table_print(s->out, &table);
}

static void print_needs(const struct inspection *s)
{
    const struct package *p = s->source->package;
    if (p->n_dependencies + p->n_requirements == 0)
        return;
    head(s, "Depends on");
    for (size_t i = 0; i < p->n_dependencies; i++)
        say(s, "  CRD", p->dependencies[i].text);
    for (size_t i = 0; i < p->n_requirements; i++)
        say(s, "  Package",
            str_fmt(s->arena, "%.*s %.*s", STR(p->requirements[i].package), STR(p->requirements[i].constraint)));
}

static void print_containers(const struct inspection *s, const char *list, const char *label)
{
    const struct json *containers = json_dig(&s->source->package->deployment, list);
    json_each_item(containers, c)
    {
        str image = json_get_text(c, S("image"));
        say(s, label,
            str_fmt(s->arena, "%.*s: %.*s", STR(json_get_text(c, S("name"))),
                    STR(image.n ? image : S("the image of the package"))));
    }
}

static void print_facts(const struct inspection *s, const char *label, const str *list, size_t n)
{
    struct buf text = {.arena = s->arena};
    for (size_t i = 0; i < n; i++)
        buf_fmt(&text, "%s%.*s", i ? ", " : "", STR(list[i]));
    say(s, label, buf_str(&text));
}

static void print_deployment(const struct inspection *s)
{
    struct pod_facts facts = package_describe_pod(s->arena, &s->source->package->deployment);
    if (json_is_null(&s->source->package->deployment))
        return;
    head(s, "Deployment");
    print_containers(s, "spec.template.spec.initContainers", "  First");
    print_containers(s, "spec.template.spec.containers", "  Container");
    print_facts(s, "  Ports", facts.ports.p, facts.ports.n);
    print_facts(s, "  Volumes", facts.volumes.p, facts.volumes.n);
    print_facts(s, "  Unusual", facts.unusual.p, facts.unusual.n);
}

/* ---- Rights. ---- */

/* The last of those from i on that have the same rights in the same place: told once. */
static size_t last_alike(const struct plan *plan, size_t i)
{
    const struct plan_grant *g = plan->grants;
    while (i + 1 < plan->n_grants && g[i].who != PLAN_CONTROLLER && g[i].is_cluster_wide == g[i + 1].is_cluster_wide &&
           rules_equal(g[i].rules, g[i + 1].rules))
        i++;
    return i;
}

static void print_grants(const struct inspection *s, size_t first, size_t last)
{
    struct planning_lines lines = {.term = s->term, .arena = s->arena, .indent = 4, .is_whole = true};
    const struct plan_grant *g = &s->plan.grants[last];
    struct buf line = {.arena = s->arena};
    for (size_t i = first; i <= last; i++)
        buf_fmt(&line, "%s%s", i == first ? "  " : " and ", planning_who(s->plan.grants[i].who));
    buf_fmt(&line,
            ", %s:", g->is_cluster_wide ? "in all namespaces and outside of them" : "in the namespace of the install");
    term_add(s->out, s->term, g->is_cluster_wide ? STYLE_WARN : STYLE_NAME, buf_str(&line));
    buf_add_char(s->out, '\n');
    planning_add_rules(s->out, &lines, g->rules);
}

static void print_rights(const struct inspection *s)
{
    struct planning_lines lines = {.term = s->term, .arena = s->arena, .indent = 4};
    if (s->plan.n_grants == 0)
        return;
    head(s, "Rights that come with it");
    for (size_t i = 0, last; i < s->plan.n_grants; i = last + 1) {
        last = last_alike(&s->plan, i);
        print_grants(s, i, last);
    }
    const struct package *p = s->source->package;
    for (size_t i = 0; i < p->n_dependencies; i++) {
        const struct package_dependency *d = &p->dependencies[i];
        str kinds = str_eq(d->plural, S("*")) ? S("all kinds") : d->plural;
        if (i == 0)
            buf_add_str(s->out, S("  controller, on what it depends on, once that is installed:\n"));
        planning_add_wrapped(s->out, &lines, STYLE_PLAIN,
                             str_fmt(s->arena, "all verbs on %.*s of %.*s", STR(kinds), STR(d->group)));
    }
}

static void print_text(const struct inspection *s)
{
    print_head(s);
    print_crds(s);
    print_needs(s);
    print_deployment(s);
    print_rights(s);
    output_text(buf_str(s->out));
}

/* ---- The command. ---- */

static int inspect(struct command *c, const struct package_flags *images, const char *what, str tag, int output)
{
    struct package_source source;
    struct err err;
    if (package_source_open(c, images, what, tag, &source, &err) < 0)
        return err.code == ERR_BAD_REQUEST ? command_misused(c, "%s", err.msg) : command_fail(c, &err);
    struct buf out = {.arena = &c->arena};
    struct inspection s = {.arena = &c->arena, .term = &c->term, .what = what, .source = &source, .out = &out};
    plan_make_alone(s.arena, source.package, (struct plan_options){0}, &s.plan);
    if (output == TEXT) {
        print_text(&s);
    } else {
        struct json tree = package_describe(&s);
        output_tree(&tree, output == YAML);
    }
    if (s.plan.findings.list.n)
        term_say(&c->term, "It cannot be installed as it is: \"%s package lint %.*s\" says why.", help_program(),
                 STR(shell_word(&c->arena, str_of(what))));
    package_source_close(&source);
    return CLI_OK;
}

int package_inspect(int argc, char **argv)
{
    struct command c = {
        .name = "package inspect", .takes = TAKES_TIMEOUT, .timeout_ns = PACKAGE_TIMEOUT_SECONDS * NS_PER_S};
    struct package_flags images = {0};
    str tag = {0};
    int output = TEXT;
    const struct flag flags[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &output, .words = outputs},
        {.letter = 't', .name = "tag", .kind = FLAG_TEXT, .into = &tag},
        PACKAGE_FLAGS(&images),
    };
    struct flag_words words;
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (!c.is_over && words.n != 1)
        code = command_misused(&c, "name one directory or image");
    else if (!c.is_over)
        code = inspect(&c, &images, words.p[0], tag, output);
    return command_end(&c, code);
}
