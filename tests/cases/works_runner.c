/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of what an agent reads in a ManifestWork, how it compares what is wanted with what is there, and what it says of it.
 *
 *     --- work                          a ManifestWork as YAML; again: replaces it
 *     --- expect manifests              in the order in which they are applied, one a line:
 *                                       ORDINAL KIND [NAMESPACE/]NAME STRATEGY, what is configured besides, and what is wrong
 *     --- expect orphaned GROUP PLURAL [NAMESPACE/]NAME     "yes" if it stays when the work goes
 *     --- live                          what the managed cluster has in place of the first manifest, as YAML
 *     --- expect change                 "none", "recreate", or the merge patch as YAML
 *     --- fates                         what became of the manifests, one a line, by ordinal: ORDINAL [in=NAMESPACE] FATE PRESENCE [TEXT]
 *                                       FATE is "applied" or the reason of a failure, PRESENCE is there, absent or unknown
 *     --- leaving                       the work is being deleted
 *     --- time 2026-01-01T00:00:00Z     the clock; it begins so
 *     --- write                         the status is written: from now on the work has it
 *     --- expect conditions             of the work, one a line: TYPE STATUS REASON MESSAGE
 *     --- expect entries                of its manifests: ORDINAL PLURAL [NAMESPACE/]NAME: TYPE=STATUS/REASON …
 *     --- expect status                 as YAML
 *     --- expect unchanged              "yes" if the work has this status already */
#include "cases/case.h"
#include "controllers/works/works_content.h"
#include "controllers/works/works_manifest.h"
#include "controllers/works/works_report.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "json/yaml.h"

struct world {
    struct case_file *c;
    struct arena *a;
    struct json work, live, facts;
    const struct manifest *manifests;
    size_t n;
    struct clock_fake fake;
};

/* Built-in kinds; Gadgets are defined, too, and nothing else is. */
static str plural_of(void *ctx, str group, str version, str kind)
{
    struct world *w = ctx;
    str api_version = group.n ? str_fmt(w->a, "%.*s/%.*s", STR(group), STR(version)) : version;
    const struct kind *builtin = kind_builtin_by_body(api_version, kind);
    return builtin ? str_of(builtin->plural) : str_eq(kind, S("Gadget")) ? S("gadgets") : (str){0};
}

static struct json yaml_of(struct world *w, const struct case_section *s)
{
    struct json value = json_null();
    struct err err;
    if (yaml_decode(w->a, s->text, NULL, NULL, &value, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
    return value;
}

static void read_work(struct world *w, const struct case_section *s)
{
    struct manifest_resources resources = {plural_of, w};
    struct json status = json_dup(w->a, json_get(&w->work, S("status")));
    w->work = yaml_of(w, s);
    if (!json_get(&w->work, S("status")) && json_is_obj(&status) && json_is_obj(&w->work))
        json_add(w->a, &w->work, S("status"), status);
    w->n = manifests_read(w->a, &w->work, &resources, &w->manifests);
}

static const struct manifest *by_ordinal(struct world *w, uint64_t ordinal)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->manifests[i].ordinal == ordinal)
            return &w->manifests[i];
    return NULL;
}

/* ---- Fates. ---- */

static bool read_fate(struct world *w, str line, struct report_entry *ret)
{
    static const struct {
        const char *name;
        enum report_presence presence;
    } names[] = {{"there", REPORT_THERE}, {"absent", REPORT_ABSENT}, {"unknown", REPORT_UNKNOWN}};
    str word, rest;
    uint64_t ordinal;
    bool is_known = false;
    str_cut(line, ' ', &word, &rest);
    if (!str_to_uint64(word, &ordinal) || !(ret->manifest = by_ordinal(w, ordinal)))
        return false;
    ret->plural = plural_of(w, ret->manifest->group, ret->manifest->version, ret->manifest->kind);
    ret->namespace = ret->manifest->namespace;
    if (ordinal == 0 && json_is_obj(&w->live))
        ret->live = &w->live;
    str_cut(rest, ' ', &word, &rest);
    if (str_has_prefix(word, S("in="))) {
        ret->namespace = str_from(word, 3);
        str_cut(rest, ' ', &word, &rest);
    }
    ret->reason = str_eq(word, S("applied")) ? (str){0} : word;
    str_cut(rest, ' ', &word, &rest);
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_eq(word, str_of(names[i].name))) {
            ret->presence = names[i].presence;
            is_known = true;
        }
    }
    ret->problem = ret->unknown = rest;
    return is_known;
}

static void read_fates(struct world *w, const struct case_section *s)
{
    VEC(struct report_entry) entries = {0};
    str rest = s->text, line;
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        struct report_entry entry = {0};
        if (!read_fate(w, line, &entry))
            case_fail(w->c, s, "no fate: %.*s", STR(line));
        else
            *vec_push(w->a, &entries) = entry;
    }
    w->facts = report_facts(w->a, &w->work, entries.p, entries.n);
}

static struct json status_of(struct world *w)
{
    struct clock clock = clock_of_fake(&w->fake);
    return report_status(w->a, &w->work, &w->facts, &clock);
}

/* ---- As text. ---- */

static void add_place(struct buf *b, str namespace, str name)
{
    buf_fmt(b, "%.*s%s%.*s", STR(namespace), namespace.n ? "/" : "", STR(name));
}

static void add_manifest(struct buf *b, const struct manifest *m)
{
    static const char *const strategies[] = {[MANIFEST_UPDATE] = "Update",
                                             [MANIFEST_CREATE_ONLY] = "CreateOnly",
                                             [MANIFEST_SERVER_SIDE] = "ServerSideApply",
                                             [MANIFEST_READ_ONLY] = "ReadOnly"};
    buf_fmt(b, "%zu %.*s ", m->ordinal, STR(m->kind));
    add_place(b, m->namespace, m->name);
    buf_fmt(b, " %s", strategies[m->strategy]);
    if (!str_eq(m->field_manager, S("work-agent")))
        buf_fmt(b, " manager=%.*s", STR(m->field_manager));
    if (m->is_forced)
        buf_add_str(b, S(" forced"));
    if (m->ignored)
        buf_fmt(b, " ignores=%zu", json_len(m->ignored));
    if (m->feedback)
        buf_fmt(b, " feedback=%zu", json_len(m->feedback));
    if (m->selector) {
        buf_add_str(b, S(" selects="));
        json_encode(b, m->selector, JSON_SORTED);
    }
    if (m->problem.n)
        buf_fmt(b, " PROBLEM %.*s", STR(m->problem));
    buf_add_char(b, '\n');
}

static void add_orphaned(struct world *w, struct buf *b, const struct case_section *s)
{
    str word, group, plural, place, namespace = {0}, name;
    str_cut(s->args, ' ', &word, &place);
    str_cut(place, ' ', &group, &place);
    str_cut(place, ' ', &plural, &place);
    if (!str_cut(place, '/', &namespace, &name)) {
        name = place;
        namespace = (str){0};
    }
    group = str_eq(group, S("core")) ? (str){0} : group;
    buf_add_str(b, manifest_is_orphaned(&w->work, group, plural, namespace, name) ? S("yes") : S("no"));
}

static void add_change(struct world *w, struct buf *b)
{
    const struct manifest *m = &w->manifests[0];
    struct json want = content_want(w->a, m, m->namespace);
    if (content_needs_recreation(w->a, &want, &w->live)) {
        buf_add_str(b, S("recreate"));
    } else if (content_is_equal(w->a, &want, (str){0}, &w->live)) {
        buf_add_str(b, S("none"));
    } else {
        struct json patch = content_patch(w->a, &want, &w->live);
        yaml_encode(b, &patch);
    }
}

static void add_conditions(struct buf *b, const struct json *status)
{
    json_each_item(json_get(status, S("conditions")), c)
    {
        buf_fmt(b, "%.*s %.*s %.*s %.*s\n", STR(json_get_text(c, S("type"))), STR(json_get_text(c, S("status"))),
                STR(json_get_text(c, S("reason"))), STR(json_get_text(c, S("message"))));
    }
}

static void add_entries(struct buf *b, const struct json *status)
{
    json_each_item(json_dig(status, "resourceStatus.manifests"), entry)
    {
        const struct json *meta = json_get(entry, S("resourceMeta"));
        int64_t ordinal = -1;
        (void)json_to_int(json_get(meta, S("ordinal")), &ordinal);
        buf_fmt(b, "%d %.*s ", (int)ordinal, STR(json_get_text(meta, S("resource"))));
        add_place(b, json_get_text(meta, S("namespace")), json_get_text(meta, S("name")));
        buf_add_char(b, ':');
        json_each_item(json_get(entry, S("conditions")), c)
        {
            buf_fmt(b, " %.*s=%.*s/%.*s", STR(json_get_text(c, S("type"))), STR(json_get_text(c, S("status"))),
                    STR(json_get_text(c, S("reason"))));
        }
        buf_add_char(b, '\n');
    }
}

static void expect(struct world *w, const struct case_section *s)
{
    struct buf b = {.arena = w->a};
    struct json status = status_of(w);
    if (str_eq(s->args, S("manifests"))) {
        for (size_t i = 0; i < w->n; i++)
            add_manifest(&b, &w->manifests[i]);
    } else if (str_has_prefix(s->args, S("orphaned "))) {
        add_orphaned(w, &b, s);
    } else if (str_eq(s->args, S("change")) && w->n) {
        add_change(w, &b);
    } else if (str_eq(s->args, S("conditions"))) {
        add_conditions(&b, &status);
    } else if (str_eq(s->args, S("entries"))) {
        add_entries(&b, &status);
    } else if (str_eq(s->args, S("status"))) {
        yaml_encode(&b, &status);
    } else if (str_eq(s->args, S("unchanged"))) {
        buf_add_str(&b, json_equal(&status, json_get(&w->work, S("status"))) ? S("yes") : S("no"));
    } else {
        case_fail(w->c, s, "what is expected?");
    }
    case_expect(w->c, s, buf_str(&b));
}

static void step(struct world *w, const struct case_section *s)
{
    int64_t seconds = 0;
    uint32_t nanos;
    if (str_eq(s->name, S("work"))) {
        read_work(w, s);
    } else if (str_eq(s->name, S("live"))) {
        w->live = yaml_of(w, s);
    } else if (str_eq(s->name, S("fates"))) {
        read_fates(w, s);
    } else if (str_eq(s->name, S("leaving"))) {
        w->facts = report_leaving(w->a, (str){0});
    } else if (str_eq(s->name, S("time")) && time_parse(s->args, &seconds, &nanos)) {
        w->fake.wall = seconds * INT64_C(1000000000);
    } else if (str_eq(s->name, S("write"))) {
        struct json status = status_of(w);
        json_set(w->a, &w->work, S("status"), status);
    } else if (str_eq(s->name, S("expect"))) {
        expect(w, s);
    } else {
        case_fail(w->c, s, "no such step");
    }
}

static void run(struct case_file *c)
{
    struct world w = {.c = c, .a = c->arena, .fake = {.wall = INT64_C(1767225600) * 1000000000}};
    vec_each(&c->sections, s)
    {
        step(&w, s);
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
