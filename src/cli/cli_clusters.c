/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_clusters.h"
#include "base/duration.h"
#include "base/map.h"
#include "cli/cli_output.h"
#include "cli/help.h"
#include "kinds/columns.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/name.h"
#include "object/object.h"
#include "json/yaml.h"

#include <stdio.h>
#include <time.h>

static int cli_clusters_list(struct clusters_command *c, struct err *err);

/* reeve clusters: which clusters belong to a hub. */

#define SECOND (1000 * NS_PER_MS)

const struct client_resource cli_clusters_resource = CLIENT_RESOURCE(FLEET_CLUSTERS);
const struct client_resource cli_clusters_works = CLIENT_RESOURCE(FLEET_WORKS);

/* ---- What the verbs share. ---- */

void cli_clusters_need(struct clusters_command *c, const char *verb, const struct client_ref *ref)
{
    command_needs(&c->base, (struct command_need){.verb = verb,
                                                  .group = ref->resource->group,
                                                  .resource = ref->resource->plural,
                                                  .subresource = ref->subresource,
                                                  .namespace = ref->namespace,
                                                  .name = ref->name});
}

int64_t cli_clusters_deadline(const struct clusters_command *c)
{
    return clock_mono_ns(&clock_system) + c->base.timeout_ns;
}

bool cli_clusters_wait(int64_t deadline)
{
    static const struct timespec moment = {.tv_nsec = 100 * NS_PER_MS};
    if (clock_mono_ns(&clock_system) >= deadline)
        return false;
    (void)nanosleep(&moment, NULL);
    return true;
}

int cli_clusters_explain(struct clusters_command *c, const char *tried, struct err *err)
{
    if (err->code == ERR_NOT_FOUND && !client_is_gone(err))
        return err_set(
            err, ERR_NOT_FOUND,
            "%.*s has no ManagedClusters, so it is no hub: \"%s up\" is one, and deploy/README.md says how any "
            "Kubernetes becomes one",
            STR(c->base.session.config.server), help_program());
    return err_wrap(err, "%s", tried);
}

/* ---- The command line. ---- */

enum verb { ADD, LIST, REMOVE };

static const struct {
    int (*run)(struct clusters_command *, struct err *);
    int64_t timeout_ns;
} verbs[] = {
    [ADD] = {cli_clusters_add, 60 * SECOND},
    [LIST] = {cli_clusters_list, 0},
    [REMOVE] = {cli_clusters_remove, 300 * SECOND},
};

struct given {
    str output;
    bool server, lifetime;
};

/* Flags of one verb are not quietly ignored by another. */
static const char *stray_flag(const struct clusters_command *c, const struct given *given, enum verb verb)
{
    return given->server && verb != ADD             ? "--hub-server"
           : given->lifetime && verb != ADD         ? "--lifetime"
           : c->is_forced && verb != REMOVE         ? "--force"
           : c->base.timeout_ns && verb == LIST     ? "--timeout"
           : c->base.selector.n && verb != LIST     ? "--selector"
           : c->file && verb != ADD                 ? "--join-file"
           : given->output.n != 0 && verb == REMOVE ? "--output"
                                                    : NULL;
}

static bool take_output(struct clusters_command *c, const struct given *given)
{
    int output = 0;
    while (given->output.n && output_words[output] && !str_eq(given->output, str_of(output_words[output])))
        output++;
    c->output = (enum output)output;
    return output_words[output];
}

static int take_name(struct clusters_command *c, const struct flag_words *words)
{
    if (words->n != 2)
        return command_misused(&c->base, "%s needs the name of one cluster", words->p[0]);
    c->name = str_of(words->p[1]);
    if (!name_is(NAME_DNS_LABEL, c->name))
        return command_misused(&c->base,
                               "\"%s\" cannot be the name of a cluster: its namespace would have that name, too, so "
                               "only small letters, digits and dashes are allowed, 63 at most",
                               words->p[1]);
    return CLI_OK;
}

static int understand(struct clusters_command *c, const struct given *given, enum verb verb,
                      const struct flag_words *words)
{
    const char *stray = stray_flag(c, given, verb);
    if (stray)
        return command_misused(&c->base, "%s does not go with %s", stray, words->p[0]);
    if (verb == ADD && given->output.n)
        return command_misused(&c->base, "--output is the format of list: use --join-file FILE to name the file");
    if (c->lifetime_ns < 600 * SECOND)
        return command_misused(&c->base, "--lifetime is shorter than the ten minutes that a token lives at least");
    if (c->base.timeout_ns == 0)
        c->base.timeout_ns = verbs[verb].timeout_ns;
    if (verb != LIST)
        return take_name(c, words);
    if (words->n > 1)
        return command_misused(&c->base, "unknown argument \"%s\"", words->p[1]);
    if (!take_output(c, given))
        return command_misused(&c->base, "invalid output \"%.*s\": use table, wide, json, yaml or name",
                               STR(given->output));
    return CLI_OK;
}

static int run(struct clusters_command *c, enum verb verb)
{
    struct err err;
    int code = command_connect(&c->base, &err);
    if (code == 0)
        code = verbs[verb].run(c, &err);
    return code < 0 ? command_fail(&c->base, &err) : CLI_OK;
}

int cli_clusters(int argc, char **argv)
{
    static const char *const names[] = {[ADD] = "add", [LIST] = "list", [REMOVE] = "remove", NULL};
    struct clusters_command c = {.base = {.name = "clusters", .takes = TAKES_SERVER | TAKES_SELECTOR | TAKES_TIMEOUT},
                                 .lifetime_ns = INT64_C(720) * 3600 * SECOND};
    struct given given = {0};
    struct flag_words words;
    const struct flag flags[] = {
        {.name = "hub-server", .kind = FLAG_TEXT, .into = &c.hub_server, .is_given = &given.server},
        {.name = "lifetime", .kind = FLAG_TIME, .into = &c.lifetime_ns, .is_given = &given.lifetime},
        {.name = "join-file", .kind = FLAG_PATH, .into = &c.file},
        {.letter = 'o', .name = "output", .kind = FLAG_TEXT, .into = &given.output},
        {.name = "force", .kind = FLAG_YES, .into = &c.is_forced},
    };
    int code = command_start(&c.base, flags, COUNT(flags), argc, argv, &words);
    int verb = c.base.is_over ? -1 : command_verb(&c.base, &words, names);
    if (!c.base.is_over)
        code = verb < 0 ? CLI_USAGE : understand(&c, &given, (enum verb)verb, &words);
    if (!c.base.is_over && code == CLI_OK)
        code = run(&c, (enum verb)verb);
    return command_end(&c.base, code);
}

/* reeve clusters list: what a hub knows of its clusters. */

static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

/* What stands in the namespace of one cluster. */
struct place {
    const struct json *lease;
    size_t applied, failed;
};

struct places {
    struct map by_name;
    bool has_leases, has_works; /* or one may not look */
};

static struct place *place_of(struct clusters_command *c, struct places *p, str namespace)
{
    struct place *place = map_get(&p->by_name, namespace);
    if (!place) {
        place = ARENA_NEW(&c->base.arena, struct place);
        map_set(&p->by_name, namespace, place);
    }
    return place;
}

/* What one may not see is left out, and said so: the names of clusters are worth something without it. */
static bool list_all(struct clusters_command *c, const struct client_resource *resource, str fields, struct json *ret)
{
    struct client_ref ref = {.resource = resource};
    struct client_list_options options = {.field_selector = fields};
    struct err err = {0};
    if (client_list(c->base.session.client, &c->base.arena, &ref, &options, ret, NULL, &err) == 0)
        return true;
    term_complain(c->base.name, "cannot list %.*s: %s", STR(resource->plural), err.msg);
    return false;
}

static void look_around(struct clusters_command *c, struct places *p)
{
    struct json items;
    p->has_leases = list_all(c, &leases, S("metadata.name=" FLEET_LEASE), &items);
    if (p->has_leases)
        json_each_item(&items, lease) place_of(c, p, object_namespace(lease))->lease = lease;
    p->has_works = list_all(c, &cli_clusters_works, (str){0}, &items);
    if (!p->has_works)
        return;
    json_each_item(&items, work)
    {
        struct place *place = place_of(c, p, object_namespace(work));
        place->applied += condition_is(work, S("Applied"), S("True"));
        place->failed += condition_is(work, S("Applied"), S("False"));
    }
}

/* ---- Cells. ---- */

static str status_of(const struct json *cluster, str type)
{
    str status = json_get_text(condition_find(json_dig(cluster, "status.conditions"), type), S("status"));
    return status.n ? status : S("<none>");
}

static str heartbeat_of(struct clusters_command *c, const struct places *p, const struct place *place, int64_t now)
{
    str renewed = place ? json_text(json_dig(place->lease, "spec.renewTime")) : (str){0};
    if (!p->has_leases)
        return S("<unknown>");
    return renewed.n ? column_age(&c->base.arena, renewed, now) : S("<none>");
}

static str works_of(struct clusters_command *c, const struct places *p, const struct place *place)
{
    if (!p->has_works)
        return S("<unknown>");
    return str_fmt(&c->base.arena, "%zu/%zu", place ? place->applied : 0, place ? place->failed : 0);
}

static str note_of(const struct place *place, str name)
{
    str note = place ? json_get_text(json_dig(place->lease, "metadata.annotations"), name) : (str){0};
    return note.n ? note : S("<none>");
}

enum { COLUMNS = 7, WIDE = 2 };

static void print_table(struct clusters_command *c, const struct json *items, struct buf *b)
{
    static const str names[] = {S_INIT("NAME"),      S_INIT("ACCEPTED"),  S_INIT("JOINED"),
                                S_INIT("AVAILABLE"), S_INIT("HEARTBEAT"), S_INIT("WORKS(APPLIED/FAILED)"),
                                S_INIT("AGE"),       S_INIT("AGENT"),     S_INIT("KUBERNETES")};
    struct places places = {0};
    bool is_wide = c->output == OUTPUT_WIDE;
    struct table t = {.arena = &c->base.arena,
                      .columns = COLUMNS + (is_wide ? WIDE : 0),
                      .width = is_wide ? 0 : term_room(&c->base.term)};
    int64_t now = clock_seconds(&clock_system);
    look_around(c, &places);
    cli_table_add(&t, names);
    json_each_item(items, cluster)
    {
        str name = object_name(cluster);
        const struct place *place = map_get(&places.by_name, name);
        const str cells[] = {
            name,
            status_of(cluster, S("HubAcceptedManagedCluster")),
            status_of(cluster, S("ManagedClusterJoined")),
            status_of(cluster, S("ManagedClusterConditionAvailable")),
            heartbeat_of(c, &places, place, now),
            works_of(c, &places, place),
            column_age(&c->base.arena, json_text(json_dig(cluster, "metadata.creationTimestamp")), now),
            note_of(place, S(FLEET_ANNOTATION_AGENT)),
            note_of(place, S(FLEET_ANNOTATION_KUBERNETES)),
        };
        cli_table_add(&t, cells);
    }
    cli_table_print(b, &t);
    map_done(&places.by_name);
}

static void print_names(const struct json *items, struct buf *b)
{
    json_each_item(items, cluster)
        buf_fmt(b, "managedcluster." FLEET_CLUSTER_GROUP "/%.*s\n", STR(object_name(cluster)));
}

static void print_list(struct clusters_command *c, struct json items)
{
    for (size_t i = 0; i < items.n; i++)
        document_trim(&items.items[i]);
    struct json list = document_list(&c->base.arena, items);
    output_tree(&list, c->output == OUTPUT_YAML);
}

static int cli_clusters_list(struct clusters_command *c, struct err *err)
{
    struct client_ref ref = {.resource = &cli_clusters_resource};
    struct client_list_options options = {.label_selector = c->base.selector};
    struct buf text = {.arena = &c->base.arena};
    struct json items;
    cli_clusters_need(c, "list", &ref);
    int code = client_list(c->base.session.client, &c->base.arena, &ref, &options, &items, NULL, err);
    if (code < 0)
        return cli_clusters_explain(c, "list ManagedClusters", err);
    if (c->output == OUTPUT_NAME)
        print_names(&items, &text);
    else if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
        print_list(c, items);
    else if (items.n)
        print_table(c, &items, &text);
    else if (c->base.selector.n)
        term_say(&c->base.term, "No clusters with such labels.");
    else
        term_say(&c->base.term, "No clusters yet: \"%s clusters add NAME\" adds one.", help_program());
    output_text(buf_str(&text));
    return 0;
}
