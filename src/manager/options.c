/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/options.h"

#include "base/duration.h"
#include "controllers/controllers.h"
#include "net/address.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

const char manager_usage[] =
    "Usage: reeve manager [--kubeconfig FILE] [--context NAME] [--controllers LIST] [--listen HOST:PORT]\n"
    "       reeve manager --print-rbac [--controllers LIST]\n"
    "       reeve manager --print-crds\n"
    "\n"
    "Runs controllers against any Kubernetes API server, inside the cluster or outside. Of several managers one acts; the\n"
    "others take over when it ends.\n"
    "\n"
    "      --kubeconfig FILE       [$KUBECONFIG, ~/.kube/config, or the account of the pod it runs in]\n"
    "      --context NAME          of the kubeconfig\n"
    "      --controllers LIST      names with commas between them, or * for all  [those that a Kubernetes does not have]\n"
    "                                clusters     managed clusters: their agents' rights, and whether they are heard of\n"
    "                                installs     packages, with the rights they need\n"
    "                                permissions  ClusterPermissions, delivered to managed clusters\n"
    "                                personas     roles for people, which follow what is installed\n"
    "                              kube-controller-manager does these unless it is told not to:\n"
    "                                aggregation  rules of aggregated ClusterRoles\n"
    "                                garbage      objects whose owners are gone\n"
    "                                namespaces   contents of deleted namespaces; what new ones start with\n"
    "      --package-store DIR     packages that are here already, an OCI layout  [none]\n"
    "      --package-cache DIR     what was pulled, by digest  [$XDG_CACHE_HOME/reeve, or ~/.cache/reeve]\n" PACKAGE_SOURCES_USAGE
    "      --require-approval      ClusterPermissions wait for approval; see deploy/approval\n"
    "      --listen HOST:PORT      for /healthz, /readyz and /metrics; port 0: any that is free  [127.0.0.1:8085]\n"
    "      --root-ca-file FILE     what kube-root-ca.crt says  [the CA by which the server is believed]\n"
    "      --no-leader-election    acts at once: there is no other manager\n"
    "      --lease-namespace NAME  where managers find each other  [that of the pod, else kube-system]\n"
    "      --lease-name NAME       [reeve-manager]\n"
    "      --lease-duration TIME   after which others take over from one that is gone  [15s]\n"
    "      --renew-deadline TIME   after which one that cannot renew its lease stops acting  [10s]\n"
    "      --retry-period TIME     between two looks at the lease  [2s]\n"
    "      --print-rbac            show the roles that the chosen controllers need, and their bindings, and do nothing else\n"
    "      --print-crds            show the CustomResourceDefinitions of all kinds Reeve acts on, and do nothing else\n"
    "  -v, --verbose               log more\n"
    "  -q, --quiet                 log only what is wrong\n"
    "  -h, --help                  show this text\n"
    "\n"
    "What no flag says is taken from REEVE_KUBECONFIG, REEVE_CONTROLLERS and REEVE_LISTEN. Logs go to standard error.\n"
    "\n"
    "Exit code: 0 it was told to end, 1 it could not start or go on, 2 wrong usage.\n";

/* ---- Values. ---- */

static bool has_row(const struct manager_options *o, const struct controller_row *row)
{
    for (size_t i = 0; i < o->n_rows; i++)
        if (o->rows[i] == row)
            return true;
    return false;
}

/* All rows of a controller, if they are not there yet; false: there is no such one. */
static bool choose(struct manager_options *o, str name)
{
    bool is_found = false;
    for (size_t i = 0; i < controllers_count(); i++) {
        const struct controller_row *row = controllers_row(i);
        if (!str_eq(name, S("*")) && !str_eq(name, str_of(row->name)))
            continue;
        is_found = true;
        assert(o->n_rows < MANAGER_ROWS);
        if (!has_row(o, row))
            o->rows[o->n_rows++] = row;
    }
    return is_found;
}

/* Those that no Kubernetes has. */
static void choose_own(struct manager_options *o)
{
    for (size_t i = 0; i < controllers_count(); i++)
        if (!controllers_row(i)->in_kubernetes)
            choose(o, str_of(controllers_row(i)->name));
}

static void list_names(struct buf *b)
{
    str last = {0};
    for (size_t i = 0; i < controllers_count(); i++) {
        str name = str_of(controllers_row(i)->name);
        if (!str_eq(name, last))
            buf_fmt(b, "%s%.*s", last.n ? ", " : "", STR(name));
        last = name;
    }
}

int manager_choose(struct manager_options *o, str list, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf known = {.arena = &scratch};
    str name;
    bool more;
    list_names(&known);
    do {
        more = str_cut(list, ',', &name, &list);
        if (!choose(o, str_trim(name)))
            return err_set(err, ERR_BAD_REQUEST, "there is no controller \"%.*s\": there are %.*s", STR(name),
                           STR(buf_str(&known)));
    } while (more);
    return 0;
}

/* ---- Flags. ---- */

enum {
    FLAG_KUBECONFIG = 256,
    FLAG_CONTEXT,
    FLAG_CONTROLLERS,
    FLAG_LISTEN,
    FLAG_ROOT_CA_FILE,
    FLAG_NO_ELECTION,
    FLAG_LEASE_NAMESPACE,
    FLAG_LEASE_NAME,
    FLAG_LEASE_DURATION,
    FLAG_RENEW_DEADLINE,
    FLAG_RETRY_PERIOD,
    FLAG_PRINT_RBAC,
    FLAG_PRINT_CRDS,
    FLAG_PACKAGE_STORE,
    FLAG_PACKAGE_CACHE,
    FLAG_MIRROR,
    FLAG_REGISTRY_CA,
    FLAG_REGISTRY_PORT,
    FLAG_FULL_DEPLOYMENT,
    FLAG_APPROVAL,
};

static const struct option flags[] = {
    {"kubeconfig", required_argument, NULL, FLAG_KUBECONFIG},
    {"context", required_argument, NULL, FLAG_CONTEXT},
    {"controllers", required_argument, NULL, FLAG_CONTROLLERS},
    {"listen", required_argument, NULL, FLAG_LISTEN},
    {"root-ca-file", required_argument, NULL, FLAG_ROOT_CA_FILE},
    {"no-leader-election", no_argument, NULL, FLAG_NO_ELECTION},
    {"lease-namespace", required_argument, NULL, FLAG_LEASE_NAMESPACE},
    {"lease-name", required_argument, NULL, FLAG_LEASE_NAME},
    {"lease-duration", required_argument, NULL, FLAG_LEASE_DURATION},
    {"renew-deadline", required_argument, NULL, FLAG_RENEW_DEADLINE},
    {"retry-period", required_argument, NULL, FLAG_RETRY_PERIOD},
    {"print-rbac", no_argument, NULL, FLAG_PRINT_RBAC},
    {"print-crds", no_argument, NULL, FLAG_PRINT_CRDS},
    {"package-store", required_argument, NULL, FLAG_PACKAGE_STORE},
    {"package-cache", required_argument, NULL, FLAG_PACKAGE_CACHE},
    {"package-mirror", required_argument, NULL, FLAG_MIRROR},
    {"registry-ca", required_argument, NULL, FLAG_REGISTRY_CA},
    {"registry-port", required_argument, NULL, FLAG_REGISTRY_PORT},
    {"insecure-pass-full-deployment", no_argument, NULL, FLAG_FULL_DEPLOYMENT},
    {"require-approval", no_argument, NULL, FLAG_APPROVAL},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* As they come, before they are understood. */
struct words {
    const char *controllers, *listen;
};

static int take_duration(const char *flag, const char *text, int64_t *ret, struct err *err)
{
    if (!duration_parse(str_of(text), ret) || *ret <= 0)
        return err_set(err, ERR_BAD_REQUEST, "--%s \"%s\" is no duration: say one like 15s, 1m30s or 500ms", flag,
                       text);
    return 0;
}

static int take_flag(int c, const char *value, struct manager_options *o, struct words *w, struct err *err)
{
    switch (c) {
    case FLAG_KUBECONFIG:
        o->kubeconfig = str_of(value);
        return value[0] ? 0 : err_set(err, ERR_BAD_REQUEST, "--kubeconfig needs a value");
    case FLAG_CONTEXT:
        o->context = str_of(value);
        return 0;
    case FLAG_CONTROLLERS:
        w->controllers = value;
        return 0;
    case FLAG_LISTEN:
        w->listen = value;
        return 0;
    case FLAG_ROOT_CA_FILE:
        o->root_ca_file = value;
        return 0;
    case FLAG_NO_ELECTION:
        o->no_election = true;
        return 0;
    case FLAG_LEASE_NAMESPACE:
        o->lease_namespace = str_of(value);
        return 0;
    case FLAG_LEASE_NAME:
        o->lease_name = str_of(value);
        return 0;
    case FLAG_LEASE_DURATION:
        return take_duration("lease-duration", value, &o->lease_ns, err);
    case FLAG_RENEW_DEADLINE:
        return take_duration("renew-deadline", value, &o->deadline_ns, err);
    case FLAG_RETRY_PERIOD:
        return take_duration("retry-period", value, &o->retry_ns, err);
    case FLAG_PRINT_RBAC:
        o->is_print_rbac = true;
        return 0;
    case FLAG_PRINT_CRDS:
        o->is_print_crds = true;
        return 0;
    case FLAG_PACKAGE_STORE:
        o->packages.store = value;
        return 0;
    case FLAG_PACKAGE_CACHE:
        o->packages.cache = value;
        return 0;
    case FLAG_MIRROR:
        return package_sources_add_mirror(&o->packages, value, err);
    case FLAG_REGISTRY_CA:
        o->packages.ca_file = value;
        return 0;
    case FLAG_REGISTRY_PORT:
        return package_sources_add_port(&o->packages, value, err);
    case FLAG_FULL_DEPLOYMENT:
        o->packages.pass_full_deployment = true;
        return 0;
    case FLAG_APPROVAL:
        o->requires_approval = true;
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

static int read_flags(int argc, char **argv, struct manager_options *o, struct words *w, struct err *err)
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

/* The times of the lease have to leave room for each other, or two managers could act at once. */
static int check_times(const struct manager_options *o, struct err *err)
{
    if (o->lease_ns < SECOND)
        return err_set(err, ERR_BAD_REQUEST, "--lease-duration must be a second or more");
    if (o->lease_ns % SECOND != 0)
        return err_set(err, ERR_BAD_REQUEST, "--lease-duration must be whole seconds: a Lease knows no others");
    if (o->deadline_ns >= o->lease_ns)
        return err_set(err, ERR_BAD_REQUEST, "--renew-deadline must be shorter than --lease-duration");
    if (o->retry_ns + o->retry_ns / 5 >= o->deadline_ns)
        return err_set(err, ERR_BAD_REQUEST,
                       "--retry-period must be shorter than --renew-deadline, by a fifth at least");
    return 0;
}

/* NULL for what is not set or empty. */
static const char *from_env(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): there is one thread yet */
    return value && value[0] ? value : NULL;
}

static int understand(struct manager_options *o, const struct words *w, struct err *err)
{
    if (!address_parse(str_of(w->listen), &o->host, &o->port))
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot listen at \"%s\": say HOST:PORT, such as 127.0.0.1:8085, [::1]:8085 or localhost:0",
                       w->listen);
    int code = 0;
    if (w->controllers && w->controllers[0])
        code = manager_choose(o, str_of(w->controllers), err);
    else
        choose_own(o);
    return code < 0 ? code : check_times(o, err);
}

int manager_options_read(int argc, char **argv, struct manager_options *ret, struct err *err)
{
    struct manager_options o = {.level = LOG_INFO,
                                .lease_name = S("reeve-manager"),
                                .lease_ns = 15 * SECOND,
                                .deadline_ns = 10 * SECOND,
                                .retry_ns = 2 * SECOND};
    struct words w = {from_env("REEVE_CONTROLLERS"), from_env("REEVE_LISTEN")};
    const char *kubeconfig = from_env("REEVE_KUBECONFIG");
    o.kubeconfig = str_of(kubeconfig);
    int code = read_flags(argc, argv, &o, &w, err);
    w.listen = w.listen ? w.listen : "127.0.0.1:8085";
    if (code == 0 && !o.is_help && !o.is_print_crds)
        code = understand(&o, &w, err);
    if (code == 0)
        *ret = o;
    return code;
}
