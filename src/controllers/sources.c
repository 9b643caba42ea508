/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/sources.h"

#include "base/arena.h"
#include "base/log.h"
#include "oci/child.h"

#include <stdlib.h>

int package_sources_add_mirror(void *sources, const char *text, struct err *err)
{
    struct package_sources *s = sources;
    struct fetch_mirror m;
    if (!str_cut(str_of(text), '=', &m.prefix, &m.location) || m.prefix.n == 0 || m.location.n == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "--package-mirror \"%s\" makes no sense: say PREFIX=LOCATION, such as "
                       "docker.io/acme=mirror.example.org/acme",
                       text);
    if (s->n_mirrors == PACKAGE_MIRRORS)
        return err_set(err, ERR_BAD_REQUEST, "--package-mirror was given more than %d times", PACKAGE_MIRRORS);
    s->mirrors[s->n_mirrors++] = m;
    return 0;
}

int package_sources_add_port(void *sources, const char *text, struct err *err)
{
    struct package_sources *s = sources;
    uint64_t port;
    if (!str_to_uint64(str_of(text), &port) || port == 0 || port > UINT16_MAX)
        return err_set(err, ERR_BAD_REQUEST, "--registry-port \"%s\" is no port", text);
    if (s->n_ports == PACKAGE_PORTS)
        return err_set(err, ERR_BAD_REQUEST, "--registry-port was given more than %d times", PACKAGE_PORTS);
    s->ports[s->n_ports++] = (uint16_t)port;
    return 0;
}

int package_sources_set_groups(void *sources, const char *text, struct err *err)
{
    struct package_sources *s = sources;
    if (plan_groups_check(str_of(text), err) < 0)
        return err_wrap(err, "--namespaced-package-groups");
    s->namespaced_groups = str_of(text);
    return 0;
}

/* Where nobody says otherwise: as XDG has it. NULL: there is no home. */
static const char *default_cache(struct arena *a)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe): at start */
    if (xdg && xdg[0] == '/')
        return str_cstr(a, str_fmt(a, "%s/reeve", xdg));
    return home && home[0] == '/' ? str_cstr(a, str_fmt(a, "%s/.cache/reeve", home)) : NULL;
}

/* An old kernel is no reason not to start, but one to know of. */
static void tell_walls(const struct log *log)
{
    int version = landlock_version();
    const char *text = "packages are opened in a sandbox";
    if (version < 0)
        text = "no package can be opened: the kernel does not say whether it has landlock";
    else if (version == 0)
        text = "packages are opened in a sandbox without landlock: the kernel has none";
    else if (version < LANDLOCK_PORTS)
        text = "packages are opened in a sandbox that does not restrict ports: landlock of this kernel is too old";
    log_line(log, version < LANDLOCK_PORTS ? LOG_WARN : LOG_INFO, text, LOG_INT("landlock", version));
}

int package_sources_open(const struct package_sources *s, const struct log *log, struct fetcher **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct fetcher_options options = {.store = s->store,
                                      .cache = s->cache ? s->cache : default_cache(&scratch),
                                      .ca_file = s->ca_file,
                                      .mirrors = s->mirrors,
                                      .n_mirrors = s->n_mirrors,
                                      .ports = s->ports,
                                      .n_ports = s->n_ports};
    if (!options.cache)
        return err_set(err, ERR_INVALID, "HOME is not set: say --package-cache DIR");
    int code = fetcher_new(&options, ret, err);
    if (code < 0)
        return err_wrap(err, "prepare to pull packages");
    tell_walls(log);
    return 0;
}
