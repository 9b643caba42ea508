/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/access.h"

#include <stdlib.h>

#define REVIEWS S("/apis/authorization.k8s.io/v1/subjectaccessreviews")

/* In the order in which they are shown; READ of them are "read", ALL of them are "all". */
static const char *const verbs[] = {
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate"};
enum { READ = 3, ALL = 8, VERBS = COUNT(verbs) };

struct who {
    str user, group, namespace;
};

static struct who who_of(const struct case_section *s)
{
    struct who who = {0};
    str name, rest;
    str_cut(str_trim(s->args), ' ', &name, &rest);
    if (str_has_prefix(name, S("group:")))
        who.group = str_from(name, S("group:").n);
    else
        who.user = name;
    if (str_has_prefix(rest, S("in ")))
        who.namespace = str_trim(str_from(rest, S("in ").n));
    return who;
}

static bool may(const struct objects_door *d, const struct who *who, const char *verb, str group, str resource)
{
    struct arena *a = d->c->arena;
    struct json spec = json_obj(), asked = json_obj(), groups = json_arr(), review = json_obj(), answer;
    struct buf text = {.arena = a};
    str plain, sub = {0};
    str_cut(resource, '/', &plain, &sub);
    json_add(a, &asked, S("verb"), json_str(str_of(verb)));
    json_add(a, &asked, S("group"), json_str(group));
    json_add(a, &asked, S("resource"), json_str(plain));
    json_add(a, &asked, S("subresource"), json_str(sub));
    json_add(a, &asked, S("namespace"), json_str(who->namespace));
    if (who->group.n)
        json_push(a, &groups, json_str(who->group));
    json_add(a, &spec, S("user"), json_str(who->user.n ? who->user : S("somebody")));
    json_add(a, &spec, S("groups"), groups);
    json_add(a, &spec, S("resourceAttributes"), asked);
    json_add(a, &review, S("spec"), spec);
    json_encode(&text, &review, 0);
    d->ask(d->ctx, &(struct objects_request){.method = S("POST"), .target = REVIEWS, .body = buf_str(&text)}, &answer);
    return json_true(json_dig(&answer, "status.allowed"));
}

static void add_verb(struct buf *b, size_t start, const char *verb)
{
    buf_fmt(b, "%s%s", b->n == start ? "" : ",", verb);
}

/* "secrets create,read"; empty: nothing. */
static str line_of(const struct objects_door *d, const struct who *who, str group, str resource)
{
    struct buf line = {.arena = d->c->arena};
    bool is_allowed[VERBS];
    size_t reads = 0, most = 0, start;
    for (size_t i = 0; i < VERBS; i++) {
        is_allowed[i] = may(d, who, verbs[i], group, resource);
        reads += i < READ && is_allowed[i];
        most += i < ALL && is_allowed[i];
    }
    buf_fmt(&line, "%.*s%s%.*s ", STR(resource), group.n ? "." : "", STR(group));
    start = line.n;
    if (most == ALL)
        add_verb(&line, start, "all");
    else if (reads == READ)
        add_verb(&line, start, "read");
    for (size_t i = 0; i < VERBS; i++) {
        bool is_told = (i < READ && reads == READ) || (i < ALL && most == ALL);
        if (is_allowed[i] && !is_told)
            add_verb(&line, start, verbs[i]);
    }
    return line.n == start ? (str){0} : buf_str(&line);
}

static int by_text(const void *l, const void *r)
{
    return str_cmp(*(const str *)l, *(const str *)r);
}

bool access_step(const struct objects_door *door, const struct case_section *s)
{
    if (!str_eq(s->name, S("rights")))
        return false;
    struct arena *a = door->c->arena;
    struct who who = who_of(s);
    size_t n;
    VEC(str) lines = {0};
    struct buf got = {.arena = a};
    door->settle(door->ctx);
    struct registry_group *groups = registry_groups(a, door->registry, &n);
    for (size_t i = 0; i < n; i++) {
        struct registry_version *version = &groups[i].versions[0]; /* rights know no versions */
        for (size_t k = 0; k < version->n; k++) {
            str plural = str_of(version->kinds[k]->plural), group = str_of(version->kinds[k]->group);
            str parts[] = {plural, str_fmt(a, "%.*s/status", STR(plural))};
            for (size_t p = 0; p < 2; p++) {
                str line = line_of(door, &who, group, parts[p]);
                if (line.n)
                    *vec_push(a, &lines) = line;
            }
        }
    }
    if (lines.n)
        qsort(lines.p, lines.n, sizeof *lines.p, by_text);
    for (size_t i = 0; i < lines.n; i++)
        buf_fmt(&got, "%.*s\n", STR(lines.p[i]));
    case_expect(door->c, s, buf_str(&got));
    return true;
}
