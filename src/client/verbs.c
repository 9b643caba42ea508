/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include "client/client_internal.h"

#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

/* ---- Options and bodies. ---- */

static void add_options(struct client_request *request, struct buf *target, const struct client_write_options *options)
{
    if (options == NULL)
        return;
    client_query(target, S("fieldManager"), options->field_manager);
    if (options->dry_run)
        client_query(target, S("dryRun"), S("All"));
    request->as = options->as;
}

static int ask(struct client *c, struct arena *a, const struct client_request *request, struct json *ret,
               struct err *err)
{
    struct client_reply reply CLIENT_REPLY_SCOPE = {0};
    int code = client_ask(c, request, &reply, err);
    return code < 0 ? code : client_reply_read(a, &reply, ret, err);
}

/* A write: the object is the body; options and path make the target. */
static int write_body(struct client *c, struct arena *a, struct client_request *request, struct buf *target,
                      const struct json *object, struct json *ret, struct err *err)
{
    struct buf body = {0};
    if (object)
        json_encode(&body, object, 0);
    request->target = buf_str(target);
    request->body = buf_str(&body);
    int code = ask(c, a, request, ret, err);
    buf_done(&body);
    return code;
}

/* ---- Reading. ---- */

static int get_as(struct client *c, struct arena *a, const struct client_ref *ref, str accept, struct json *ret,
                  struct err *err)
{
    if (client_ref_check(ref, true, err) < 0)
        return ERR_BAD_REQUEST;
    struct buf target = {.arena = a};
    client_path(&target, ref);
    return ask(c, a, &(struct client_request){.method = S("GET"), .target = buf_str(&target), .accept = accept}, ret,
               err);
}

int client_get(struct client *c, struct arena *a, const struct client_ref *ref, struct json *ret, struct err *err)
{
    return get_as(c, a, ref, (str){0}, ret, err);
}

int client_get_metadata(struct client *c, struct arena *a, const struct client_ref *ref, struct json *ret,
                        struct err *err)
{
    return get_as(c, a, ref, S(ACCEPT_METADATA), ret, err);
}

int client_raw(struct client *c, struct arena *a, const struct client_request *request, struct json *ret,
               struct err *err)
{
    return ask(c, a, request, ret, err);
}

/* ---- Writing. ---- */

int client_create(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                  const struct client_write_options *options, struct json *ret, struct err *err)
{
    struct client_ref place = *ref;
    if (place.subresource.n == 0)
        place.name = (str){0}; /* the object has it */
    if (client_ref_check(&place, false, err) < 0)
        return ERR_BAD_REQUEST;
    if (place.resource->namespaced && place.namespace.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "an empty namespace may not be set during creation");
    struct client_request request = {.method = S("POST")};
    struct buf target = {.arena = a};
    client_path(&target, &place);
    add_options(&request, &target, options);
    return write_body(c, a, &request, &target, object, ret, err);
}

int client_update(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                  const struct client_write_options *options, struct json *ret, struct err *err)
{
    if (client_ref_check(ref, true, err) < 0)
        return ERR_BAD_REQUEST;
    struct client_request request = {.method = S("PUT")};
    struct buf target = {.arena = a};
    client_path(&target, ref);
    add_options(&request, &target, options);
    return write_body(c, a, &request, &target, object, ret, err);
}

int client_patch(struct client *c, struct arena *a, const struct client_ref *ref, const struct client_patch_args *args,
                 struct json *ret, struct err *err)
{
    static const str types[] = {
        [CLIENT_PATCH_MERGE] = S_INIT("application/merge-patch+json"),
        [CLIENT_PATCH_STRATEGIC] = S_INIT("application/strategic-merge-patch+json"),
        [CLIENT_PATCH_JSON] = S_INIT("application/json-patch+json"),
    };
    if (client_ref_check(ref, true, err) < 0)
        return ERR_BAD_REQUEST;
    struct client_request request = {.method = S("PATCH"), .content_type = types[args->type]};
    struct buf target = {.arena = a};
    client_path(&target, ref);
    add_options(&request, &target, &args->options);
    return write_body(c, a, &request, &target, args->patch, ret, err);
}

int client_apply(struct client *c, struct arena *a, const struct client_ref *ref, const struct json *object,
                 const struct client_write_options *options, struct json *ret, struct err *err)
{
    if (client_ref_check(ref, true, err) < 0)
        return ERR_BAD_REQUEST;
    struct client_request request = {.method = S("PATCH"), .content_type = S("application/apply-patch+yaml")};
    struct buf target = {.arena = a};
    client_path(&target, ref);
    add_options(&request, &target, options);
    if (options && options->force)
        client_query(&target, S("force"), S("true"));
    return write_body(c, a, &request, &target, object, ret, err); /* JSON is YAML */
}

static struct json delete_options(struct arena *a, const struct client_delete_options *options)
{
    struct json body = json_obj(), preconditions = json_obj();
    json_add(a, &body, S("kind"), json_str(S("DeleteOptions")));
    json_add(a, &body, S("apiVersion"), json_str(S("v1")));
    if (options->propagation.n)
        json_add(a, &body, S("propagationPolicy"), json_str(options->propagation));
    if (options->uid.n)
        json_add(a, &preconditions, S("uid"), json_str(options->uid));
    if (options->version.n)
        json_add(a, &preconditions, S("resourceVersion"), json_str(options->version));
    if (preconditions.n)
        json_add(a, &body, S("preconditions"), preconditions);
    if (options->dry_run)
        json_push(a, json_add(a, &body, S("dryRun"), json_arr()), json_str(S("All")));
    return body;
}

int client_delete(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct client_delete_options *options, struct json *ret, struct err *err)
{
    static const struct client_delete_options none = {0};
    if (options == NULL)
        options = &none;
    if (client_ref_check(ref, !options->is_collection, err) < 0)
        return ERR_BAD_REQUEST;
    if (options->is_collection && ref->name.n)
        return err_set(err, ERR_BAD_REQUEST, "a collection has no name");
    struct buf target = {.arena = a};
    client_path(&target, ref);
    if (options->is_collection)
        client_query(&target, S("labelSelector"), options->label_selector);
    struct json body = delete_options(a, options);
    return write_body(c, a, &(struct client_request){.method = S("DELETE")}, &target, &body, ret, err);
}
