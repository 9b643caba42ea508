/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include "base/duration.h"
#include "net/address.h"
#include "object/fleet.h"
#include "object/name.h"

#include <getopt.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

const char agent_usage[] =
    "Usage: reeve agent --cluster NAME --hub-kubeconfig FILE [--kubeconfig FILE] [--context NAME] [OPTION]...\n"
    "       reeve agent --cluster NAME --hub-kubeconfig-secret NAMESPACE/NAME [OPTION]...\n"
    "       reeve agent --print-rbac [--hub] [--managed] [--cluster NAME] [OPTION]...\n"
    "\n"
    "Delivers to this cluster what a hub grants here, keeps it in place, and tells the hub how that goes. \"reeve clusters\n"
    "add NAME\" on the hub writes the join kubeconfig. Its token is renewed in time and written back to where it was read.\n"
    "While the hub is away, what is here stays and is repaired; nothing is removed.\n"
    "\n"
    "      --cluster NAME           of the ManagedCluster that this is on the hub\n"
    "      --hub-kubeconfig FILE    the join kubeconfig\n"
    "      --hub-kubeconfig-secret NAMESPACE/NAME\n"
    "                               the same in a Secret of this cluster, as \"kubeconfig\"; waits until it is there\n"
    "      --kubeconfig FILE        of this cluster  [$KUBECONFIG, ~/.kube/config, or the account of the pod it runs in]\n"
    "      --context NAME           of that kubeconfig\n"
    "      --controllers LIST       works, accounts, or both with a comma between them  [works,accounts]\n"
    "      --account-namespace NAME where ServiceAccounts of ManagedServiceAccounts are\n"
    "                               [" FLEET_ACCOUNT_NAMESPACE "]\n"
    "      --eviction-grace-period TIME\n"
    "                               after which what a work delivered goes, when the hub has lost the work  [60m]\n"
    "      --listen HOST:PORT       for /healthz, /readyz and /metrics; port 0: any that is free  [none]\n"
    "      --leader-election        of several agents of this cluster one acts\n"
    "      --lease-namespace NAME   where they find each other  [that of the pod, else kube-system]\n"
    "      --print-rbac             show the roles that it needs, their bindings and the namespace of accounts, and do no more:\n"
    "        --hub                    those on the hub\n"
    "        --managed                those on this cluster\n"
    "  -v, --verbose                log more\n"
    "  -q, --quiet                  log only what is wrong\n"
    "  -h, --help                   show this text\n"
    "\n"
    "What no flag says is taken from REEVE_CLUSTER, REEVE_HUB_KUBECONFIG, REEVE_KUBECONFIG, REEVE_CONTROLLERS and\n"
    "REEVE_LISTEN. Logs go to standard error.\n"
    "\n"
    "Exit code: 0 it was told to end, 1 it could not start or go on, 2 wrong usage.\n";

enum {
    FLAG_CLUSTER = 256,
    FLAG_HUB_KUBECONFIG,
    FLAG_HUB_SECRET,
    FLAG_KUBECONFIG,
    FLAG_CONTEXT,
    FLAG_CONTROLLERS,
    FLAG_ACCOUNT_NAMESPACE,
    FLAG_EVICTION,
    FLAG_LISTEN,
    FLAG_ELECTION,
    FLAG_LEASE_NAMESPACE,
    FLAG_PRINT_RBAC,
    FLAG_HUB,
    FLAG_MANAGED,
};

static const struct option flags[] = {
    {"cluster", required_argument, NULL, FLAG_CLUSTER},
    {"hub-kubeconfig", required_argument, NULL, FLAG_HUB_KUBECONFIG},
    {"hub-kubeconfig-secret", required_argument, NULL, FLAG_HUB_SECRET},
    {"kubeconfig", required_argument, NULL, FLAG_KUBECONFIG},
    {"context", required_argument, NULL, FLAG_CONTEXT},
    {"controllers", required_argument, NULL, FLAG_CONTROLLERS},
    {"account-namespace", required_argument, NULL, FLAG_ACCOUNT_NAMESPACE},
    {"eviction-grace-period", required_argument, NULL, FLAG_EVICTION},
    {"listen", required_argument, NULL, FLAG_LISTEN},
    {"leader-election", no_argument, NULL, FLAG_ELECTION},
    {"lease-namespace", required_argument, NULL, FLAG_LEASE_NAMESPACE},
    {"print-rbac", no_argument, NULL, FLAG_PRINT_RBAC},
    {"hub", no_argument, NULL, FLAG_HUB},
    {"managed", no_argument, NULL, FLAG_MANAGED},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* What has to be understood when all is known. */
struct words {
    const char *secret, *controllers, *listen;
};

/* ---- Values. ---- */

static int take_grace(const char *text, int64_t *ret, struct err *err)
{
    if (!duration_parse(str_of(text), ret) || *ret <= 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "--eviction-grace-period \"%s\" is no duration: say one like 60m, 1h30m or 90s", text);
    return 0;
}

static int take_namespace(const char *flag, const char *text, str *ret, struct err *err)
{
    *ret = str_of(text);
    if (!name_is(NAME_DNS_LABEL, *ret))
        return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\" is not the name of a namespace", flag, text);
    return 0;
}

static int choose(struct agent_options *o, const char *list, struct err *err)
{
    str rest = str_of(list), name;
    bool more;
    do {
        more = str_cut(rest, ',', &name, &rest);
        name = str_trim(name);
        bool is_all = str_eq(name, S("*"));
        o->has_works = o->has_works || is_all || str_eq(name, S("works"));
        o->has_accounts = o->has_accounts || is_all || str_eq(name, S("accounts"));
        if (!is_all && !str_eq(name, S("works")) && !str_eq(name, S("accounts")))
            return err_set(err, ERR_BAD_REQUEST, "there is no controller \"%.*s\": there are works, accounts",
                           STR(name));
    } while (more);
    return 0;
}

static int take_secret(struct agent_options *o, const char *text, struct err *err)
{
    if (!str_cut(str_of(text), '/', &o->secret_namespace, &o->secret_name) ||
        !name_is(NAME_DNS_LABEL, o->secret_namespace) || !name_is(NAME_DNS_SUBDOMAIN, o->secret_name))
        return err_set(err, ERR_BAD_REQUEST,
                       "--hub-kubeconfig-secret \"%s\": say NAMESPACE/NAME, such as reeve-system/reeve-hub", text);
    return 0;
}

/* ---- Flags. ---- */

static int take_flag(int c, const char *value, struct agent_options *o, struct words *w, struct err *err)
{
    switch (c) {
    case FLAG_CLUSTER:
        o->cluster = str_of(value);
        return 0;
    case FLAG_HUB_KUBECONFIG:
        o->hub_kubeconfig = str_of(value);
        return value[0] ? 0 : err_set(err, ERR_BAD_REQUEST, "--hub-kubeconfig needs a value");
    case FLAG_HUB_SECRET:
        w->secret = value;
        return 0;
    case FLAG_KUBECONFIG:
        o->kubeconfig = str_of(value);
        return value[0] ? 0 : err_set(err, ERR_BAD_REQUEST, "--kubeconfig needs a value");
    case FLAG_CONTEXT:
        o->context = str_of(value);
        return 0;
    case FLAG_CONTROLLERS:
        w->controllers = value;
        return 0;
    case FLAG_ACCOUNT_NAMESPACE:
        return take_namespace("account-namespace", value, &o->account_namespace, err);
    case FLAG_EVICTION:
        return take_grace(value, &o->eviction_ns, err);
    case FLAG_LISTEN:
        w->listen = value;
        return 0;
    case FLAG_ELECTION:
        o->has_election = true;
        return 0;
    case FLAG_LEASE_NAMESPACE:
        return take_namespace("lease-namespace", value, &o->lease_namespace, err);
    case FLAG_PRINT_RBAC:
        o->is_print_rbac = true;
        return 0;
    case FLAG_HUB:
        o->is_hub = true;
        return 0;
    case FLAG_MANAGED:
        o->is_managed = true;
        return 0;
    case 'v':
        o->level = LOG_DEBUG;
        return 0;
    case 'q':
        o->level = LOG_WARN;
        return 0;
    default:
        o->is_help = true;
        return 0;
    }
}

static int read_flags(int argc, char **argv, struct agent_options *o, struct words *w, struct err *err)
{
    int code = 0;
    optind = 0; /* from the beginning, whoever used it before */
    opterr = 0;
    for (int c;
         code == 0 && (c = getopt_long(argc, argv, ":vqh", flags, NULL)) != -1;) { /* NOLINT(concurrency-mt-unsafe) */
        if (c == ':' || c == '?')
            return err_set(err, ERR_BAD_REQUEST, c == ':' ? "%s needs a value" : "unknown flag %s", argv[optind - 1]);
        code = take_flag(c, optarg, o, w, err);
    }
    if (code == 0 && optind < argc)
        return err_set(err, ERR_BAD_REQUEST, "unknown argument \"%s\"", argv[optind]);
    return code;
}

/* NULL for what is not set or empty. */
static const char *from_env(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): there is one thread yet */
    return value && value[0] ? value : NULL;
}

/* A flag beats the environment, also where that names the other place. */
static int find_hub(struct agent_options *o, const struct words *w, struct err *err)
{
    if (w->secret && o->hub_kubeconfig.n)
        return err_set(err, ERR_BAD_REQUEST,
                       "--hub-kubeconfig or --hub-kubeconfig-secret: the join kubeconfig is in one");
    if (w->secret)
        return take_secret(o, w->secret, err);
    if (o->hub_kubeconfig.n == 0)
        o->hub_kubeconfig = str_of(from_env("REEVE_HUB_KUBECONFIG"));
    return 0;
}

static int check_needed(const struct agent_options *o, struct err *err)
{
    if (o->cluster.n && !name_is(NAME_DNS_LABEL, o->cluster))
        return err_set(err, ERR_BAD_REQUEST, "--cluster \"%.*s\" is not the name of a cluster", STR(o->cluster));
    if (o->is_print_rbac)
        return 0;
    if (o->is_hub || o->is_managed)
        return err_set(err, ERR_BAD_REQUEST, "%s belongs to --print-rbac", o->is_hub ? "--hub" : "--managed");
    if (o->cluster.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "say --cluster NAME: what is this cluster called on the hub?");
    if (o->hub_kubeconfig.n == 0 && o->secret_name.n == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "say --hub-kubeconfig FILE, which \"reeve clusters add %.*s\" on the hub writes",
                       STR(o->cluster));
    return 0;
}

static int understand(struct agent_options *o, const struct words *w, struct err *err)
{
    if (w->listen && !address_parse(str_of(w->listen), &o->host, &o->port))
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot listen at \"%s\": say HOST:PORT, such as 127.0.0.1:8086, [::1]:8086 or localhost:0",
                       w->listen);
    int code = choose(o, w->controllers && w->controllers[0] ? w->controllers : "*", err);
    if (code == 0)
        code = find_hub(o, w, err);
    return code < 0 ? code : check_needed(o, err);
}

int agent_options_read(int argc, char **argv, struct agent_options *ret, struct err *err)
{
    struct agent_options o = {
        .level = LOG_INFO, .account_namespace = S(FLEET_ACCOUNT_NAMESPACE), .eviction_ns = 3600 * SECOND};
    struct words w = {.controllers = from_env("REEVE_CONTROLLERS"), .listen = from_env("REEVE_LISTEN")};
    o.cluster = str_of(from_env("REEVE_CLUSTER"));
    o.kubeconfig = str_of(from_env("REEVE_KUBECONFIG"));
    int code = read_flags(argc, argv, &o, &w, err);
    if (code == 0 && !o.is_help)
        code = understand(&o, &w, err);
    if (code == 0)
        *ret = o;
    return code;
}
