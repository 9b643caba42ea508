/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/registry_auth.h"

#include "base/file.h"
#include "cli/visible.h"
#include "oci/auth.h"
#include "oci/child.h"

#include <stdlib.h>
#include <unistd.h>

#define HELPER_TIMEOUT_NS (60 * NS_PER_S) /* it may ask its user to unlock a keychain */

enum {
    FILE_MAX = 1024 * 1024,  /* bytes of a config */
    OUTPUT_MAX = 128 * 1024, /* of a helper */
    SHOWN_MAX = 200,         /* of an error that a helper printed */
    FILES_MAX = 4,
};

/* ---- Helpers. ---- */

static int take_output(void *ctx, str piece, struct err *err)
{
    struct buf *output = ctx;
    if (piece.n > OUTPUT_MAX - output->n)
        return err_set(err, ERR_TOO_LARGE, "printed more than %d bytes", OUTPUT_MAX);
    buf_add_str(output, piece);
    return 0;
}

/* The protocol has no code for it, only this text, on standard output. */
static bool is_absent(str output)
{
    return str_find(output, S("credentials not found")) >= 0 || str_find(output, S("no credentials server URL")) >= 0;
}

/* Helpers print errors where credentials would be: only what a failed one printed is shown. */
static int explain_helper(struct command *c, const char *name, str output, struct err *err)
{
    struct buf shown = {.arena = &c->arena};
    str why = str_dup(&c->arena, str_of(err->msg));
    cli_add_visibly(&shown, str_upto(str_trim(output), SHOWN_MAX));
    return err_set(err, ERR_IO, "credential helper %s: %.*s%s%.*s", name, STR(why), shown.n ? ": " : "",
                   STR(buf_str(&shown)));
}

/* *ret stays empty when the helper has nothing, or is not installed. */
static int ask_helper(struct command *c, const struct auth_helper *helper, struct auth *ret, struct err *err)
{
    struct arena *a = &c->arena;
    const char *name = str_cstr(a, str_fmt(a, "docker-credential-%.*s", STR(helper->name)));
    const char *search = getenv("PATH"), *path = search ? file_find_program(a, str_of(search), name) : NULL;
    struct buf output = {0};
    if (!path) {
        term_say(&c->term, "warning: credential helper %s not found in $PATH; continuing without its credentials",
                 name);
        return 0;
    }
    const struct child child = {.program = path,
                                .name = name,
                                .argument = "get",
                                .env = environ,
                                .input = helper->server,
                                .timeout_ns = HELPER_TIMEOUT_NS,
                                .stop = -1,
                                .take = take_output,
                                .ctx = &output};
    int code = child_run(&child, err);
    str text = str_dup(a, buf_str(&output));
    if (output.p)
        explicit_bzero(output.p, output.cap);
    buf_done(&output);
    if (code == ERR_UNAVAILABLE && is_absent(text))
        return 0;
    if (code < 0)
        return explain_helper(c, name, code == ERR_UNAVAILABLE ? text : (str){0}, err);
    return auth_of_helper(a, text, ret, err) < 0 ? explain_helper(c, name, (str){0}, err) : 0;
}

/* ---- Files. ---- */

static bool is_empty(const struct auth *auth)
{
    return auth->user.n == 0 && auth->identity_token.n == 0;
}

static int look_in_file(struct command *c, str text, str registry, str path, struct auth *ret, struct err *err)
{
    struct auth_helper helper;
    *ret = (struct auth){0};
    if (auth_helper(&c->arena, text, registry, &helper, err) < 0)
        return err->code;
    if (helper.name.n && ask_helper(c, &helper, ret, err) < 0)
        return err->code;
    return is_empty(ret) ? auth_find(&c->arena, &text, 1, registry, path, ret, err) : 0;
}

static str from_env(struct arena *a, const char *name, const char *below_home, const char *rest)
{
    const char *value = getenv(name), *home = getenv("HOME");
    if (value && *value)
        return str_fmt(a, "%s%s", value, rest);
    return below_home && home && *home ? str_fmt(a, "%s/%s%s", home, below_home, rest) : (str){0};
}

/* ret_is_given: somebody named it, so it has to be there. */
static size_t list_files(struct command *c, str auth_file, str files[FILES_MAX], bool *ret_is_given)
{
    struct arena *a = &c->arena;
    size_t n = 0;
    files[0] = auth_file.n ? auth_file : from_env(a, "REGISTRY_AUTH_FILE", NULL, "");
    *ret_is_given = files[0].n > 0;
    if (*ret_is_given)
        return 1;
    files[n++] = from_env(a, "XDG_RUNTIME_DIR", NULL, "/containers/auth.json");
    files[n++] = from_env(a, "XDG_CONFIG_HOME", ".config", "/containers/auth.json");
    files[n++] = from_env(a, "DOCKER_CONFIG", ".docker", "/config.json");
    return n;
}

/* 1: read; 0: there is none. A file of the user's that cannot be read does not keep him from public images. */
static int read_file(struct command *c, str file, bool is_given, str *ret, struct err *err)
{
    if (file.n == 0)
        return 0;
    if (file_read(&c->arena, file, FILE_ANY, FILE_MAX, ret, err) == 0)
        return 1;
    if (is_given) {
        err->code = ERR_IO; /* what is not found is an image */
        return err_wrap(err, "credentials");
    }
    if (err->code != ERR_NOT_FOUND)
        term_say(&c->term, "warning: %s; continuing without the credentials in it", err->msg);
    return 0;
}

int registry_auth_find(struct command *c, str auth_file, str registry, str path, str *ret, struct err *err)
{
    str files[FILES_MAX], text;
    bool is_given;
    size_t n = list_files(c, auth_file, files, &is_given);
    *ret = (str){0};
    for (size_t i = 0; i < n && ret->n == 0; i++) {
        struct auth auth;
        int code = read_file(c, files[i], is_given, &text, err);
        if (code < 0)
            return code;
        if (code == 0)
            continue;
        if (look_in_file(c, text, registry, path, &auth, err) < 0) {
            err->code = ERR_IO;
            return err_wrap(err, "credentials in %.*s", STR(files[i]));
        }
        if (!is_empty(&auth))
            *ret = auth_config(&c->arena, registry, &auth);
    }
    return 0;
}
