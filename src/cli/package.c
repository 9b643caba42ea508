/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package: for authors and those without a registry. The work is done by reeve-fetch. */
#include "cli/cli.h"

#include "cli/data_dir.h"
#include "oci/fetch_op.h"
#include "oci/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "Usage: reeve package build DIRECTORY --tag REFERENCE [OPTION]...\n"
    "       reeve package push REFERENCE [OPTION]...\n"
    "       reeve package pull REFERENCE [OPTION]...\n"
    "\n"
    "build makes an image of a package and keeps it in the local store, where installs find it: of the tree below\n"
    ".registry, or, when DIRECTORY holds a crossplane.yaml or package.yaml, of all its YAML as one xpkg. The same files\n"
    "make the same image. push copies an image from the store to the registry it is named after, pull the other way\n"
    "round. The digest is printed.\n"
    "\n"
    "  -t, --tag REFERENCE     the name of what is built: [REGISTRY/]PATH:TAG\n"
    "      --store DIR         an OCI layout, as skopeo's oci:DIR  [DATA/packages/store]\n"
    "      --data-dir DATA     as of reeve up  [$XDG_DATA_HOME/reeve]\n"
    "      --auth-file FILE    credentials: a docker config.json\n"
    "      --ca-file FILE      certificates that registries are checked with  [the system's]\n"
    "      --mirror FROM=TO    names that begin with FROM are asked for at TO; may be repeated\n"
    "      --allow-port PORT   a port that a registry may send us to, besides 443 and its own; may be repeated\n"
    "      --timeout SECONDS   [300]\n"
    "  -h, --help              show this text\n"
    "\n"
    "Registries are spoken to over https; on this machine (localhost, 127.0.0.1, [::1]) over plain http, but for port 443,\n"
    "and unless a mirror says so: --mirror localhost:5000=https://localhost:5000.\n"
    "\n"
    "Exit code: 0 done, 1 it could not be done, 2 wrong usage.\n";

enum { AUTH_MAX = 1024 * 1024, AUTH_PIECE = 16 * 1024, DEFAULT_TIMEOUT = 300, MAX_TIMEOUT = 86400 };
enum { FLAG_STORE = 256, FLAG_DATA_DIR, FLAG_AUTH, FLAG_CA, FLAG_MIRROR, FLAG_PORT, FLAG_TIMEOUT };

static const struct option flags[] = {
    {"tag", required_argument, NULL, 't'},
    {"store", required_argument, NULL, FLAG_STORE},
    {"data-dir", required_argument, NULL, FLAG_DATA_DIR},
    {"auth-file", required_argument, NULL, FLAG_AUTH},
    {"ca-file", required_argument, NULL, FLAG_CA},
    {"mirror", required_argument, NULL, FLAG_MIRROR},
    {"allow-port", required_argument, NULL, FLAG_PORT},
    {"timeout", required_argument, NULL, FLAG_TIMEOUT},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct command {
    struct arena *a;
    struct oci_request request;
    const char *tag, *store, *data_dir, *auth_file;
    bool is_help;
};

static int wrong(const char *what)
{
    (void)fprintf(stderr, "reeve package: %s\nRun \"reeve package --help\".\n", what);
    return CLI_USAGE;
}

/* ---- The command line. ---- */

static bool read_mirror(struct command *c, const char *text)
{
    struct fetch_mirror m;
    if (!str_cut(str_of(text), '=', &m.prefix, &m.location) || m.prefix.n == 0 || m.location.n == 0)
        return false;
    *vec_push(c->a, &c->request.mirrors) = m;
    return true;
}

static bool read_port(struct command *c, const char *text)
{
    uint64_t port;
    if (!str_to_uint64(str_of(text), &port) || port == 0 || port > UINT16_MAX)
        return false;
    *vec_push(c->a, &c->request.ports) = (uint16_t)port;
    return true;
}

static bool read_timeout(struct command *c, const char *text)
{
    uint64_t seconds;
    if (!str_to_uint64(str_of(text), &seconds) || seconds == 0 || seconds > MAX_TIMEOUT)
        return false;
    c->request.timeout_ns = (int64_t)seconds * 1000000000;
    return true;
}

static bool read_flag(struct command *c, int flag, const char *value)
{
    switch (flag) {
    case 't':
        c->tag = value;
        return true;
    case FLAG_STORE:
        c->store = value;
        return value[0] != 0;
    case FLAG_DATA_DIR:
        c->data_dir = value;
        return value[0] != 0;
    case FLAG_AUTH:
        c->auth_file = value;
        return true;
    case FLAG_CA:
        c->request.ca_file = str_of(value);
        return value[0] != 0;
    case FLAG_MIRROR:
        return read_mirror(c, value);
    case FLAG_PORT:
        return read_port(c, value);
    case FLAG_TIMEOUT:
        return read_timeout(c, value);
    default:
        return false;
    }
}

static int read_flags(struct command *c, int argc, char **argv)
{
    optind = 0; /* from the beginning, whoever used it before */
    opterr = 0;
    for (int flag; (flag = getopt_long(argc, argv, ":t:h", flags, NULL)) != -1;) { /* NOLINT(concurrency-mt-unsafe) */
        if (flag == 'h')
            c->is_help = true;
        else if (flag == ':' || flag == '?')
            return wrong(
                str_cstr(c->a, str_fmt(c->a, flag == ':' ? "%s needs a value" : "unknown flag %s", argv[optind - 1])));
        else if (!read_flag(c, flag, optarg))
            return wrong(str_cstr(c->a, str_fmt(c->a, "\"%s\" is no value for this flag", optarg)));
    }
    return CLI_OK;
}

/* The verb and what it is done to; argv[0] is "package". */
static int read_words(struct command *c, int n, char **words)
{
    static const struct {
        const char *verb;
        enum oci_op op;
    } verbs[] = {{"build", OCI_BUILD}, {"push", OCI_PUSH}, {"pull", OCI_COPY}};
    size_t i = 0;
    if (n == 0)
        return wrong("say build, push or pull");
    while (i < sizeof verbs / sizeof *verbs && strcmp(verbs[i].verb, words[0]) != 0)
        i++;
    if (i == sizeof verbs / sizeof *verbs)
        return wrong(str_cstr(c->a, str_fmt(c->a, "unknown command \"%s\": build, push or pull", words[0])));
    c->request.op = verbs[i].op;
    if (n != 2)
        return wrong(c->request.op == OCI_BUILD ? "build needs one directory" : "name one image");
    if (c->request.op != OCI_BUILD && c->tag)
        return wrong("--tag is for build");
    if (c->request.op == OCI_BUILD && c->tag == NULL)
        return wrong("say --tag REFERENCE: what is the package called?");
    c->request.reference = str_of(c->request.op == OCI_BUILD ? c->tag : words[1]);
    c->request.directory = c->request.op == OCI_BUILD ? str_of(words[1]) : (str){0};
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

static int find_store(struct command *c, struct err *err)
{
    if (c->store == NULL && c->data_dir == NULL && cli_data_dir(c->a, &c->data_dir, err) < 0)
        return err->code;
    if (c->store == NULL)
        c->store = str_cstr(c->a, str_fmt(c->a, "%s/packages/store", c->data_dir));
    c->request.store = str_of(c->store);
    return c->request.op == OCI_PUSH ? 0 : make_all(c->a, c->store, err);
}

static int read_auth(struct command *c, struct err *err)
{
    struct buf b = {.arena = c->a};
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
    *vec_push(c->a, &c->request.auths) = buf_str(&b);
    return code;
}

static int run(struct command *c, const char *verb)
{
    struct oci_reference ref;
    struct oci_digest digest;
    struct fetch_failure failure;
    struct err err;
    if (oci_reference_parse(c->request.reference, &ref, &err) < 0 || find_store(c, &err) < 0 ||
        read_auth(c, &err) < 0 || fetch_op(NULL, &c->request, &digest, &failure, &err) < 0) {
        (void)fprintf(stderr, "reeve package %s: %s\n", verb, err.msg);
        return CLI_FAILED;
    }
    ref = oci_reference_normalize(c->a, &ref);
    (void)printf("%.*s/%.*s@%.*s\n", STR(ref.registry), STR(ref.path), STR(oci_digest_format(c->a, &digest)));
    return CLI_OK;
}

int cli_package(int argc, char **argv)
{
    struct arena a ARENA_SCOPE = {0};
    struct command c = {.a = &a,
                        .request = {.policy = FETCH_ALWAYS, .timeout_ns = INT64_C(1000000000) * DEFAULT_TIMEOUT}};
    int code = read_flags(&c, argc, argv);
    if (code)
        return code;
    if (c.is_help) {
        fputs(usage, stdout);
        return CLI_OK;
    }
    code = read_words(&c, argc - optind, argv + optind);
    return code ? code : run(&c, argv[optind]);
}
