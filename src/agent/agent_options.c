/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_options.h"

#include "object/fleet.h"
#include "object/name.h"

/* ---- Values. ---- */

/* "works, accounts"; "*" is both. */
static int choose(void *options, const char *list, struct err *err)
{
    struct agent_options *o = options;
    str rest = str_of(list), name;
    bool more = list[0];                    /* nothing: as if nobody had said it */
    o->has_works = o->has_accounts = false; /* of several lists the last counts, as of every flag */
    while (more) {
        more = str_cut(rest, ',', &name, &rest);
        name = str_trim(name);
        bool is_all = str_eq(name, S("*")), is_works = str_eq(name, S("works")),
             is_accounts = str_eq(name, S("accounts"));
        o->has_works = o->has_works || is_all || is_works;
        o->has_accounts = o->has_accounts || is_all || is_accounts;
        if (!is_all && !is_works && !is_accounts)
            return err_set(err, ERR_BAD_REQUEST, "there is no controller \"%.*s\": there are works, accounts",
                           STR(name));
    }
    return 0;
}

static int take_secret(void *options, const char *text, struct err *err)
{
    struct agent_options *o = options;
    if (!str_cut(str_of(text), '/', &o->secret_namespace, &o->secret_name) ||
        !name_is(NAME_DNS_LABEL, o->secret_namespace) || !name_is(NAME_DNS_SUBDOMAIN, o->secret_name))
        return err_set(err, ERR_BAD_REQUEST,
                       "--hub-kubeconfig-secret \"%s\": say NAMESPACE/NAME, such as reeve-system/reeve-hub", text);
    return 0;
}

/* ---- Flags. ---- */

struct given {
    bool file, secret; /* where the join kubeconfig is, by flags */
};

static int read_flags(struct arena *a, int argc, char **argv, struct agent_options *o, struct given *given,
                      struct err *err)
{
    bool is_verbose = false, is_quiet = false;
    const struct flag flags[] = {
        {.name = "cluster", .kind = FLAG_NAME, .into = &o->cluster, .env = "REEVE_CLUSTER"},
        {.name = "hub-kubeconfig",
         .kind = FLAG_TEXT,
         .into = &o->hub_kubeconfig,
         .env = "REEVE_HUB_KUBECONFIG",
         .is_given = &given->file},
        {.name = "hub-kubeconfig-secret",
         .kind = FLAG_CALL,
         .into = o,
         .take = take_secret,
         .is_given = &given->secret},
        {.name = "kubeconfig", .kind = FLAG_TEXT, .into = &o->kubeconfig, .env = "REEVE_KUBECONFIG"},
        {.name = "context", .kind = FLAG_TEXT, .into = &o->context},
        {.name = "controllers", .kind = FLAG_CALL, .into = o, .take = choose, .env = "REEVE_CONTROLLERS"},
        {.name = "account-namespace", .kind = FLAG_NAME, .into = &o->account_namespace},
        {.name = "eviction-grace-period", .kind = FLAG_TIME, .into = &o->eviction_ns},
        {.name = "listen", .kind = FLAG_ADDRESS, .into = &o->listen, .env = "REEVE_LISTEN"},
        {.name = "leader-election", .kind = FLAG_YES, .into = &o->has_election},
        {.name = "lease-namespace", .kind = FLAG_NAME, .into = &o->lease_namespace},
        {.name = "print-rbac", .kind = FLAG_YES, .into = &o->is_print_rbac},
        {.name = "hub", .kind = FLAG_YES, .into = &o->is_hub},
        {.name = "managed", .kind = FLAG_YES, .into = &o->is_managed},
        {.letter = 'v', .name = "verbose", .kind = FLAG_YES, .into = &is_verbose},
        {.letter = 'q', .name = "quiet", .kind = FLAG_YES, .into = &is_quiet},
    };
    struct flags_args args = {
        .arena = a, .page = "agent", .own = flags, .n_own = COUNT(flags), .argc = argc, .argv = argv};
    int code = flags_only(&args, err);
    o->level = is_verbose ? LOG_DEBUG : is_quiet ? LOG_WARN : LOG_INFO;
    return code;
}

/* A flag beats the environment, also where that names the other place. */
static int find_hub(struct agent_options *o, const struct given *given, struct err *err)
{
    if (given->secret && given->file)
        return err_set(err, ERR_BAD_REQUEST,
                       "--hub-kubeconfig or --hub-kubeconfig-secret: the join kubeconfig is in one");
    if (given->secret)
        o->hub_kubeconfig = (str){0};
    return 0;
}

static int check_needed(const struct agent_options *o, struct err *err)
{
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

int agent_options_read(struct arena *a, int argc, char **argv, struct agent_options *ret, struct err *err)
{
    struct agent_options o = {.account_namespace = S(FLEET_ACCOUNT_NAMESPACE), .eviction_ns = 3600 * NS_PER_S};
    struct given given = {0};
    int code = read_flags(a, argc, argv, &o, &given, err);
    if (code == 0 && !o.has_works && !o.has_accounts)
        o.has_works = o.has_accounts = true;
    if (code == 0)
        code = find_hub(&o, &given, err);
    if (code == 0)
        code = check_needed(&o, err);
    if (code == 0)
        *ret = o;
    return code;
}
