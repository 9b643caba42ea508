/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package: for authors and those without a registry. The work is done by reeve-fetch. */
#include "cli/command.h"

#include "cli/data_dir.h"
#include "oci/fetch_op.h"
#include "oci/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AUTH_MAX = 1024 * 1024, AUTH_PIECE = 16 * 1024 };
#define DEFAULT_TIMEOUT (INT64_C(300) * 1000000000)

struct package_command {
    struct command base;
    struct oci_request request;
    const char *tag, *store, *data_dir, *auth_file;
};

/* ---- The command line. ---- */

static int take_mirror(void *command, const char *text, struct err *err)
{
    struct package_command *c = command;
    struct fetch_mirror m;
    if (!str_cut(str_of(text), '=', &m.prefix, &m.location) || m.prefix.n == 0 || m.location.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "--mirror \"%s\": say FROM=TO, such as docker.io=mirror.example.org",
                       text);
    *vec_push(&c->base.arena, &c->request.mirrors) = m;
    return 0;
}

static int take_port(void *command, const char *text, struct err *err)
{
    struct package_command *c = command;
    uint64_t port;
    if (!str_to_uint64(str_of(text), &port) || port == 0 || port > UINT16_MAX)
        return err_set(err, ERR_BAD_REQUEST, "--allow-port \"%s\" is no port", text);
    *vec_push(&c->base.arena, &c->request.ports) = (uint16_t)port;
    return 0;
}

static int understand(struct package_command *c, const struct flag_words *words)
{
    static const char *const names[] = {"build", "push", "pull", NULL};
    static const enum oci_op ops[] = {OCI_BUILD, OCI_PUSH, OCI_COPY};
    int verb = command_verb(&c->base, words, names);
    if (verb < 0)
        return CLI_USAGE;
    c->request.op = ops[verb];
    bool is_build = c->request.op == OCI_BUILD;
    if (words->n != 2)
        return command_misused(&c->base, is_build ? "build needs one directory" : "name one image");
    if (!is_build && c->tag)
        return command_misused(&c->base, "--tag is for build");
    if (is_build && c->tag == NULL)
        return command_misused(&c->base, "say --tag REFERENCE: what is the package called?");
    c->request.reference = str_of(is_build ? c->tag : words->p[1]);
    c->request.directory = str_of(is_build ? words->p[1] : NULL);
    c->request.timeout_ns = c->base.timeout_ns;
    return CLI_OK;
}

/* ---- The surroundings. ---- */

static int make_all(struct arena *a, const char *path, struct err *err)
{
    char *copy = str_cstr(a, str_of(path));
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", copy);
        *slash = '/';
    }
    return 0;
}

static int find_store(struct package_command *c, struct err *err)
{
    if (c->store == NULL && c->data_dir == NULL && cli_data_dir(&c->base.arena, &c->data_dir, err) < 0)
        return err->code;
    if (c->store == NULL)
        c->store = str_cstr(&c->base.arena, str_fmt(&c->base.arena, "%s/packages/store", c->data_dir));
    c->request.store = str_of(c->store);
    return c->request.op == OCI_PUSH ? 0 : make_all(&c->base.arena, c->store, err);
}

static int read_auth(struct package_command *c, struct err *err)
{
    struct buf b = {.arena = &c->base.arena};
    ssize_t n = 1;
    if (c->auth_file == NULL)
        return 0;
    int fd = open(c->auth_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_set(err, ERR_IO, "open %s: %m", c->auth_file);
    while (n > 0 && b.n <= AUTH_MAX) {
        buf_grow(&b, AUTH_PIECE);
        n = read(fd, b.p + b.n, b.cap - b.n);
        b.n += n > 0 ? (size_t)n : 0;
    }
    int code = n < 0 ? err_set(err, ERR_IO, "read %s: %m", c->auth_file) : 0;
    close(fd);
    if (b.n > AUTH_MAX)
        code = err_set(err, ERR_TOO_LARGE, "%s is too large", c->auth_file);
    *vec_push(&c->base.arena, &c->request.auths) = buf_str(&b);
    return code;
}

static int run(struct package_command *c)
{
    struct oci_reference ref;
    struct oci_digest digest;
    struct fetch_failure failure;
    struct err err;
    struct arena *a = &c->base.arena;
    if (oci_reference_parse(c->request.reference, &ref, &err) < 0 || find_store(c, &err) < 0 ||
        read_auth(c, &err) < 0 || fetch_op(NULL, &c->request, NULL, &digest, &failure, &err) < 0)
        return command_fail(&c->base, &err);
    ref = oci_reference_normalize(a, &ref);
    (void)printf("%.*s/%.*s@%.*s\n", STR(ref.registry), STR(ref.path), STR(oci_digest_format(a, &digest)));
    return CLI_OK;
}

int cli_package(int argc, char **argv)
{
    struct package_command c = {
        .base = {.name = "package", .takes = TAKES_TIMEOUT, .timeout_ns = DEFAULT_TIMEOUT},
        .request = {.policy = FETCH_ALWAYS},
    };
    struct flag_words words;
    const struct flag flags[] = {
        {.letter = 't', .name = "tag", .kind = FLAG_PATH, .into = &c.tag},
        {.name = "store", .kind = FLAG_PATH, .into = &c.store},
        {.name = "data-dir", .kind = FLAG_PATH, .into = &c.data_dir, .env = "REEVE_DATA_DIR"},
        {.name = "auth-file", .kind = FLAG_PATH, .into = &c.auth_file},
        {.name = "ca-file", .kind = FLAG_TEXT, .into = &c.request.ca_file},
        {.name = "mirror", .kind = FLAG_CALL, .into = &c, .take = take_mirror},
        {.name = "allow-port", .kind = FLAG_CALL, .into = &c, .take = take_port},
    };
    int code = command_start(&c.base, flags, sizeof flags / sizeof *flags, argc, argv, &words);
    if (!c.base.is_over)
        code = understand(&c, &words);
    if (!c.base.is_over && code == CLI_OK)
        code = run(&c);
    return command_end(&c.base, code);
}
