/* SPDX-License-Identifier: Apache-2.0 */
/* What: credentials on a loop whose clock stands still until a test moves it; files and plugins are real ones, in a folder of each
 *       test's own.
 * Owns: a world owns its folder, which goes away with it.
 * Threads: one.
 * Errors: fail the test. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/scratch.h"

#include "base/arena.h"
#include "client/credentials.h"
#include "lib/keys.h"

#define SECOND_NS INT64_C(1000000000)
#define START_S INT64_C(1800000000) /* 2027-01-15T08:00:00Z */

struct world {
    struct arena arena;
    struct clock_fake fake;
    struct clock clock;
    struct loop *loop;
    char folder[SCRATCH_MAX];
    struct client_config config;
    struct client_exec exec;
    const char *env[8];
    struct credentials *c;
};

/* What came to somebody who asked. */
struct asked {
    struct credentials_wait wait;
    struct arena *arena;
    int times;
    bool failed;
    struct err err;
    str headers; /* one line each */
    struct tls_context *tls;
    uint64_t serial;
};

int set_up(void **state);
int tear_down(void **state);
str path_of(struct world *w, const char *name);
/* As tools replace files: another one in its place. */
void write_file(struct world *w, const char *name, str text);
str read_file(struct world *w, const char *name);
void remove_file(struct world *w, const char *name);
void begin(struct world *w);
/* A plugin that is a shell script. It keeps count of its runs in the file "runs". */
void begin_plugin(struct world *w, const char *script);
size_t runs(struct world *w);
void pass(struct world *w, int64_t seconds);
void start(struct world *w, struct asked *a);
void wait_for(struct world *w, struct asked *a);
struct asked ask(struct world *w);
void check_headers(struct world *w, const char *want);
/* The folder is called $ in what is wanted. */
void check_error(struct world *w, enum err_code code, const char *want);
struct keys make_keys(struct world *w, const char *name);
/* Whoever compares contexts holds the one it has, so that no other takes its place. */
struct tls_context *tls_of(struct world *w);

/* A shell command that says this as a plugin of v1. */
#define SAYS(status) \
    "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":" status "}'"

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
