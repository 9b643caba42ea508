/* SPDX-License-Identifier: Apache-2.0 */
/* reeve clusters: which clusters belong to a hub. */
#include "cli/clusters.h"

#include "base/duration.h"
#include "cli/help.h"
#include "object/fleet.h"
#include "object/name.h"

#include <time.h>

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
