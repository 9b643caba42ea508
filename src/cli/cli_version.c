/* SPDX-License-Identifier: Apache-2.0 */
/* reeve version: of this program, and of the server if one can be asked. It is no test of the server: without one it succeeds, too. */
#include "cli/cli_output.h"
#include "cli/command.h"
#include "cli/term.h"

struct versions {
    struct json server; /* as /version says it; null: not known */
    str address;        /* of the server; empty: none is configured */
    str why;            /* it is not known */
};

static const char *const outputs[] = {"text", "json", "yaml", NULL};
enum { TEXT, JSON, YAML };

static void ask_server(struct command *c, struct versions *v)
{
    struct err err;
    struct client_request request = {.method = S("GET"), .target = S("/version"), .total_ns = c->timeout_ns};
    bool is_configured = command_connect(c, &err) == 0;
    v->address = is_configured ? c->session.config.server : (str){0};
    if (is_configured && client_raw(c->session.client, &c->arena, &request, &v->server, &err) == 0)
        return;
    v->server = json_null();
    v->why = str_dup(&c->arena, str_of(err.msg));
}

static void print_text(struct command *c, const struct versions *v)
{
    struct buf out = {.arena = &c->arena};
    buf_add_str(&out, S("reeve " REEVE_VERSION "\n"));
    if (!json_is_null(&v->server)) {
        buf_add_str(&out, S("server "));
        cli_add_visibly(&out, json_get_text(&v->server, S("gitVersion")));
        buf_fmt(&out, " at %.*s\n", STR(v->address));
    } else if (v->address.n) {
        term_say(&c->term, "server at %.*s: version unknown: %.*s", STR(v->address), STR(v->why));
    }
    output_text(buf_str(&out));
}

static void print_document(struct command *c, const struct versions *v, bool as_yaml)
{
    struct arena *a = &c->arena;
    struct json document = document_new(a, "Version"), client = json_obj(), server = json_obj();
    json_add(a, &client, S("version"), json_str(S(REEVE_VERSION)));
    json_add(a, &document, S("client"), client);
    if (v->address.n) {
        json_add(a, &server, S("address"), json_str(v->address));
        document_add_text(a, &server, "version", json_get_text(&v->server, S("gitVersion")));
        document_add_text(a, &server, "platform", json_get_text(&v->server, S("platform")));
        document_add_text(a, &server, "error", v->why);
        json_add(a, &document, S("server"), server);
    }
    output_tree(&document, as_yaml);
}

int cli_version(int argc, char **argv)
{
    struct command c = {.name = "version", .takes = TAKES_SERVER | TAKES_TIMEOUT, .timeout_ns = 5 * NS_PER_S};
    struct versions v = {.server = json_null()};
    struct flag_words words;
    int output = TEXT;
    bool is_client = false;
    const struct flag flags[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &output, .words = outputs},
        {.name = "client", .kind = FLAG_YES, .into = &is_client},
    };
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (c.is_over)
        return command_end(&c, code);
    if (words.n)
        return command_end(&c, command_misused(&c, "unknown argument \"%s\"", words.p[0]));
    if (!is_client)
        ask_server(&c, &v);
    if (v.address.n == 0 && c.server.kubeconfig.n) /* without the flag, nobody need have a server */
        term_say(&c.term, "server: version unknown: %.*s", STR(v.why));
    if (output == TEXT)
        print_text(&c, &v);
    else
        print_document(&c, &v, output == YAML);
    return command_end(&c, CLI_OK);
}
