/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

enum { KINDS_OF_GROUP = 4 };

static const char *const nouns[] = {"Bucket",  "Cluster", "Database", "Firewall", "Gateway", "Instance",
                                    "Network", "Policy",  "Queue",    "Record",   "Subnet",  "Volume"};
static const char *const fields[] = {"accessMode", "backupWindow",  "capacity",   "deletionPolicy", "encryption",
                                     "endpoint",   "engineVersion", "kmsKeyId",   "maintenance",    "networkRef",
                                     "parameters", "region",        "replicas",   "retentionDays",  "securityGroups",
                                     "storage",    "tags",          "throughput", "timeouts",       "zone"};
enum { NOUNS = COUNT(nouns), FIELDS = COUNT(fields) };

static void add_description(struct buf *b, const char *field, size_t seed)
{
    buf_fmt(
        b,
        "\"description\":\"%s says how the %s of the resource is set. It is read when the resource is made and may be "
        "changed later unless the provider refuses; see the provider's manual, chapter %zu, for what it may hold and "
        "for its default.\"",
        field, nouns[seed % NOUNS], seed % 97);
}

static void add_scalar(struct buf *b, const char *field, size_t seed)
{
    buf_fmt(b, "\"%s%zu\":{", field, seed % 10);
    add_description(b, field, seed);
    switch (seed % 5) {
    case 0:
        buf_add_str(b, S(",\"type\":\"integer\",\"format\":\"int64\",\"minimum\":0,\"maximum\":65536"));
        break;
    case 1:
        buf_add_str(b, S(",\"type\":\"boolean\",\"default\":false"));
        break;
    case 2:
        buf_add_str(b, S(",\"type\":\"string\",\"enum\":[\"Always\",\"IfNotPresent\",\"Never\"]"));
        break;
    case 3:
        buf_add_str(b, S(",\"type\":\"string\",\"maxLength\":253,\"pattern\":\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\""));
        break;
    default:
        buf_add_str(b, S(",\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\""));
    }
    buf_add_char(b, '}');
}

/* Objects within objects within a list: three of the depths that one meets. */
static void add_nested(struct buf *b, const char *field, size_t seed, size_t depth)
{
    bool is_list = depth == 1;
    buf_fmt(b, "\"%s%zu\":{", field, seed % 10);
    add_description(b, field, seed);
    buf_add_str(b, is_list
                       ? S(",\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
                           "\"name\":{\"type\":\"string\",\"minLength\":1},")
                       : S(",\"type\":\"object\",\"properties\":{"));
    for (size_t i = 0; i < 4; i++) {
        if (i)
            buf_add_char(b, ',');
        size_t next = seed * 7 + i * 3 + depth;
        if (i == 3 && depth < 2)
            add_nested(b, fields[next % FIELDS], next * 10 + i, depth + 1);
        else
            add_scalar(b, fields[next % FIELDS], next * 10 + i);
    }
    buf_add_str(b, is_list ? S("}}}") : S("}}"));
}

static void add_properties(struct buf *b, size_t seed, size_t until)
{
    for (size_t i = 0; b->n < until; i++) {
        if (i)
            buf_add_char(b, ',');
        struct buf name = {.arena = b->arena};
        buf_fmt(&name, "%s%zu%c", fields[i % FIELDS], i / FIELDS, '\0');
        if (i % 3 == 2)
            add_nested(b, name.p, seed + i, 0);
        else
            add_scalar(b, name.p, seed + i);
    }
}

static const char columns[] =
    "\"additionalPrinterColumns\":["
    "{\"name\":\"Ready\",\"type\":\"string\",\"jsonPath\":\".status.conditions[?(@.type=='Ready')].status\"},"
    "{\"name\":\"Synced\",\"type\":\"string\",\"jsonPath\":\".status.conditions[?(@.type=='Synced')].status\"},"
    "{\"name\":\"External\",\"type\":\"string\",\"jsonPath\":\".metadata.annotations.external-name\",\"priority\":1},"
    "{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"}],";

static const char conditions[] =
    "\"conditions\":{\"description\":\"Conditions of the resource.\",\"type\":\"array\",\"items\":{\"type\":\"object\","
    "\"required\":[\"lastTransitionTime\",\"reason\",\"status\",\"type\"],\"properties\":{"
    "\"lastTransitionTime\":{\"type\":\"string\",\"format\":\"date-time\"},\"message\":{\"type\":\"string\"},"
    "\"reason\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"}}},"
    "\"x-kubernetes-list-map-keys\":[\"type\"],\"x-kubernetes-list-type\":\"map\"}";

str sample_crd(struct arena *a, size_t i, size_t bytes)
{
    struct buf b = {.arena = a};
    size_t group = i / KINDS_OF_GROUP;
    str kind = str_fmt(a, "%s%zu", nouns[i % NOUNS], i), singular = str_lower(a, kind);
    buf_grow(&b, bytes + 4096);
    buf_fmt(
        &b,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"%.*ss.g%zu.bench.example\",\"labels\":{\"provider\":\"bench\"}},\"spec\":{\"group\":\"g%zu.bench.example\","
        "\"scope\":\"%s\",\"names\":{\"kind\":\"%.*s\",\"listKind\":\"%.*sList\",\"plural\":\"%.*ss\",\"singular\":"
        "\"%.*s\",\"categories\":[\"managed\",\"bench\"]},\"versions\":[{\"name\":\"v1beta1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{}},",
        STR(singular), group, group, i % 2 ? "Cluster" : "Namespaced", STR(kind), STR(kind), STR(singular),
        STR(singular));
    buf_add_str(&b, str_of(columns));
    buf_add_str(&b, S("\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"required\":[\"spec\"],\"properties\":{"
                      "\"apiVersion\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"metadata\":{\"type\":"
                      "\"object\"},\"spec\":{\"type\":\"object\",\"properties\":{\"forProvider\":{\"type\":\"object\","
                      "\"properties\":{"));
    add_properties(&b, i, bytes * 2 / 3);
    buf_add_str(&b, S("}}}},\"status\":{\"type\":\"object\",\"properties\":{\"atProvider\":{\"type\":\"object\","
                      "\"properties\":{"));
    add_properties(&b, i + 1, bytes - 1500);
    buf_add_str(&b, S("}},"));
    buf_add_str(&b, str_of(conditions));
    buf_add_str(&b, S("}}}}}}]}}"));
    return buf_str(&b);
}

str sample_config_map(struct arena *a, size_t i)
{
    return str_fmt(
        a,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"settings-%06zu\",\"labels\":"
        "{\"app.kubernetes.io/name\":\"shop\",\"app.kubernetes.io/part-of\":\"bench\"}},\"data\":{\"mode\":"
        "\"production\",\"greeting\":\"hello\",\"settings.yaml\":\"retries: 3\\ntimeout: 30s\\nlog: info\\n\"}}",
        i);
}
