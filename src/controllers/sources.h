/* SPDX-License-Identifier: Apache-2.0 */
/* What: where packages may come from, as flags say it; the same for all who run controllers.
 * Owns: nothing; texts are those of the command line.
 * Threads: one, at start.
 * Errors: ERR_BAD_REQUEST for a flag that makes no sense. */
#pragma once

#include "oci/fetch.h"

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
};

#define PACKAGE_SOURCES_USAGE                                                                                        \
    "      --package-mirror PREFIX=LOCATION  packages whose name begins so are pulled from there; may be repeated\n" \
    "      --registry-ca FILE      certificates that registries are checked with  [the system's]\n"                  \
    "      --registry-port PORT    one that registries may send us to, besides 443 and their own; may be repeated\n" \
    "      --insecure-pass-full-deployment  let packages run what their install.yaml says, on the host if they like\n"

/* "docker.io/library=mirror.example.org/hub" */
int package_sources_add_mirror(struct package_sources *s, const char *text, struct err *err);
int package_sources_add_port(struct package_sources *s, const char *text, struct err *err);
/* Says in the log how far the kernel helps to keep strangers' images apart from the rest. */
int package_sources_open(const struct package_sources *s, const struct log *log, struct fetcher **ret, struct err *err);
