/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/package_source.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/term.h"
#include "oci/auth.h"
#include "oci/child.h"
#include "oci/fetch_op.h"
#include "oci/layout.h"
#include "oci/reference.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Credentials for a registry from where docker and podman keep them. For commands only: the server uses pull secrets.
 *
 *   --auth-file FILE, else $REGISTRY_AUTH_FILE            this one alone
 *   else, in this order
 *     $XDG_RUNTIME_DIR/containers/auth.json               podman, until the user logs out
 *     $XDG_CONFIG_HOME/containers/auth.json               podman, for good (~/.config)
 *     $DOCKER_CONFIG/config.json                          docker (~/.docker)
 *
 * In each file: credHelpers for the registry, else credsStore, both run as "docker-credential-NAME get"; else auths. The first file that
 * has a credential counts. */

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

/* A docker config with the one credential for this registry and repository; empty: there is none. */
static int registry_auth_find(struct command *c, str auth_file, str registry, str path, str *ret, struct err *err)
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

/* ---- Flags. ---- */

static int read_mirrors(struct command *c, const struct package_flags *flags, struct oci_request *r, struct err *err)
{
    vec_each(&flags->mirrors, text)
    {
        struct fetch_mirror m;
        if (!str_cut(*text, '=', &m.prefix, &m.location) || m.prefix.n == 0 || m.location.n == 0)
            return err_set(err, ERR_BAD_REQUEST, "--mirror %.*s: say FROM=TO", STR(*text));
        *vec_push(&c->arena, &r->mirrors) = m;
    }
    return 0;
}

static int read_ports(struct command *c, const struct package_flags *flags, struct oci_request *r, struct err *err)
{
    vec_each(&flags->ports, text)
    {
        uint64_t port;
        if (!str_to_uint64(*text, &port) || port == 0 || port > UINT16_MAX)
            return err_set(err, ERR_BAD_REQUEST, "--allow-port %.*s: say a number from 1 to 65535", STR(*text));
        *vec_push(&c->arena, &r->ports) = (uint16_t)port;
    }
    return 0;
}

static int find_store(struct command *c, const struct package_flags *flags, str *ret, struct err *err)
{
    const char *data_dir = str_cstr(&c->arena, flags->data_dir);
    *ret = flags->store;
    if (ret->n)
        return 0;
    if (flags->data_dir.n == 0 && cli_data_dir(&c->arena, &data_dir, err) < 0)
        return err->code;
    *ret = str_fmt(&c->arena, "%s/packages/store", data_dir);
    return 0;
}

int package_request(struct command *c, const struct package_flags *flags, struct oci_request *ret, struct err *err)
{
    struct oci_request r = {.policy = FETCH_ALWAYS, .ca_file = flags->ca_file, .timeout_ns = c->timeout_ns};
    if (read_mirrors(c, flags, &r, err) < 0 || read_ports(c, flags, &r, err) < 0 ||
        find_store(c, flags, &r.store, err) < 0)
        return err->code;
    *ret = r;
    return 0;
}

/* ---- Credentials. ---- */

/* Whether the local store answers without any registry. */
static bool is_local(struct command *c, const struct oci_request *r, const struct oci_reference *ref)
{
    struct err ignored;
    bool has = false;
    return r->op == OCI_PULL && r->policy == FETCH_IF_NOT_PRESENT &&
           oci_layout_at_has(str_cstr(&c->arena, r->store), ref, &has, &ignored) == 0 && has;
}

int package_add_auth(struct command *c, const struct package_flags *flags, struct oci_request *r, struct err *err)
{
    struct oci_reference ref, place;
    bool wants_https;
    str config;
    if (r->op == OCI_BUILD || r->op == OCI_OPEN)
        return 0;
    if (oci_reference_parse(r->reference, &ref, err) < 0 || is_local(c, r, &ref))
        return 0; /* an invalid reference is refused where it is used */
    if (oci_request_name(&c->arena, r, &ref, &place, &wants_https, err) < 0 ||
        registry_auth_find(c, flags->auth_file, place.registry, place.path, &config, err) < 0)
        return err->code;
    if (config.n)
        *vec_push(&c->arena, &r->auths) = config;
    return 0;
}

/* ---- What went wrong. ---- */

static str hint(struct command *c, const struct oci_request *request, const struct err *err)
{
    struct arena *a = &c->arena;
    struct oci_reference ref;
    struct err ignored;
    if (err->code == ERR_FORBIDDEN && str_find(str_of(err->msg), S("certificate")) >= 0)
        return S("\n--ca-file FILE names the certificates that it is to be checked with");
    if (err->code != ERR_UNAUTHORIZED || oci_reference_parse(request->reference, &ref, &ignored) < 0)
        return (str){0};
    ref = oci_reference_normalize(a, &ref);
    str right = str_fmt(a, "%s %.*s", request->op == OCI_PUSH ? "push to" : "pull from", STR(ref.path));
    if (request->auths.n)
        return str_fmt(a, "\nhint: the credentials for %.*s do not allow to %.*s", STR(ref.registry), STR(right));
    return str_fmt(a, "\nhint: to %.*s needs credentials: log in with \"docker login %.*s\" or pass --auth-file",
                   STR(right), STR(ref.registry));
}

int package_explain(struct command *c, const struct oci_request *request, struct err *err)
{
    str said = str_dup(&c->arena, str_of(err->msg)), help = hint(c, request, err);
    bool is_theirs = err->code == ERR_UNAVAILABLE || err->code == ERR_UNAUTHORIZED || err->code == ERR_FORBIDDEN;
    return err_set(err, is_theirs ? ERR_IO : err->code, "%.*s%.*s", STR(said), STR(help));
}

/* ---- What a word means. ---- */

bool package_is_directory(const char *what)
{
    struct stat st;
    str s = str_of(what);
    if (str_eq(s, S(".")) || str_eq(s, S("..")) || str_has_prefix(s, S("/")) || str_has_prefix(s, S("./")) ||
        str_has_prefix(s, S("../")))
        return true;
    return stat(what, &st) == 0 && S_ISDIR(st.st_mode);
}

str package_directory_name(struct arena *a, const char *directory)
{
    char whole[PATH_MAX];
    struct buf name = {.arena = a};
    str path = realpath(directory, whole) ? str_of(whole) : str_of(directory);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    size_t at = path.n;
    while (at && path.p[at - 1] != '/')
        at--;
    str base = str_lower(a, str_from(path, at));
    for (size_t i = 0; i < base.n && name.n < OCI_PATH_MAX / 2; i++) {
        char c = base.p[i];
        if (char_is_lower(c) || char_is_digit(c))
            buf_add_char(&name, c);
        else if (name.n && name.p[name.n - 1] != '-')
            buf_add_char(&name, '-');
    }
    while (name.n && name.p[name.n - 1] == '-')
        name.n--;
    return name.n ? buf_str(&name) : S("package");
}

static int name_image(struct command *c, const char *what, str tag, struct package_source *s, struct err *err)
{
    struct oci_reference ref;
    if (!s->is_directory)
        s->reference = str_of(what);
    else
        s->reference = tag.n ? tag : package_directory_name(&c->arena, what);
    if (oci_reference_parse(s->reference, &ref, err) == 0)
        return 0;
    err->code = ERR_BAD_REQUEST;
    if (!s->is_directory)
        return err_wrap(err, "\"%s\" is neither a directory nor an image", what);
    return err->code;
}

/* ---- Opening. ---- */

/* A child that was taken over could bring something else than it was sent for. */
static int check_digest(struct command *c, const struct package_source *s, const struct fetch_lines *lines,
                        struct err *err)
{
    struct oci_reference ref;
    if (oci_reference_parse(s->reference, &ref, err) < 0)
        return err->code;
    if (!s->is_directory && ref.digest.n && !str_eq(ref.digest, oci_digest_format(&c->arena, &lines->digest)))
        return err_set(err, ERR_INVALID, "reeve-fetch brought another digest than it was sent for");
    return 0;
}

/* Which store was looked at is what people get wrong: that of a server with another data directory is not seen. And what has no version
 * may have been meant for a directory. */
static int explain_pull(struct command *c, const char *what, str store, struct err *err)
{
    str why = str_dup(&c->arena, str_of(err->msg));
    struct oci_reference ref;
    struct err ignored;
    bool has_version = oci_reference_parse(str_of(what), &ref, &ignored) == 0 && (ref.tag.n || ref.digest.n);
    return err_set(err, err->code, "%s: %.*s\n%s%s%sThe local store is %.*s; --data-dir or --store name another one",
                   what, STR(why), has_version ? "" : "There is no directory ", has_version ? "" : what,
                   has_version ? "" : ". ", STR(store));
}

static int take_line(void *ctx, uint64_t offset, str line, const struct json *object, struct err *err)
{
    return package_loading_take(ctx, &(struct content_line){offset, line.n, *object}, err);
}

/* The package is read while reeve-fetch is at it, and thrown away unless that comes to a good end. */
static int fetch_and_load(struct command *c, const struct oci_request *request, struct package_source *s,
                          struct fetch_failure *failure, struct err *err)
{
    static const struct fetch_failure is_wrong = {.reason = FETCH_INVALID_PACKAGE};
    struct fetch_lines lines;
    struct package_loading *loading;
    *failure = is_wrong;
    int code = package_loading_new(s->reference, &loading, err);
    if (code < 0)
        return code;
    code = fetch_op_lines(NULL, request, &(struct fetch_reader){take_line, loading}, &lines, failure, err);
    if (code < 0) {
        package_loading_free(loading);
        return code;
    }
    *failure = is_wrong;
    if ((code = check_digest(c, s, &lines, err)) < 0) {
        package_loading_free(loading);
        fetch_entry_close(lines.entry);
        return code;
    }
    s->is_from_store = lines.is_from_store;
    s->size = lines.size;
    return package_loading_end(loading, content_of_entry(lines.entry), &s->package, err);
}

/* is_directory and reference of s are set. */
static int read_source(struct command *c, const struct package_flags *flags, const char *what, struct package_source s,
                       struct package_source *ret, struct err *err)
{
    struct oci_request request = {0};
    struct fetch_failure failure;
    if (package_request(c, flags, &request, err) < 0)
        return err->code;
    request.op = s.is_directory ? OCI_OPEN : OCI_PULL;
    request.is_quick = flags->is_quick;
    request.policy = FETCH_IF_NOT_PRESENT;
    request.reference = s.reference;
    request.directory = s.is_directory ? str_of(what) : (str){0};
    if (package_add_auth(c, flags, &request, err) < 0)
        return err->code;
    if (fetch_and_load(c, &request, &s, &failure, err) < 0) {
        (void)package_explain(c, &request, err);
        if (!s.is_directory && failure.reason == FETCH_PULL_FAILED)
            return explain_pull(c, what, request.store, err);
        return s.is_directory ? err->code : err_wrap(err, "%s", what);
    }
    *ret = s;
    return 0;
}

int package_source_open(struct command *c, const struct package_flags *flags, const char *what, str tag,
                        struct package_source *ret, struct err *err)
{
    struct package_source s = {.is_directory = package_is_directory(what)};
    *ret = (struct package_source){0};
    return name_image(c, what, tag, &s, err) < 0 ? err->code : read_source(c, flags, what, s, ret, err);
}

int package_source_pull(struct command *c, const struct package_flags *flags, str reference, struct package_source *ret,
                        struct err *err)
{
    struct package_source s = {.reference = reference};
    struct oci_reference ref;
    *ret = (struct package_source){0};
    if (oci_reference_parse(reference, &ref, err) < 0)
        return err_wrap(err, "\"%.*s\" is no image", STR(reference));
    return read_source(c, flags, str_cstr(&c->arena, reference), s, ret, err);
}

void package_source_close(struct package_source *s)
{
    package_unref(s->package);
    *s = (struct package_source){0};
}
