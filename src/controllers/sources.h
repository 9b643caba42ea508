/* SPDX-License-Identifier: Apache-2.0 */
/* What: where packages may come from, as flags say it; the same for all who run controllers.
 * Owns: nothing; texts are those of the command line.
 * Threads: one, at start.
 * Errors: ERR_BAD_REQUEST for a flag that makes no sense. */
#pragma once

#include "oci/oci_fetch.h"
#include "package/plan.h"

struct log;

enum { PACKAGE_MIRRORS = 32, PACKAGE_PORTS = 16 };

struct package_sources {
    const char *store, *cache; /* directories; NULL: not said */
    const char *ca_file;
    struct fetch_mirror mirrors[PACKAGE_MIRRORS];
    size_t n_mirrors;
    uint16_t ports[PACKAGE_PORTS];
    size_t n_ports;
    bool pass_full_deployment;
    str namespaced_groups; /* as plan.h has them; empty: not said */
};

/* Rows of a table of flags (cli/flags.h). */
#define PACKAGE_SOURCES_FLAGS(sources)                                                                      \
    {.name = "package-mirror", .kind = FLAG_CALL, .into = (sources), .take = package_sources_add_mirror},   \
        {.name = "registry-ca", .kind = FLAG_PATH, .into = &(sources)->ca_file},                            \
        {.name = "namespaced-package-groups",                                                               \
         .kind = FLAG_CALL,                                                                                 \
         .into = (sources),                                                                                 \
         .take = package_sources_set_groups},                                                               \
        {.name = "registry-port", .kind = FLAG_CALL, .into = (sources), .take = package_sources_add_port},  \
    {                                                                                                       \
        .name = "insecure-pass-full-deployment", .kind = FLAG_YES, .into = &(sources)->pass_full_deployment \
    }

/* "docker.io/library=mirror.example.org/hub". sources: struct package_sources, as flags have it. */
int package_sources_add_mirror(void *sources, const char *text, struct err *err);
/* "*.blog.example.org,shop.example.org" */
int package_sources_set_groups(void *sources, const char *text, struct err *err);
int package_sources_add_port(void *sources, const char *text, struct err *err);
/* Says in the log how far the kernel helps to keep strangers' images apart from the rest. */
int package_sources_open(const struct package_sources *s, const struct log *log, struct fetcher **ret, struct err *err);
