/* SPDX-License-Identifier: Apache-2.0 */
#include "json/base64.h"
#include "json/yaml_build.h"

/* The tags that ask for a type; any other one is ignored, and the scalar is a string. */
static const struct {
    str tag;
    enum yaml_scalar_type type;
} tags[] = {
    {S_INIT("tag:yaml.org,2002:null"), YAML_NULL}, {S_INIT("tag:yaml.org,2002:bool"), YAML_BOOL},
    {S_INIT("tag:yaml.org,2002:int"), YAML_INT},   {S_INIT("tag:yaml.org,2002:float"), YAML_FLOAT},
    {S_INIT("tag:yaml.org,2002:str"), YAML_STR},   {S_INIT("tag:yaml.org,2002:timestamp"), YAML_TIMESTAMP},
};

static int resolve_binary(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    str data;
    size_t at;
    if (base64_decode(b->arena, node->text, &data, &at) < 0)
        return yaml_fail(b, node->at, "!!binary value contains invalid base64 data at input byte %zu", at);
    if (!str_is_utf8(data))
        return yaml_fail(b, node->at, "!!binary value is not UTF-8 text, which is all that JSON can hold");
    *ret = (struct yaml_scalar){YAML_STR, json_str(data)};
    return 0;
}

/* The text must be what its tag says; an integer may be a !!float. */
static int resolve_typed(struct yaml_build *b, const struct yaml_node *node, enum yaml_scalar_type want,
                         struct yaml_scalar *ret)
{
    *ret = yaml_resolve(node->text, want == YAML_TIMESTAMP);
    if (want == YAML_FLOAT && ret->type == YAML_INT && ret->value.type == JSON_INT)
        *ret = (struct yaml_scalar){YAML_FLOAT, json_real((double)ret->value.i)};
    if (ret->type == want)
        return 0;
    return yaml_fail(b, node->at, "cannot decode %s `%.*s` as a %s", yaml_scalar_name(ret->type), STR(node->text),
                     yaml_scalar_name(want));
}

static int resolve_tagged(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    if (str_eq(node->tag, S("tag:yaml.org,2002:binary")))
        return resolve_binary(b, node, ret);
    for (size_t i = 0; i < COUNT(tags); i++) {
        if (str_eq(tags[i].tag, node->tag) && tags[i].type != YAML_STR)
            return resolve_typed(b, node, tags[i].type, ret);
    }
    *ret = (struct yaml_scalar){YAML_STR, json_str(node->text)};
    return 0;
}

int yaml_build_resolve(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    if (node->tag.n) {
        int r = resolve_tagged(b, node, ret);
        if (r < 0)
            return r;
    } else if (node->plain) {
        *ret = yaml_resolve(node->text, true);
    } else {
        *ret = (struct yaml_scalar){YAML_STR, json_str(node->text)};
    }
    if (json_is_str(&ret->value))
        ret->value = json_str(str_dup(b->arena, json_text(&ret->value)));
    b->bytes += json_text(&ret->value).n;
    return 0;
}
