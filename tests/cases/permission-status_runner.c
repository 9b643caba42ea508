/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the status of ClusterPermissions, from what agents say of their ManifestWorks. What is given: see permission.h; the
 * permission has generation 1 unless it says otherwise.
 *
 *     --- work NAME                     a ManifestWork that the hub has, as YAML; its spec is the one that is built, unless it has one.
 *                                       Again: replaces it
 *     --- manifests NAME n=3000         as many manifests are added to its status; <n> in the text is a number
 *     --- gone NAME                     it has it no more
 *     --- denied                        a work could not be written, with this text; empty: they could
 *     --- approval waits                approval is asked for, with this message; or "approval given"; or "approval off"
 *     --- time 2026-01-01T00:00:00Z     the clock; it begins so
 *     --- write                         the status is written: from now on the permission has it
 *
 *     --- expect conditions [TYPE …]    those, or all, one a line: TYPE STATUS REASON MESSAGE; further lines of a message begin with |
 *     --- expect resources [KIND]       of resourceStatus, one a line: KIND NAME STATUS REASON MESSAGE
 *     --- expect count                  objects in resourceStatus: "2000 in 512 KiB", if they fit into that
 *     --- expect status                 as YAML
 *     --- expect unchanged              "yes" if the permission has this status already */
#include "cases/permission.h"
#include "controllers/permissions/permissions_report.h"
#include "controllers/permissions/permissions_resources.h"
#include "object/meta.h"
#include "object/object.h"

struct world {
    struct permission_case given;
    json_vec works;
    str denied, approval;
    bool waits;
    struct clock_fake fake;
    struct permission_build build;
    struct json status;
};

static size_t place_of(const struct world *w, str name)
{
    size_t i = 0;
    while (i < w->works.n && !str_eq(object_name(&w->works.p[i]), name))
        i++;
    return i;
}

static void build(struct world *w)
{
    w->build = permission_build(w->given.a, &w->given.permission, &w->given.facts);
}

static const struct json *spec_built(struct world *w, str name)
{
    static const struct json none;
    build(w);
    for (size_t i = 0; i < w->build.n; i++) {
        if (str_eq(w->build.works[i].name, name))
            return &w->build.works[i].spec;
    }
    return &none;
}

static void read_work(struct world *w, const struct case_section *s)
{
    struct json work = permission_case_yaml(&w->given, s);
    size_t at = place_of(w, s->args);
    if (!json_is_obj(&work))
        work = json_obj();
    json_set(w->given.a, meta_of(w->given.a, &work), S("name"), json_str(s->args));
    if (!json_get(&work, S("spec")))
        json_set(w->given.a, &work, S("spec"), *spec_built(w, s->args));
    if (at == w->works.n)
        (void)vec_push(w->given.a, &w->works);
    w->works.p[at] = work;
}

static void add_manifests(struct world *w, const struct case_section *s)
{
    str name, rest;
    uint64_t n = 0;
    str_cut(s->args, ' ', &name, &rest);
    size_t at = place_of(w, name);
    struct json *status = at < w->works.n ? json_get_mut(&w->works.p[at], S("status")) : NULL;
    if (!json_is_obj(status) || !str_to_uint64(case_arg(s, S("n")), &n)) {
        case_fail(w->given.c, s, "needs a work that has a status, and n=");
        return;
    }
    if (!json_get(status, S("resourceStatus")))
        json_set(w->given.a, json_set(w->given.a, status, S("resourceStatus"), json_obj()), S("manifests"), json_arr());
    struct json *list = json_get_mut(json_get_mut(status, S("resourceStatus")), S("manifests"));
    for (uint64_t i = 0; i < n; i++) {
        struct case_section one = {.text = permission_case_number(w->given.a, s->text, i), .line = s->line};
        json_push(w->given.a, list, permission_case_yaml(&w->given, &one));
    }
}

static void drop_work(struct world *w, const struct case_section *s)
{
    size_t at = place_of(w, s->args);
    if (at == w->works.n) {
        case_fail(w->given.c, s, "there is no such work");
        return;
    }
    w->works.n--;
    memmove(&w->works.p[at], &w->works.p[at + 1], (w->works.n - at) * sizeof *w->works.p);
}

static void read_time(struct world *w, str text)
{
    int64_t seconds = 0;
    uint32_t nanos;
    if (!time_parse(text, &seconds, &nanos))
        case_fail(w->given.c, NULL, "no time: %.*s", STR(text));
    w->fake.wall = seconds * 1000000000;
}

static void report(struct world *w)
{
    struct clock clock = clock_of_fake(&w->fake);
    build(w);
    struct permission_progress progress = {
        .build = &w->build,
        .works = w->works.p,
        .n_works = w->works.n,
        .denied = w->denied,
        .waits_approval = w->waits,
        .approval = w->approval,
    };
    w->status = permission_status(w->given.a, &w->given.permission, &progress, &clock);
}

/* ---- As text. ---- */

/* Every condition has a time that is one. */
static void add_condition(struct world *w, struct buf *b, const struct json *c)
{
    str rest = json_get_text(c, S("message")), line;
    int64_t seconds;
    uint32_t nanos;
    if (!time_parse(json_get_text(c, S("lastTransitionTime")), &seconds, &nanos))
        case_fail(w->given.c, NULL, "no time: %.*s", STR(json_get_text(c, S("lastTransitionTime"))));
    buf_fmt(b, "%.*s %.*s", STR(json_get_text(c, S("status"))), STR(json_get_text(c, S("reason"))));
    for (bool is_first = true; rest.n; is_first = false) {
        str_cut(rest, '\n', &line, &rest);
        buf_fmt(b, "%s%.*s", is_first ? " " : "\n| ", STR(line));
    }
    buf_add_char(b, '\n');
}

/* "conditions A B": those; else all. */
static bool is_asked_for(const struct case_section *s, str type)
{
    return str_eq(s->args, S("conditions")) || case_has_arg(s, type);
}

static void add_conditions(struct world *w, struct buf *b, const struct case_section *s)
{
    const struct json *conditions = json_get(&w->status, S("conditions"));
    json_each_item(conditions, c)
    {
        str type = json_get_text(c, S("type"));
        if (!is_asked_for(s, type))
            continue;
        buf_fmt(b, "%.*s ", STR(type));
        add_condition(w, b, c);
    }
}

static void add_resources(struct world *w, struct buf *b, const struct case_section *s)
{
    static const struct {
        const char *list, *kind;
    } rows[] = {{"clusterRoles", "ClusterRole"},
                {"clusterRoleBindings", "ClusterRoleBinding"},
                {"roles", "Role"},
                {"roleBindings", "RoleBinding"}};
    for (size_t i = 0; i < 4; i++) {
        if (!str_eq(s->args, S("resources")) && !case_has_arg(s, str_of(rows[i].kind)))
            continue;
        const struct json *list = json_get(json_get(&w->status, S("resourceStatus")), str_of(rows[i].list));
        json_each_item(list, it)
        {
            const struct json *conditions = json_get(it, S("condition")), *namespace = json_get(it, S("namespace"));
            buf_fmt(b, "%s %.*s%s%.*s ", rows[i].kind, STR(json_text(namespace)), namespace ? "/" : "",
                    STR(json_get_text(it, S("name"))));
            json_each_item(conditions, c) add_condition(w, b, c);
        }
    }
}

static void add_count(struct world *w, struct buf *b, const struct case_section *s)
{
    struct buf text = {.arena = w->given.a};
    const struct json *all = json_get(&w->status, S("resourceStatus"));
    size_t n = 0;
    (void)s;
    json_encode(&text, all, 0);
    json_each_member(all, list) n += json_len(&list->val);
    buf_fmt(b, "%zu in %s KiB", n, text.n <= PERMISSION_STATUS_BYTES ? "512" : "more than 512");
}

static void add_status(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    yaml_encode(b, &w->status);
}

static void add_unchanged(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    buf_add_str(b, json_equal(&w->status, json_get(&w->given.permission, S("status"))) ? S("yes") : S("no"));
}

static void expect(struct world *w, const struct case_section *s)
{
    static const struct {
        const char *name;
        void (*add)(struct world *w, struct buf *b, const struct case_section *s);
    } rows[] = {
        {"conditions", add_conditions}, {"count", add_count},         {"resources", add_resources},
        {"status", add_status},         {"unchanged", add_unchanged},
    };
    struct buf b = {.arena = w->given.a};
    str what, rest;
    str_cut(s->args, ' ', &what, &rest);
    report(w);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (str_eq(what, str_of(rows[i].name))) {
            rows[i].add(w, &b, s);
            case_expect(w->given.c, s, buf_str(&b));
            return;
        }
    }
    case_fail(w->given.c, s, "unknown expectation");
}

static void write_status(struct world *w)
{
    report(w);
    json_set(w->given.a, &w->given.permission, S("status"), json_dup(w->given.a, &w->status));
}

static void read_approval(struct world *w, const struct case_section *s)
{
    w->waits = case_has_arg(s, S("waits"));
    w->approval = case_has_arg(s, S("off")) ? (str){0} : s->text;
}

static void read_permission(struct world *w)
{
    struct json *meta = meta_of(w->given.a, &w->given.permission);
    if (!json_get(meta, S("generation")))
        json_set(w->given.a, meta, S("generation"), json_int(1));
}

static void step(struct world *w, const struct case_section *s)
{
    if (permission_case_step(&w->given, s))
        read_permission(w);
    else if (str_eq(s->name, S("work")))
        read_work(w, s);
    else if (str_eq(s->name, S("manifests")))
        add_manifests(w, s);
    else if (str_eq(s->name, S("gone")))
        drop_work(w, s);
    else if (str_eq(s->name, S("denied")))
        w->denied = s->text;
    else if (str_eq(s->name, S("approval")))
        read_approval(w, s);
    else if (str_eq(s->name, S("time")))
        read_time(w, s->args);
    else if (str_eq(s->name, S("write")))
        write_status(w);
    else if (str_eq(s->name, S("expect")))
        expect(w, s);
    else
        case_fail(w->given.c, s, "unknown section");
}

static void run(struct case_file *c)
{
    struct world w = {0};
    permission_case_init(&w.given, c);
    w.given.permission = json_obj();
    read_time(&w, S("2026-01-01T00:00:00Z"));
    vec_each(&c->sections, s) step(&w, s);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
