/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_options.h"

#include "cli/flags.h"

#define HOUR (3600 * NS_PER_S)

static int read_flags(struct arena *a, int argc, char **argv, struct up_options *o, struct err *err)
{
    bool is_verbose = false;
    const struct flag flags[] = {
        {.name = "data-dir", .kind = FLAG_PATH, .into = &o->data_dir, .env = "REEVE_DATA_DIR"},
        {.name = "listen", .kind = FLAG_ADDRESS, .into = &o->listen, .env = "REEVE_LISTEN"},
        {.name = "kubeconfig", .kind = FLAG_PATH, .into = &o->kubeconfig, .env = "REEVE_KUBECONFIG"},
        {.name = "managed", .kind = FLAG_NAME, .into = &o->managed},
        {.name = "no-controllers", .kind = FLAG_YES, .into = &o->no_controllers, .env = "REEVE_NO_CONTROLLERS"},
        {.name = "allow-cluster-dependencies", .kind = FLAG_YES, .into = &o->allows_cluster_dependencies},
        {.name = "no-crd-view", .kind = FLAG_YES, .into = &o->no_crd_view},
        {.name = "require-approval", .kind = FLAG_YES, .into = &o->requires_approval},
        {.name = "max-requests-inflight", .kind = FLAG_COUNT, .into = &o->max_reads},
        {.name = "max-mutating-requests-inflight", .kind = FLAG_COUNT, .into = &o->max_writes},
        {.name = "service-account-max-token-expiration", .kind = FLAG_TIME, .into = &o->token_ns},
        PACKAGE_SOURCES_FLAGS(&o->packages),
        {.letter = 'v', .name = "verbose", .kind = FLAG_YES, .into = &is_verbose},
        {.letter = 'q', .name = "quiet", .kind = FLAG_YES, .into = &o->is_quiet},
    };
    struct flags_args args = {
        .arena = a, .page = "up", .own = flags, .n_own = COUNT(flags), .argc = argc, .argv = argv};
    int code = flags_only(&args, err);
    o->level = is_verbose ? LOG_DEBUG : o->is_quiet ? LOG_WARN : LOG_INFO;
    return code;
}

int up_options_read(struct arena *a, int argc, char **argv, struct up_options *ret, struct err *err)
{
    struct up_options o = {.listen = {S("127.0.0.1"), 6443}, .token_ns = 24 * HOUR};
    int code = read_flags(a, argc, argv, &o, err);
    if (code == 0 && o.token_ns < HOUR) /* as in Kubernetes */
        code = err_set(err, ERR_BAD_REQUEST, "--service-account-max-token-expiration must be at least 1h");
    if (code == 0 && o.managed.n && o.no_controllers)
        code = err_set(err, ERR_BAD_REQUEST, "--managed needs the controllers: leave --no-controllers out");
    if (code == 0 && o.data_dir == NULL)
        code = cli_data_dir(a, &o.data_dir, err);
    if (code != 0)
        return code;
    if (o.kubeconfig == NULL)
        o.kubeconfig = str_cstr(a, str_fmt(a, "%s/admin.kubeconfig", o.data_dir));
    o.packages.store = str_cstr(a, str_fmt(a, "%s/packages/store", o.data_dir));
    o.packages.cache = str_cstr(a, str_fmt(a, "%s/packages/cache", o.data_dir));
    *ret = o;
    return 0;
}
