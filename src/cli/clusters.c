/* SPDX-License-Identifier: Apache-2.0 */
/* reeve clusters: which clusters belong to a hub. */
#include "cli/clusters.h"

#include "base/duration.h"
#include "cli/cli.h"
#include "cli/visible.h"
#include "object/fleet.h"
#include "object/name.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static const char usage[] =
    "Usage: reeve clusters add NAME [--hub-server URL] [--lifetime TIME] [-o FILE]\n"
    "       reeve clusters list [-o table|wide|json|yaml|name]\n"
    "       reeve clusters remove NAME [--timeout TIME] [--force]\n"
    "\n"
    "The clusters of a hub. add makes a ManagedCluster, accepts it, and writes a join kubeconfig for its agent; said again,\n"
    "it writes a fresh one. list shows who was heard of, and how works fare there. remove deletes the ManagedCluster and\n"
    "waits until its agent has taken away what it delivered.\n"
    "\n"
    "      --hub-server URL    where the agent finds the hub  [the server of the kubeconfig]\n"
    "      --lifetime TIME     of the token in the join kubeconfig; the agent renews it in time  [720h]\n"
    "  -o, --output FILE       of add: readable by nobody else; - is standard output  [NAME.kubeconfig]\n"
    "  -o, --output FORMAT     of list  [table]\n"
    "      --timeout TIME      [add: 1m, remove: 5m]\n"
    "      --force             does not wait for an agent that is gone: what it delivered stays there, and is told\n" SESSION_USAGE
    "  -h, --help              show this text\n"
    "\n"
    "Exit code: 0 done, 1 it could not be done, or not in time, 2 wrong usage.\n";

const struct client_resource cli_clusters_resource = CLIENT_RESOURCE(FLEET_CLUSTERS);
const struct client_resource cli_clusters_works = CLIENT_RESOURCE(FLEET_WORKS);

enum { FLAG_SERVER = 256, FLAG_LIFETIME, FLAG_TIMEOUT, FLAG_FORCE, FLAG_KUBECONFIG, FLAG_CONTEXT, FLAG_AS, FLAG_GROUP };

static const struct option flags[] = {
    {"hub-server", required_argument, NULL, FLAG_SERVER},
    {"lifetime", required_argument, NULL, FLAG_LIFETIME},
    {"output", required_argument, NULL, 'o'},
    {"timeout", required_argument, NULL, FLAG_TIMEOUT},
    {"force", no_argument, NULL, FLAG_FORCE},
    {"kubeconfig", required_argument, NULL, FLAG_KUBECONFIG},
    {"context", required_argument, NULL, FLAG_CONTEXT},
    {"as", required_argument, NULL, FLAG_AS},
    {"as-group", required_argument, NULL, FLAG_GROUP},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct words {
    const char *output, *server, *lifetime, *timeout;
    bool is_forced, is_help;
    struct session_flags session;
};

/* ---- What the verbs share. ---- */

void cli_clusters_say(const char *fmt, ...)
{
    char *said = NULL;
    struct buf line = {0};
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&said, fmt, args);
    va_end(args);
    if (n < 0)
        abort();
    bool more = true;
    for (str text, rest = {said, (size_t)n}; more; line.n = 0) {
        more = str_cut(rest, '\n', &text, &rest);
        cli_add_visibly(&line, text);
        (void)fprintf(stderr, "%.*s%s", STR(buf_str(&line)), more ? "\n" : "");
    }
    buf_done(&line);
    free(said);
}

int64_t cli_clusters_deadline(const struct clusters_command *c)
{
    return clock_system.mono_ns(clock_system.ctx) + c->timeout_ns;
}

bool cli_clusters_wait(int64_t deadline)
{
    static const struct timespec moment = {.tv_nsec = 100 * MS};
    if (clock_system.mono_ns(clock_system.ctx) >= deadline)
        return false;
    (void)nanosleep(&moment, NULL);
    return true;
}

int cli_clusters_explain(struct clusters_command *c, const char *tried, struct err *err)
{
    if (err->code == ERR_NOT_FOUND && !client_is_gone(err))
        return err_set(
            err, ERR_NOT_FOUND,
            "%.*s has no ManagedClusters, so it is no hub: \"reeve up\" is one, and deploy/README.md says how "
            "any Kubernetes becomes one",
            STR(c->session.config.server));
    return err_wrap(err, "%s", tried);
}

/* ---- The command line. ---- */

static int take_flag(struct clusters_command *c, struct words *w, int flag, const char *value)
{
    switch (flag) {
    case FLAG_SERVER:
        w->server = value;
        break;
    case FLAG_LIFETIME:
        w->lifetime = value;
        break;
    case 'o':
        w->output = value;
        break;
    case FLAG_TIMEOUT:
        w->timeout = value;
        break;
    case FLAG_FORCE:
        w->is_forced = true;
        break;
    case FLAG_KUBECONFIG:
        w->session.kubeconfig = str_of(value);
        break;
    case FLAG_CONTEXT:
        w->session.context = str_of(value);
        break;
    case FLAG_AS:
        w->session.as = str_of(value);
        break;
    case FLAG_GROUP:
        *vec_push(c->a, &w->session.groups) = str_of(value);
        break;
    default:
        w->is_help = true;
    }
    return 0;
}

static int read_flags(struct clusters_command *c, struct words *w, int argc, char **argv, struct err *err)
{
    optind = 0; /* from the beginning, whoever used it before */
    opterr = 0;
    for (int flag; (flag = getopt_long(argc, argv, ":o:h", flags, NULL)) != -1;) { /* NOLINT(concurrency-mt-unsafe) */
        if (flag == ':' || flag == '?')
            return err_set(err, ERR_BAD_REQUEST, flag == ':' ? "%s needs a value" : "unknown flag %s",
                           argv[optind - 1]);
        if (optarg && !optarg[0])
            return err_set(err, ERR_BAD_REQUEST, "%s needs a value", argv[optind - 2]);
        take_flag(c, w, flag, optarg);
    }
    if (w->session.groups.n && w->session.as.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "--as-group needs --as");
    return 0;
}

static int take_time(const char *flag, const char *text, int64_t least, int64_t *ret, struct err *err)
{
    if (!text)
        return 0;
    if (!duration_parse(str_of(text), ret) || *ret < least)
        return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\" is no duration%s", flag, text,
                       least > MS ? ", or shorter than the ten minutes that a token lives at least"
                                  : " like 30s or 5m");
    return 0;
}

static int take_output(struct clusters_command *c, const char *text, struct err *err)
{
    static const char *const names[] = {[CLUSTERS_TABLE] = "table",
                                        [CLUSTERS_WIDE] = "wide",
                                        [CLUSTERS_JSON] = "json",
                                        [CLUSTERS_YAML] = "yaml",
                                        [CLUSTERS_NAME] = "name"};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], text) == 0) {
            c->output = (enum clusters_output)i;
            return 0;
        }
    }
    return text ? err_set(err, ERR_BAD_REQUEST, "--output \"%s\": say table, wide, json, yaml or name", text) : 0;
}

static int take_name(struct clusters_command *c, const char *verb, int n, char **words, struct err *err)
{
    if (n != 2)
        return err_set(err, ERR_BAD_REQUEST, "%s needs the name of one cluster", verb);
    c->name = str_of(words[1]);
    if (!name_is(NAME_DNS_LABEL, c->name))
        return err_set(err, ERR_BAD_REQUEST,
                       "\"%s\" cannot be the name of a cluster: its namespace would have that name, too, so only small "
                       "letters, digits and dashes are allowed, 63 at most",
                       words[1]);
    return 0;
}

/* Flags of one verb are not quietly ignored by another. */
static int check_flags(const struct words *w, const char *verb, struct err *err)
{
    bool is_add = strcmp(verb, "add") == 0, is_list = strcmp(verb, "list") == 0, is_remove = !is_add && !is_list;
    const char *stray = w->server && !is_add         ? "--hub-server"
                        : w->lifetime && !is_add     ? "--lifetime"
                        : w->is_forced && !is_remove ? "--force"
                        : w->timeout && is_list      ? "--timeout"
                        : w->output && is_remove     ? "--output"
                                                     : NULL;
    return stray ? err_set(err, ERR_BAD_REQUEST, "%s does not go with %s", stray, verb) : 0;
}

typedef int (*verb_fn)(struct clusters_command *, struct err *);

static int understand(struct clusters_command *c, const struct words *w, int n, char **words, verb_fn *ret,
                      struct err *err)
{
    static const struct {
        const char *verb;
        verb_fn run;
    } verbs[] = {{"add", cli_clusters_add}, {"list", cli_clusters_list}, {"remove", cli_clusters_remove}};
    size_t i = 0;
    if (n == 0)
        return err_set(err, ERR_BAD_REQUEST, "say add, list or remove");
    while (i < sizeof verbs / sizeof *verbs && strcmp(verbs[i].verb, words[0]) != 0)
        i++;
    if (i == sizeof verbs / sizeof *verbs)
        return err_set(err, ERR_BAD_REQUEST, "unknown command \"%s\": add, list or remove", words[0]);
    *ret = verbs[i].run;
    bool is_list = *ret == cli_clusters_list;
    c->timeout_ns = (*ret == cli_clusters_add ? 60 : 300) * SECOND;
    c->lifetime_ns = INT64_C(720) * 3600 * SECOND;
    c->hub_server = str_of(w->server);
    c->is_forced = w->is_forced;
    c->file = w->output;
    int code = check_flags(w, words[0], err);
    if (code == 0)
        code = take_time("lifetime", w->lifetime, 600 * SECOND, &c->lifetime_ns, err);
    if (code == 0)
        code = take_time("timeout", w->timeout, 1, &c->timeout_ns, err);
    if (code == 0 && is_list && n > 1)
        code = err_set(err, ERR_BAD_REQUEST, "unknown argument \"%s\"", words[1]);
    if (code < 0)
        return code;
    return is_list ? take_output(c, w->output, err) : take_name(c, words[0], n, words, err);
}

static int run(struct clusters_command *c, const struct words *w, verb_fn verb, struct err *err)
{
    int code = session_open(&c->session, &w->session, err);
    if (code == 0)
        code = verb(c, err);
    session_close(&c->session);
    return code;
}

int cli_clusters(int argc, char **argv)
{
    struct arena a ARENA_SCOPE = {0};
    struct clusters_command c = {.a = &a};
    struct words w = {0};
    struct err err = {0};
    verb_fn verb = NULL;
    int code = read_flags(&c, &w, argc, argv, &err);
    if (code == 0 && w.is_help) {
        (void)fputs(usage, stdout);
        return CLI_OK;
    }
    if (code == 0)
        code = understand(&c, &w, argc - optind, argv + optind, &verb, &err);
    if (code != 0) {
        cli_clusters_say("reeve clusters: %s\nRun \"reeve clusters --help\".\n", err.msg);
        return CLI_USAGE;
    }
    const char *name = argv[optind];
    assert(verb);
    code = run(&c, &w, verb, &err);
    if (code < 0)
        cli_clusters_say("reeve clusters %s: %s\n", name, err.msg);
    return code < 0 ? CLI_FAILED : CLI_OK;
}
