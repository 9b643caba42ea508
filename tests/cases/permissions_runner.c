/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of ClusterPermissions: what they ask for, and the ManifestWorks that come of it. What is given: see permission.h.
 *
 *     --- before                        remembers what is built now
 *     --- edit WORK                     this is merged into the spec of a work on the hub
 *
 *     --- expect works                  each work, and below it its manifests in order: KIND NAME or KIND NAMESPACE/NAME; of templates
 *                                       for selected namespaces NAMESPACE is the selector; "looks for" if it is never applied
 *     --- expect manifest KIND NAME     one of them as YAML, whichever work it is in; of several by that name the first
 *     --- expect spec WORK              of a work, as YAML
 *     --- expect parts                  each work: how many manifests
 *     --- expect moved                  manifests that are in another work than before, gained and lost ones aside: how many
 *     --- expect limits                 OCM's webhook: fails for works that it would refuse; the text is "kept"
 *     --- expect invalid REASON         the message of Validation
 *     --- expect broken                 the message of FailedBuildManifestWork
 *     --- expect empty                  "yes" if works that are there go
 *     --- expect accounts               those that are missing, one a line; "none" if no subject is an account
 *     --- expect no-subjects            bindings that have no subjects
 *     --- expect no-namespaces          selectors that match nothing
 *     --- expect questions              how often the hub was asked for namespaces
 *     --- expect same                   whether the edited work still says what was built: "yes" or "no" */
#include "cases/permission.h"
#include "object/fleet.h"
#include "object/object.h"
#include "patch/json_patch.h"

struct world {
    struct permission_case given;
    struct permission_build build, before;
    const struct permission_work *edited; /* and as the hub has it */
    struct json object;
};

static const struct json *manifests_of(const struct permission_work *work)
{
    return json_dig(&work->spec, "workload.manifests");
}

static bool is_looked_for(const struct permission_work *work, const struct json *manifest)
{
    const struct json *configs = json_get(&work->spec, S("manifestConfigs"));
    json_each_item(configs, config)
    {
        const struct json *id = json_get(config, S("resourceIdentifier"));
        str resource = json_get_text(id, S("resource"));
        if (str_eq(json_get_text(id, S("name")), object_name(manifest)) &&
            str_eq(json_get_text(id, S("namespace")), object_namespace(manifest)) &&
            str_eq(resource, str_eq(object_kind(manifest), S("Role")) ? S("roles") : S("clusterroles")))
            return true;
    }
    return false;
}

/* "Role default/x" */
static void add_identity(struct buf *b, const struct json *manifest)
{
    str selector = object_annotation(manifest, S(FLEET_ANNOTATION_SELECTOR)), namespace = object_namespace(manifest);
    buf_fmt(b, "%.*s ", STR(object_kind(manifest)));
    if (namespace.n || selector.n)
        buf_fmt(b, "%.*s/", STR(namespace.n ? namespace : selector));
    buf_add_str(b, object_name(manifest));
}

static void add_works(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    for (size_t i = 0; i < w->build.n; i++) {
        const struct permission_work *work = &w->build.works[i];
        const struct json *manifests = manifests_of(work);
        buf_fmt(b, "%.*s\n", STR(work->name));
        json_each_item(manifests, m)
        {
            buf_add_str(b, is_looked_for(work, m) ? S("  looks for ") : S("  "));
            add_identity(b, m);
            buf_add_char(b, '\n');
        }
    }
}

/* args: "manifest KIND NAME" */
static void add_manifest(struct world *w, struct buf *b, const struct case_section *s)
{
    str rest;
    str_cut(s->args, ' ', &rest, &rest);
    for (size_t i = 0; i < w->build.n; i++) {
        const struct json *manifests = manifests_of(&w->build.works[i]);
        json_each_item(manifests, m)
        {
            struct buf id = {.arena = w->given.a};
            add_identity(&id, m);
            if (str_eq(buf_str(&id), rest)) {
                yaml_encode(b, m);
                return;
            }
        }
    }
    buf_add_str(b, S("there is none"));
}

static const struct permission_work *work_named(const struct permission_build *build, str name)
{
    for (size_t i = 0; i < build->n; i++) {
        if (str_eq(build->works[i].name, name))
            return &build->works[i];
    }
    return NULL;
}

static void add_spec(struct world *w, struct buf *b, const struct case_section *s)
{
    str what, name;
    str_cut(s->args, ' ', &what, &name);
    const struct permission_work *work = work_named(&w->build, name);
    if (work)
        yaml_encode(b, &work->spec);
}

static void add_parts(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    for (size_t i = 0; i < w->build.n; i++)
        buf_fmt(b, "%.*s %zu\n", STR(w->build.works[i].name), json_len(manifests_of(&w->build.works[i])));
}

/* ---- Between two builds. ---- */

/* Manifest → its work's name. */
static void index_works(struct arena *a, const struct permission_build *build, struct map *ret)
{
    for (size_t i = 0; i < build->n; i++) {
        const struct json *manifests = manifests_of(&build->works[i]);
        json_each_item(manifests, m)
        {
            struct buf id = {.arena = a};
            add_identity(&id, m);
            map_set(ret, buf_str(&id), (void *)&build->works[i]);
        }
    }
}

static void add_moved(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    struct map before = {0}, now = {0};
    size_t at = 0, moved = 0;
    str key;
    void *value;
    index_works(w->given.a, &w->before, &before);
    index_works(w->given.a, &w->build, &now);
    while (map_next(&now, &at, &key, &value)) {
        const struct permission_work *new = value, *old = map_get(&before, key);
        moved += old && !str_eq(old->name, new->name);
    }
    buf_fmt(b, "%zu of %zu", moved, now.n);
    map_done(&before);
    map_done(&now);
}

/* ---- What OCM's webhook demands. ---- */

static void check_manifest(struct world *w, const struct case_section *s, struct map *seen, const struct json *m)
{
    str key = str_fmt(w->given.a, "%.*s/%.*s/%.*s", STR(object_kind(m)), STR(object_namespace(m)), STR(object_name(m)));
    if (object_name(m).n == 0)
        case_fail(w->given.c, s, "name must be set in manifest");
    if (map_set(seen, key, (void *)m))
        case_fail(w->given.c, s, "duplicate manifest %.*s", STR(key));
}

static void add_limits(struct world *w, struct buf *b, const struct case_section *s)
{
    for (size_t i = 0; i < w->build.n; i++) {
        const struct json *manifests = manifests_of(&w->build.works[i]);
        struct map seen = {0};
        size_t bytes = 0;
        json_each_item(manifests, m)
        {
            struct buf text = {.arena = w->given.a};
            json_encode(&text, m, 0);
            bytes += text.n + 2 + (text.n >= 128) + (text.n >= 16384); /* protobuf: tag, length, bytes */
            check_manifest(w, s, &seen, m);
        }
        if (bytes > FLEET_WORK_BYTES)
            case_fail(w->given.c, s, "the size of manifests is %zu bytes which exceeds the limit", bytes);
        if (seen.n == 0)
            case_fail(w->given.c, s, "manifests should not be empty");
        if (seen.n > PERMISSION_PART_MANIFESTS)
            case_fail(w->given.c, s, "%zu manifests in one work", seen.n);
        map_done(&seen);
    }
    buf_add_str(b, S("kept"));
}

/* ---- Problems and notes. ---- */

static void add_invalid(struct world *w, struct buf *b, const struct case_section *s)
{
    str what, reason;
    str_cut(s->args, ' ', &what, &reason);
    if (w->build.outcome != PERMISSION_INVALID || !str_eq(w->build.reason, reason) || w->build.n)
        buf_fmt(b, "(outcome %d, reason %.*s) ", w->build.outcome, STR(w->build.reason));
    buf_add_str(b, w->build.message);
}

static void add_broken(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    if (w->build.outcome != PERMISSION_BROKEN || !str_eq(w->build.reason, S("FailedBuildManifestWork")) || w->build.n)
        buf_fmt(b, "(outcome %d, reason %.*s) ", w->build.outcome, STR(w->build.reason));
    buf_add_str(b, w->build.message);
}

static void add_empty(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    buf_add_str(b, w->build.is_empty ? S("yes") : S("no"));
}

static void add_accounts(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    if (!w->build.has_accounts)
        buf_add_str(b, S("none"));
    for (size_t i = 0; i < w->build.n_missing; i++)
        buf_fmt(b, "%.*s\n", STR(w->build.missing[i]));
}

static void add_no_subjects(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    buf_add_str(b, w->build.no_subjects);
}

static void add_questions(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    buf_fmt(b, "%zu", w->given.questions);
}

static void add_no_namespaces(struct world *w, struct buf *b, const struct case_section *s)
{
    (void)s;
    buf_add_str(b, w->build.no_namespaces);
}

static void add_same(struct world *w, struct buf *b, const struct case_section *s)
{
    if (!w->edited)
        case_fail(w->given.c, s, "nothing was edited");
    else
        buf_add_str(b, permission_work_is(w->edited, &w->object) ? S("yes") : S("no"));
}

/* ---- Running. ---- */

struct expectation {
    const char *name;
    void (*add)(struct world *w, struct buf *b, const struct case_section *s);
};

static const struct expectation expectations[] = {
    {"accounts", add_accounts},
    {"broken", add_broken},
    {"empty", add_empty},
    {"invalid", add_invalid},
    {"limits", add_limits},
    {"manifest", add_manifest},
    {"moved", add_moved},
    {"no-namespaces", add_no_namespaces},
    {"no-subjects", add_no_subjects},
    {"parts", add_parts},
    {"questions", add_questions},
    {"same", add_same},
    {"spec", add_spec},
    {"works", add_works},
};

static void build(struct world *w)
{
    w->given.questions = 0;
    w->build = permission_build(w->given.a, &w->given.permission, &w->given.facts);
}

static void expect(struct world *w, const struct case_section *s)
{
    struct buf b = {.arena = w->given.a};
    str what, rest;
    str_cut(s->args, ' ', &what, &rest);
    build(w);
    for (size_t i = 0; i < COUNT(expectations); i++) {
        if (str_eq(what, str_of(expectations[i].name))) {
            bool is_problem = str_eq(what, S("invalid")) || str_eq(what, S("broken"));
            if (w->build.message.n && !is_problem && !str_eq(what, S("accounts")) && !str_eq(what, S("empty")))
                case_fail(w->given.c, s, "nothing is built: %.*s", STR(w->build.message));
            expectations[i].add(w, &b, s);
            case_expect(w->given.c, s, buf_str(&b));
            return;
        }
    }
    case_fail(w->given.c, s, "unknown expectation");
}

/* A work as the hub has it: what is built, and the text merged over it. */
static void edit(struct world *w, const struct case_section *s)
{
    build(w);
    w->edited = work_named(&w->build, s->args);
    if (!w->edited) {
        case_fail(w->given.c, s, "there is no such work");
        return;
    }
    struct json change = permission_case_yaml(&w->given, s);
    w->object = json_obj();
    json_set(w->given.a, &w->object, S("spec"), json_merge_patch(w->given.a, &w->edited->spec, &change));
}

static void run(struct case_file *c)
{
    struct world w = {0};
    permission_case_init(&w.given, c);
    vec_each(&c->sections, s)
    {
        if (permission_case_step(&w.given, s))
            continue;
        if (str_eq(s->name, S("expect"))) {
            expect(&w, s);
        } else if (str_eq(s->name, S("edit"))) {
            edit(&w, s);
        } else if (str_eq(s->name, S("before"))) {
            build(&w);
            w.before = w.build;
        } else {
            case_fail(c, s, "unknown section");
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
