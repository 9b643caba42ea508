/* SPDX-License-Identifier: Apache-2.0 */
#include "up/options.h"

#include "cli/data_dir.h"
#include "net/address.h"
#include "object/name.h"

#include <getopt.h>
#include <stdlib.h>

const char up_usage[] =
    "Usage: reeve up [--data-dir DIR] [--listen HOST:PORT] [--kubeconfig FILE] [--managed NAME] [--no-controllers]\n"
    "\n"
    "Runs a control plane that speaks the Kubernetes API, in this one process. The first start makes keys and\n"
    "certificates; FILE is written when the server is ready and lets kubectl in as an administrator.\n"
    "\n"
    "      --data-dir DIR      where everything is kept, for nobody else to read  [$XDG_DATA_HOME/reeve]\n"
    "      --listen HOST:PORT  HOST is an address or localhost; port 0: any that is free  [127.0.0.1:6443]\n"
    "      --kubeconfig FILE   [DIR/admin.kubeconfig]\n"
    "      --managed NAME      be a managed cluster of oneself, with an agent inside: to try ClusterPermissions\n"
    "      --no-controllers    serve the API only; aggregated roles and the like are left to others\n" PACKAGE_SOURCES_USAGE
    "      --require-approval  ClusterPermissions wait for approval if who wrote them does not hold what they grant\n"
    "  -v, --verbose           log every request\n"
    "  -q, --quiet             no greeting, and log only what is wrong\n"
    "  -h, --help              show this text\n"
    "\n"
    "What no flag says is taken from REEVE_DATA_DIR, REEVE_LISTEN, REEVE_KUBECONFIG and REEVE_NO_CONTROLLERS. Logs go to\n"
    "standard error. SIGTERM and SIGINT let requests end first; a second one does not.\n"
    "\n"
    "Exit code: 0 it was told to end, 1 it could not start or go on, 2 wrong usage.\n";

/* ---- The environment. ---- */

/* NULL for what is not set or empty. NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread yet */
static const char *from_env(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */
    return value && value[0] ? value : NULL;
}

static bool is_yes(const char *value)
{
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0 && strcmp(value, "no") != 0;
}

/* ---- All of it. ---- */

enum {
    FLAG_DATA_DIR = 256,
    FLAG_LISTEN,
    FLAG_KUBECONFIG,
    FLAG_MANAGED,
    FLAG_NO_CONTROLLERS,
    FLAG_MIRROR,
    FLAG_REGISTRY_CA,
    FLAG_REGISTRY_PORT,
    FLAG_FULL_DEPLOYMENT,
    FLAG_APPROVAL,
};

static const struct option flags[] = {
    {"data-dir", required_argument, NULL, FLAG_DATA_DIR},
    {"listen", required_argument, NULL, FLAG_LISTEN},
    {"kubeconfig", required_argument, NULL, FLAG_KUBECONFIG},
    {"managed", required_argument, NULL, FLAG_MANAGED},
    {"no-controllers", no_argument, NULL, FLAG_NO_CONTROLLERS},
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

/* Of packages; 1: it is none of these. */
static int take_package_flag(int c, struct package_sources *packages, struct err *err)
{
    if (c == FLAG_MIRROR)
        return package_sources_add_mirror(packages, optarg, err);
    if (c == FLAG_REGISTRY_PORT)
        return package_sources_add_port(packages, optarg, err);
    if (c == FLAG_REGISTRY_CA)
        packages->ca_file = optarg;
    else if (c == FLAG_FULL_DEPLOYMENT)
        packages->pass_full_deployment = true;
    else
        return 1;
    return 0;
}

static int read_flags(int argc, char **argv, struct up_options *o, const char **listen, struct err *err)
{
    optind = 0; /* from the beginning, whoever used it before */
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":vqh", flags, NULL)) != -1;) { /* NOLINT(concurrency-mt-unsafe) */
        int code = take_package_flag(c, &o->packages, err);
        if (code < 0)
            return code;
        if (code == 0)
            continue;
        if (c == FLAG_DATA_DIR)
            o->data_dir = optarg;
        else if (c == FLAG_LISTEN)
            *listen = optarg;
        else if (c == FLAG_KUBECONFIG)
            o->kubeconfig = optarg;
        else if (c == FLAG_MANAGED)
            o->managed = str_of(optarg);
        else if (c == FLAG_NO_CONTROLLERS)
            o->no_controllers = true;
        else if (c == FLAG_APPROVAL)
            o->requires_approval = true;
        else if (c == 'v')
            o->level = LOG_DEBUG;
        else if (c == 'q')
            o->is_quiet = true;
        else if (c == 'h')
            o->is_help = true;
        else
            return err_set(err, ERR_BAD_REQUEST, c == ':' ? "%s needs a value" : "unknown flag %s", argv[optind - 1]);
    }
    if (optind < argc)
        return err_set(err, ERR_BAD_REQUEST, "unknown argument \"%s\"", argv[optind]);
    if (o->is_quiet)
        o->level = o->level == LOG_DEBUG ? LOG_DEBUG : LOG_WARN;
    return 0;
}

static int check_managed(const struct up_options *o, struct err *err)
{
    if (o->managed.n && !name_is(NAME_DNS_LABEL, o->managed))
        return err_set(err, ERR_BAD_REQUEST, "--managed \"%.*s\" is not the name of a cluster", STR(o->managed));
    if (o->managed.n && o->no_controllers)
        return err_set(err, ERR_BAD_REQUEST, "--managed needs the controllers: leave --no-controllers out");
    return 0;
}

int up_options_read(struct arena *a, int argc, char **argv, struct up_options *ret, struct err *err)
{
    struct up_options o = {.level = LOG_INFO};
    const char *listen = from_env("REEVE_LISTEN");
    o.kubeconfig = from_env("REEVE_KUBECONFIG");
    o.no_controllers = is_yes(from_env("REEVE_NO_CONTROLLERS"));
    int code = read_flags(argc, argv, &o, &listen, err);
    if (code == 0 && o.is_help) {
        *ret = o;
        return 0;
    }
    listen = listen ? listen : "127.0.0.1:6443";
    if (code == 0 && !address_parse(str_of(listen), &o.host, &o.port))
        code = err_set(err, ERR_BAD_REQUEST,
                       "cannot listen at \"%s\": say HOST:PORT, such as 127.0.0.1:6443, [::1]:6443 or localhost:0",
                       listen);
    if (code == 0 && ((o.data_dir && !o.data_dir[0]) || (o.kubeconfig && !o.kubeconfig[0])))
        code = err_set(err, ERR_BAD_REQUEST, "%s needs a value",
                       o.data_dir && !o.data_dir[0] ? "--data-dir" : "--kubeconfig");
    if (code == 0)
        code = check_managed(&o, err);
    if (code == 0 && o.data_dir == NULL)
        code = cli_data_dir(a, &o.data_dir, err);
    if (code == 0 && o.kubeconfig == NULL)
        o.kubeconfig = str_cstr(a, str_fmt(a, "%s/admin.kubeconfig", o.data_dir));
    if (code == 0) {
        o.packages.store = str_cstr(a, str_fmt(a, "%s/packages/store", o.data_dir));
        o.packages.cache = str_cstr(a, str_fmt(a, "%s/packages/cache", o.data_dir));
        *ret = o;
    }
    return code;
}
