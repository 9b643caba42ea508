/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of metadata: what a server does to an object that is created, updated and deleted. The rounds of a case follow
 * one object through its life:
 *
 *     --- given                                    the object as it is stored (a case may begin without one)
 *     --- when create | update | delete | check kind=v1/ConfigMap [namespace=ns] [name=x]
 *         the object sent, or the DeleteOptions (may be left out)
 *     --- expect
 *         warnings, then the object as it is stored now, or "unchanged", "gone", "pending", or code and message; for
 *         check, which looks at the object as it stands and stores nothing, "fine"
 *
 * Versions count from 1, the uid of a new object is shown as UID, and it is always 2026-01-02T03:04:05Z. The five random
 * letters of a generated name are shown as "?????". Kinds of the group meta.example.com: Widget (in a namespace, with a
 * status subresource) and Gadget (neither). */
#include "cases/case.h"
#include "kinds/builtin.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/status.h"

#include <inttypes.h>

struct world {
    struct case_file *c;
    struct arena *a;
    struct json current; /* null: none */
    uint64_t version;
    struct clock_fake time;
    struct random_seeded chance;
    struct buf out;
};

static const struct kind *find_kind(struct world *w, const struct case_section *when)
{
    static const struct kind_subresource status[] = {{.name = "status", .verbs = VERBS_STATUS}};
    static const struct kind widget = {.group = "meta.example.com",
                                       .version = "v1",
                                       .kind = "Widget",
                                       .plural = "widgets",
                                       .namespaced = true,
                                       .flags = KIND_CUSTOM | KIND_GENERATION,
                                       .subresources = status,
                                       .n_subresources = 1};
    static const struct kind gadget = {.group = "meta.example.com",
                                       .version = "v1",
                                       .kind = "Gadget",
                                       .plural = "gadgets",
                                       .flags = KIND_CUSTOM | KIND_GENERATION};
    str name = case_arg(when, S("kind"));
    if (str_has_suffix(name, S("/Widget")))
        return &widget;
    if (str_has_suffix(name, S("/Gadget")))
        return &gadget;
    size_t slash = name.n;
    while (slash > 0 && name.p[slash - 1] != '/')
        slash--;
    const struct kind *kind = kind_builtin_by_body(str_upto(name, slash ? slash - 1 : 0), str_from(name, slash));
    if (kind == NULL)
        case_fail(w->c, when, "no kind %.*s", STR(name));
    return kind;
}

static struct json decode(struct world *w, const struct case_section *s)
{
    struct json v = {0};
    struct err err;
    if (str_trim(s->text).n && json_decode(w->a, s->text, NULL, NULL, &v, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
    return v;
}

/* ---- What came out. ---- */

static void show_status(struct world *w, const struct json *status)
{
    buf_fmt(&w->out, "%d: %.*s", status_get_http(status), STR(json_get_text(status, S("message"))));
}

static bool show_errors(struct world *w, const struct kind *kind, const struct json *object,
                        const struct field_errors *errs)
{
    if (errs->list.n == 0)
        return false;
    struct status_subject about = {str_of(kind->group), str_of(kind->kind), object_name(object)};
    struct json status = status_invalid(w->a, about, errs);
    show_status(w, &status);
    return true;
}

static void show_warnings(struct world *w, const struct meta_warnings *warnings)
{
    vec_each(&warnings->list, text) buf_fmt(&w->out, "warning: %.*s\n", STR(*text));
}

static void store(struct world *w, struct json object)
{
    str version = str_fmt(w->a, "%" PRIu64, ++w->version);
    json_set(w->a, meta_of(w->a, &object), S("resourceVersion"), json_str(version));
    w->current = object;
    json_encode(&w->out, &object, JSON_SORTED);
}

/* Hides what is random, after a look at whether it is of the right form. */
static void hide_random(struct world *w, const struct case_section *when, struct json *object)
{
    struct json *meta = meta_of(w->a, object);
    str uid = object_uid(object), base = json_get_text(meta, S("generateName")), name = object_name(object);
    bool good = uid.n == 36 && uid.p[8] == '-' && uid.p[13] == '-' && uid.p[14] == '4' && uid.p[18] == '-' &&
                strchr("89ab", uid.p[19]) && uid.p[23] == '-';
    if (!good)
        case_fail(w->c, when, "%.*s is no random uid", STR(uid));
    json_set(w->a, meta, S("uid"), json_str(S("UID")));
    str stem = str_upto(base, 58);
    if (base.n == 0 || !str_has_prefix(name, stem) || name.n != stem.n + 5)
        return;
    for (size_t i = stem.n; i < name.n; i++) {
        if (!strchr("bcdfghjklmnpqrstvwxz2456789", name.p[i]))
            case_fail(w->c, when, "%.*s has a strange suffix", STR(name));
    }
    json_set(w->a, meta, S("name"), json_str(str_fmt(w->a, "%.*s?????", STR(stem))));
}

/* ---- What is done. ---- */

static void create(struct world *w, const struct case_section *when, const struct kind *kind)
{
    struct clock clock = clock_of_fake(&w->time);
    struct random random = random_of_seed(&w->chance);
    struct meta_sources sources = {&clock, &random};
    struct meta_place place = {kind, case_arg(when, S("namespace")), {0}};
    struct meta_warnings warnings = {.arena = w->a};
    struct field_errors errs = {.arena = w->a};
    struct json object = decode(w, when);
    struct err err;
    meta_dedup_owners(w->a, &object, &warnings);
    if (meta_prepare_create(w->a, &place, &sources, &object, &err) < 0) {
        buf_fmt(&w->out, "%d: %s", status_http(err.code), err.msg);
        return;
    }
    meta_validate(&errs, kind, &object);
    if (show_errors(w, kind, &object, &errs))
        return;
    hide_random(w, when, &object);
    meta_warn_finalizers(&warnings, kind, &object, NULL);
    show_warnings(w, &warnings);
    store(w, object);
}

static void update(struct world *w, const struct case_section *when, const struct kind *kind)
{
    struct meta_place place = {kind, case_arg(when, S("namespace")), case_arg(when, S("name"))};
    struct meta_warnings warnings = {.arena = w->a};
    struct field_errors errs = {.arena = w->a};
    struct json object = decode(w, when), status;
    struct err err;
    meta_dedup_owners(w->a, &object, &warnings);
    if (meta_place(w->a, &place, &object, &err) < 0) {
        buf_fmt(&w->out, "%d: %s", status_http(err.code), err.msg);
        return;
    }
    bool patch = case_has_arg(when, S("patch")); /* a patch has no uid to compare first */
    if ((!patch && meta_check_uid(w->a, kind, &object, &w->current, &status) < 0) ||
        meta_check_version(w->a, kind, &object, &w->current, &status) < 0) {
        show_status(w, &status);
        return;
    }
    meta_prepare_update(w->a, kind, &object, &w->current);
    meta_validate_update(&errs, kind, &object, &w->current);
    if (show_errors(w, kind, &object, &errs))
        return;
    meta_warn_finalizers(&warnings, kind, &object, &w->current);
    show_warnings(w, &warnings);
    if (meta_is_unchanged(&object, &w->current))
        buf_add_str(&w->out, S("unchanged"));
    else if (meta_is_gone_after(kind, &object, &w->current))
        buf_add_str(&w->out, S("gone"));
    else
        store(w, object);
}

static void remove_it(struct world *w, const struct case_section *when, const struct kind *kind)
{
    static const struct kind options_kind = {.group = "meta.k8s.io", .kind = "DeleteOptions"};
    struct clock clock = clock_of_fake(&w->time);
    struct field_errors errs = {.arena = w->a};
    struct json options = decode(w, when), status;
    meta_validate_delete_options(&errs, &options);
    if (show_errors(w, &options_kind, NULL, &errs))
        return;
    if (meta_check_preconditions(w->a, kind, &w->current, &options, &status) < 0) {
        show_status(w, &status);
        return;
    }
    struct json object = json_dup(w->a, &w->current);
    switch (meta_prepare_delete(w->a, kind, &object, &options, &clock)) {
    case META_DELETE_NOW:
        buf_add_str(&w->out, S("gone"));
        w->current = json_null();
        break;
    case META_DELETE_MARKED:
        store(w, object);
        break;
    case META_DELETE_PENDING:
        buf_add_str(&w->out, S("pending"));
        break;
    }
}

/* Validation alone: some of its rules are never reached behind the preparing steps. */
static void check(struct world *w, const struct case_section *when, const struct kind *kind)
{
    struct field_errors errs = {.arena = w->a};
    struct json object = decode(w, when);
    if (json_is_null(&w->current))
        meta_validate(&errs, kind, &object);
    else
        meta_validate_update(&errs, kind, &object, &w->current);
    if (!show_errors(w, kind, &object, &errs))
        buf_add_str(&w->out, S("fine"));
}

static void run(struct case_file *c)
{
    struct world w = {.c = c, .a = c->arena, .time.wall = INT64_C(1767323045) * 1000000000, .chance.state = 1};
    vec_each(&c->sections, s)
    {
        const struct kind *kind = str_eq(s->name, S("when")) ? find_kind(&w, s) : NULL;
        if (str_eq(s->name, S("expect"))) {
            case_expect(c, s, buf_str(&w.out));
            continue;
        }
        w.out = (struct buf){.arena = c->arena};
        if (str_eq(s->name, S("given"))) {
            w.current = decode(&w, s);
            (void)str_to_uint64(object_rv(&w.current), &w.version);
        } else if (kind && case_has_arg(s, S("create"))) {
            create(&w, s, kind);
        } else if (kind && case_has_arg(s, S("update"))) {
            update(&w, s, kind);
        } else if (kind && case_has_arg(s, S("check"))) {
            check(&w, s, kind);
        } else if (kind && case_has_arg(s, S("delete"))) {
            remove_it(&w, s, kind);
        } else {
            case_fail(c, s, "no such section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
