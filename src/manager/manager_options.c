/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/manager_options.h"

#include "controllers/controllers.h"

#include <assert.h>

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

int manager_choose(void *options, const char *list, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf known = {.arena = &scratch};
    str name, rest = str_of(list);
    struct manager_options *o = options;
    bool more = list[0]; /* nothing: as if nobody had said it */
    list_names(&known);
    o->n_rows = 0; /* of several lists the last counts, as of every flag */
    while (more) {
        more = str_cut(rest, ',', &name, &rest);
        if (!choose(o, str_trim(name)))
            return err_set(err, ERR_BAD_REQUEST, "there is no controller \"%.*s\": there are %.*s", STR(name),
                           STR(buf_str(&known)));
    }
    return 0;
}

/* ---- Flags. ---- */

static int read_flags(struct arena *a, int argc, char **argv, struct manager_options *o, struct err *err)
{
    bool is_verbose = false, is_quiet = false;
    const struct flag flags[] = {
        {.name = "kubeconfig", .kind = FLAG_TEXT, .into = &o->kubeconfig, .env = "REEVE_KUBECONFIG"},
        {.name = "context", .kind = FLAG_TEXT, .into = &o->context},
        {.name = "controllers", .kind = FLAG_CALL, .into = o, .take = manager_choose, .env = "REEVE_CONTROLLERS"},
        {.name = "listen", .kind = FLAG_ADDRESS, .into = &o->listen, .env = "REEVE_LISTEN"},
        {.name = "root-ca-file", .kind = FLAG_PATH, .into = &o->root_ca_file},
        {.name = "allow-cluster-dependencies", .kind = FLAG_YES, .into = &o->allows_cluster_dependencies},
        {.name = "no-crd-view", .kind = FLAG_YES, .into = &o->no_crd_view},
        {.name = "require-approval", .kind = FLAG_YES, .into = &o->requires_approval},
        {.name = "no-leader-election", .kind = FLAG_YES, .into = &o->no_election},
        {.name = "lease-namespace", .kind = FLAG_NAME, .into = &o->lease_namespace},
        {.name = "lease-name", .kind = FLAG_TEXT, .into = &o->lease_name},
        {.name = "lease-duration", .kind = FLAG_TIME, .into = &o->lease_ns},
        {.name = "renew-deadline", .kind = FLAG_TIME, .into = &o->deadline_ns},
        {.name = "retry-period", .kind = FLAG_TIME, .into = &o->retry_ns},
        {.name = "package-store", .kind = FLAG_PATH, .into = &o->packages.store},
        {.name = "package-cache", .kind = FLAG_PATH, .into = &o->packages.cache},
        PACKAGE_SOURCES_FLAGS(&o->packages),
        {.name = "print-rbac", .kind = FLAG_YES, .into = &o->is_print_rbac},
        {.name = "print-crds", .kind = FLAG_YES, .into = &o->is_print_crds},
        {.letter = 'v', .name = "verbose", .kind = FLAG_YES, .into = &is_verbose},
        {.letter = 'q', .name = "quiet", .kind = FLAG_YES, .into = &is_quiet},
    };
    struct flags_args args = {
        .arena = a, .page = "manager", .own = flags, .n_own = COUNT(flags), .argc = argc, .argv = argv};
    int code = flags_only(&args, err);
    o->level = is_verbose ? LOG_DEBUG : is_quiet ? LOG_WARN : LOG_INFO;
    return code;
}

/* The times of the lease have to leave room for each other, or two managers could act at once. */
static int check_times(const struct manager_options *o, struct err *err)
{
    if (o->lease_ns < NS_PER_S)
        return err_set(err, ERR_BAD_REQUEST, "--lease-duration must be a second or more");
    if (o->lease_ns % NS_PER_S != 0)
        return err_set(err, ERR_BAD_REQUEST, "--lease-duration must be whole seconds: a Lease knows no others");
    if (o->deadline_ns >= o->lease_ns)
        return err_set(err, ERR_BAD_REQUEST, "--renew-deadline must be shorter than --lease-duration");
    if (o->retry_ns + o->retry_ns / 5 >= o->deadline_ns)
        return err_set(err, ERR_BAD_REQUEST,
                       "--retry-period must be shorter than --renew-deadline, by a fifth at least");
    return 0;
}

int manager_options_read(struct arena *a, int argc, char **argv, struct manager_options *ret, struct err *err)
{
    struct manager_options o = {.listen = {S("127.0.0.1"), 8085},
                                .lease_name = S("reeve-manager"),
                                .lease_ns = 15 * NS_PER_S,
                                .deadline_ns = 10 * NS_PER_S,
                                .retry_ns = 2 * NS_PER_S};
    int code = read_flags(a, argc, argv, &o, err);
    if (code == 0)
        code = check_times(&o, err);
    if (code == 0 && o.n_rows == 0)
        choose_own(&o);
    if (code == 0)
        *ret = o;
    return code;
}
