/* SPDX-License-Identifier: Apache-2.0 */
/* reeve clusters add: the ManagedCluster, then what the hub makes of it, then a token for its agent.
 *
 *   ManagedCluster, accepted ─► (controller clusters: namespace, ServiceAccount, RoleBinding) ─► TokenRequest ─► join kubeconfig */
#include "cli/cli_clusters.h"

#include "base/file.h"
#include "cli/session.h"
#include "net/address.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <stdio.h>
#include <sys/stat.h>

#define ACCEPTED S("HubAcceptedManagedCluster")
#define MANAGER S("reeve-clusters")

static const struct client_resource accounts = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);

/* ---- The cluster. ---- */

static struct client_ref ref_of(const struct clusters_command *c)
{
    return (struct client_ref){.resource = &cli_clusters_resource, .name = c->name};
}

static int create(struct clusters_command *c, struct err *err)
{
    struct json cluster = json_obj(), metadata = json_obj(), spec = json_obj();
    struct client_ref ref = ref_of(c);
    struct client_write_options options = {.field_manager = MANAGER};
    json_add(&c->base.arena, &metadata, S("name"), json_str(c->name));
    json_add(&c->base.arena, &spec, S("hubAcceptsClient"), json_bool(true));
    json_add(&c->base.arena, &cluster, S("apiVersion"),
             json_str(client_api_version(&c->base.arena, &cli_clusters_resource)));
    json_add(&c->base.arena, &cluster, S("kind"), json_str(cli_clusters_resource.kind));
    json_add(&c->base.arena, &cluster, S("metadata"), metadata);
    json_add(&c->base.arena, &cluster, S("spec"), spec);
    return client_create(c->base.session.client, &c->base.arena, &ref, &cluster, &options, NULL, err);
}

static int accept(struct clusters_command *c, struct err *err)
{
    struct json patch = json_obj(), spec = json_obj();
    struct client_ref ref = ref_of(c);
    cli_clusters_need(c, "patch", &ref);
    json_add(&c->base.arena, &spec, S("hubAcceptsClient"), json_bool(true));
    json_add(&c->base.arena, &patch, S("spec"), spec);
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &patch, .options = {.field_manager = MANAGER}};
    return client_patch(c->base.session.client, &c->base.arena, &ref, &args, NULL, err);
}

/* There, and accepted. */
static int make(struct clusters_command *c, struct err *err)
{
    struct client_ref ref = ref_of(c);
    struct json cluster;
    int code = client_get(c->base.session.client, &c->base.arena, &ref, &cluster, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err)) {
        code = create(c, err);
        if (code != ERR_ALREADY_EXISTS) /* somebody else was quicker: as good */
            return code < 0 ? cli_clusters_explain(c, "make the ManagedCluster", err) : 0;
        code = client_get(c->base.session.client, &c->base.arena, &ref, &cluster, err);
    }
    if (code < 0)
        return cli_clusters_explain(c, "look for the ManagedCluster", err);
    if (json_dig(&cluster, "metadata.deletionTimestamp"))
        return err_set(
            err, ERR_CONFLICT,
            "ManagedCluster \"%.*s\" is being removed: wait until it is gone, \"reeve clusters remove %.*s\" "
            "shows what that takes",
            STR(c->name), STR(c->name));
    if (!json_true(json_dig(&cluster, "spec.hubAcceptsClient")) && accept(c, err) < 0)
        return cli_clusters_explain(c, "accept the ManagedCluster", err);
    return 0;
}

/* Says so, or why not in words that live on. */
static int is_accepted(struct clusters_command *c, bool *ret, str *ret_why, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct client_ref ref = ref_of(c);
    struct json cluster;
    if (client_get(c->base.session.client, &scratch, &ref, &cluster, err) < 0)
        return err_wrap(err, "wait for the hub to accept the cluster");
    const struct json *condition = condition_find(json_dig(&cluster, "status.conditions"), ACCEPTED);
    str why = json_get_text(condition, S("message"));
    *ret = str_eq(json_get_text(condition, S("status")), S("True"));
    if (!str_eq(*ret_why, why))
        *ret_why = str_dup(&c->base.arena, why);
    return 0;
}

/* The controller says so when the agent has an account and its rights. */
static int wait_until_accepted(struct clusters_command *c, struct err *err)
{
    int64_t deadline = cli_clusters_deadline(c);
    str why = {0};
    for (bool is_in = false;;) {
        int code = is_accepted(c, &is_in, &why, err);
        if (code < 0 || is_in)
            return code;
        if (!cli_clusters_wait(deadline))
            break;
    }
    if (why.n == 0)
        why = S("nothing was heard of the controller clusters, which \"reeve up\" and \"reeve manager\" run");
    return err_set(err, ERR_TIMEOUT, "the hub does not accept ManagedCluster \"%.*s\": %.*s", STR(c->name), STR(why));
}

/* ---- The token. ---- */

static struct client_ref token_of(const struct clusters_command *c)
{
    return (struct client_ref){
        .resource = &accounts, .namespace = c->name, .name = S(FLEET_AGENT), .subresource = S("token")};
}

static int request_token(struct clusters_command *c, struct json *ret, struct err *err)
{
    struct json request = json_obj(), spec = json_obj();
    struct client_ref ref = token_of(c);
    json_add(&c->base.arena, &spec, S("expirationSeconds"), json_int(c->lifetime_ns / NS_PER_S));
    json_add(&c->base.arena, &request, S("apiVersion"), json_str(S("authentication.k8s.io/v1")));
    json_add(&c->base.arena, &request, S("kind"), json_str(S("TokenRequest")));
    json_add(&c->base.arena, &request, S("spec"), spec);
    if (client_create(c->base.session.client, &c->base.arena, &ref, &request, NULL, ret, err) < 0)
        return err_wrap(err, "get a token for the agent");
    if (json_text(json_dig(ret, "status.token")).n == 0)
        return err_set(err, ERR_IO, "get a token for the agent: there is none in the answer");
    return 0;
}

/* ---- The kubeconfig. ---- */

static void add_named(struct arena *a, struct json *config, const char *list, const char *what, struct json value,
                      str name)
{
    struct json entry = json_obj(), entries = json_arr();
    json_add(a, &entry, S("name"), json_str(name));
    json_add(a, &entry, str_of(what), value);
    json_push(a, &entries, entry);
    json_add(a, config, str_of(list), entries);
}

static int describe_hub(struct clusters_command *c, struct json *ret, struct err *err)
{
    const struct client_config *k = &c->base.session.config;
    struct json hub = json_obj();
    str ca;
    int code = session_ca(&c->base.session, &ca, err);
    if (code < 0)
        return code;
    json_add(&c->base.arena, &hub, S("server"), json_str(c->hub_server.n ? c->hub_server : k->server));
    if (ca.n)
        json_add(&c->base.arena, &hub, S("certificate-authority-data"), json_str(base64_encode(&c->base.arena, ca)));
    if (k->given_server_name.n)
        json_add(&c->base.arena, &hub, S("tls-server-name"), json_str(k->given_server_name));
    if (k->insecure)
        json_add(&c->base.arena, &hub, S("insecure-skip-tls-verify"), json_bool(true));
    *ret = hub;
    return 0;
}

static int make_kubeconfig(struct clusters_command *c, str token, str *ret, struct err *err)
{
    struct json config = json_obj(), hub, user = json_obj(), context = json_obj();
    struct buf text = {.arena = &c->base.arena};
    int code = describe_hub(c, &hub, err);
    if (code < 0)
        return code;
    json_add(&c->base.arena, &user, S("token"), json_str(token));
    json_add(&c->base.arena, &context, S("cluster"), json_str(S("hub")));
    json_add(&c->base.arena, &context, S("user"), json_str(S(FLEET_AGENT)));
    json_add(&c->base.arena, &context, S("namespace"), json_str(c->name));
    json_add(&c->base.arena, &config, S("apiVersion"), json_str(S("v1")));
    json_add(&c->base.arena, &config, S("kind"), json_str(S("Config")));
    add_named(&c->base.arena, &config, "clusters", "cluster", hub, S("hub"));
    add_named(&c->base.arena, &config, "users", "user", user, S(FLEET_AGENT));
    add_named(&c->base.arena, &config, "contexts", "context", context, S("hub"));
    json_add(&c->base.arena, &config, S("current-context"), json_str(S("hub")));
    yaml_encode(&text, &config);
    *ret = buf_str(&text);
    return 0;
}

/* Ctrl-C does not leave half of it beside the file: it is a credential. */
static int write_file(const char *file, str text, struct err *err)
{
    struct interrupt interrupt;
    interrupt_hold(&interrupt);
    int code = file_write(file, text, err);
    interrupt_close(&interrupt);
    return code;
}

static int write_kubeconfig(const char *file, str text, struct err *err)
{
    if (strcmp(file, "-") != 0)
        return write_file(file, text, err);
    if (fwrite(text.p, 1, text.n, stdout) != text.n)
        return err_set(err, ERR_IO, "write to standard output: %m");
    return 0;
}

/* ---- All of it. ---- */

static void say_next(struct clusters_command *c, const char *file, str until)
{
    bool is_shown = strcmp(file, "-") == 0;
    struct client_config k = c->base.session.config;
    struct err err;
    term_say(&c->base.term, "ManagedCluster %.*s is accepted. %s%s lets its agent in until %.*s, and is renewed by it.",
             STR(c->name), is_shown ? "This join kubeconfig" : "The join kubeconfig ", is_shown ? "" : file,
             STR(until));
    if (c->hub_server.n)
        (void)client_config_set_server(&c->base.arena, c->hub_server, &k, &err);
    if (address_is_local(k.host))
        term_say(&c->base.term, "Only this machine finds the hub at %.*s: for agents elsewhere say --hub-server URL.",
                 STR(k.server));
    if (k.insecure)
        term_say(&c->base.term, "It does not check who the hub is, because your own kubeconfig does not.");
    term_say(&c->base.term, "\nOn the managed cluster:\n\n  reeve agent --cluster %.*s --hub-kubeconfig %s",
             STR(c->name), is_shown ? "FILE" : file);
}

static int check_server(struct clusters_command *c, struct err *err)
{
    struct client_config k = {0};
    if (c->hub_server.n == 0)
        return 0;
    if (client_config_set_server(&c->base.arena, c->hub_server, &k, err) < 0)
        return err_wrap(err, "--hub-server");
    return 0;
}

/* It is put in the place of what is there: that must not be a device, a pipe, or a link, /dev/stdout for one. */
static int check_file(const char *file, struct err *err)
{
    struct stat st;
    if (strcmp(file, "-") == 0 || lstat(file, &st) < 0 || S_ISREG(st.st_mode))
        return 0;
    return err_set(err, ERR_BAD_REQUEST, "%s is no regular file: - is standard output", file);
}

/* What all of it takes. The ManagedCluster may be there already, but then its owner could as well make it. */
static void need_all(struct clusters_command *c)
{
    struct client_ref cluster = ref_of(c), any = {.resource = &cli_clusters_resource}, token = token_of(c);
    cli_clusters_need(c, "get", &cluster);
    cli_clusters_need(c, "create", &any);
    cli_clusters_need(c, "create", &token);
}

int cli_clusters_add(struct clusters_command *c, struct err *err)
{
    struct json answer;
    const char *file =
        c->file ? c->file : str_cstr(&c->base.arena, str_fmt(&c->base.arena, "%.*s.kubeconfig", STR(c->name)));
    str text;
    need_all(c);
    int code = check_server(c, err);
    if (code == 0)
        code = check_file(file, err);
    if (code == 0)
        code = make(c, err);
    if (code == 0)
        code = wait_until_accepted(c, err);
    if (code == 0)
        code = request_token(c, &answer, err);
    if (code == 0)
        code = make_kubeconfig(c, json_text(json_dig(&answer, "status.token")), &text, err);
    if (code == 0)
        code = write_kubeconfig(file, text, err);
    if (code == 0)
        say_next(c, file, json_text(json_dig(&answer, "status.expirationTimestamp")));
    return code;
}
