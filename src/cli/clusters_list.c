/* SPDX-License-Identifier: Apache-2.0 */
/* reeve clusters list: what a hub knows of its clusters. */
#include "cli/clusters.h"

#include "base/map.h"
#include "cli/document.h"
#include "cli/help.h"
#include "cli/table.h"
#include "kinds/columns.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"
#include "json/yaml.h"

#include <stdio.h>

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

int cli_clusters_list(struct clusters_command *c, struct err *err)
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
