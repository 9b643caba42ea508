/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reviews.h"

#include "api/review_parts.h"
#include "kinds/builtin.h"
#include "kinds/canonical.h"

static const struct {
    const char *plural;
    enum write_step (*answer)(struct write *w);
} reviews[] = {
    {"localsubjectaccessreviews", review_access}, {"selfsubjectaccessreviews", review_self_access},
    {"selfsubjectreviews", review_self},          {"selfsubjectrulesreviews", review_rules},
    {"subjectaccessreviews", review_access},      {"tokenreviews", review_token},
};

/* ---- What they share. ---- */

enum write_step review_answer(struct write *w, struct json object)
{
    canonical_form(&w->work, w->kind->shape, &object, CANONICAL_KEEP_EMPTY);
    w->answer = object;
    w->has_answer = true;
    w->code = 201;
    return WRITE_SAME;
}

struct json review_blank(struct write *w)
{
    struct arena *a = &w->work;
    struct json object = json_obj();
    json_add(a, &object, S("kind"), json_str(str_of(w->kind->kind)));
    json_add(a, &object, S("apiVersion"), json_str(decode_api_version(a, w->kind)));
    return object;
}

struct json review_strings(struct arena *a, struct strs list)
{
    struct json v = json_arr_sized(a, list.n);
    strs_each(list, it) json_push(a, &v, json_str(*it));
    return v;
}

struct strs review_strs(struct arena *a, const struct json *list)
{
    VEC(str) texts = {0};
    json_each_item(list, it) * vec_push(a, &texts) = json_text(it);
    return (struct strs){texts.p, texts.n};
}

struct json review_user(struct arena *a, const struct authz_identity *who)
{
    struct json user = json_obj(), extra = json_obj();
    json_add(a, &user, S("username"), json_str(who->user));
    json_add(a, &user, S("uid"), json_str(who->uid));
    json_add(a, &user, S("groups"), review_strings(a, who->groups));
    for (size_t i = 0; i < who->n_extra; i++)
        json_set(a, &extra, who->extra[i].key, review_strings(a, who->extra[i].values));
    json_add(a, &user, S("extra"), extra);
    return user;
}

/* ---- The way of a review. ---- */

static enum write_step take(struct write *w)
{
    struct decoded body;
    if (decode_body(w->r, &w->work, w->kind, &body, &w->status) < 0)
        return WRITE_REFUSED;
    write_warn_all(w, &body.notes);
    w->next = body.object;
    return WRITE_SAME;
}

static enum write_step build(struct write *w)
{
    struct meta_place place = write_place(w);
    struct err err = {0};
    if (take(w) == WRITE_REFUSED)
        return WRITE_REFUSED;
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    write_track(w);
    for (size_t i = 0; i < COUNT(reviews); i++) {
        if (strcmp(reviews[i].plural, w->kind->plural) == 0)
            return reviews[i].answer(w);
    }
    return write_refused(w, status_no_such_resource(&w->work));
}

/* The body is of another kind than the account that the path speaks of, and names it once more at most. */
static enum write_step build_token_request(struct write *w)
{
    struct err err = {0};
    if (take(w) == WRITE_REFUSED)
        return WRITE_REFUSED;
    struct meta_place place = {.kind = w->kind, .namespace = w->namespace};
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    write_track(w);
    return review_token_request(w);
}

static void run(struct api_request *r, const struct kind *kind, write_build *how)
{
    struct write *w;
    if (!write_begin(r, how, &w))
        return;
    w->kind = kind;
    if (write_options_parse(w, WRITE_CREATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

void reviews_create(struct api_request *r)
{
    run(r, r->route.kind, build);
}

void reviews_token_request(struct api_request *r)
{
    run(r, kind_builtin_by_body(S("authentication.k8s.io/v1"), S("TokenRequest")), build_token_request);
}
