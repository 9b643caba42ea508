/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include "base/arena.h"

enum { GROUPS = 37, SETTINGS = 82 };

static void add_group(struct buf *b, int i)
{
    buf_fmt(b, "{\"name\":\"group-%02d\",\"instanceType\":\"m5.%dxlarge\",\"minSize\":%d,\"maxSize\":%d,\"spot\":%s,",
            i, i % 8 + 1, i % 3, i % 3 + 10, i % 2 ? "true" : "false");
    buf_fmt(b, "\"image\":\"registry.example.com/images/node@sha256:%064x\",", i * 7919);
    buf_fmt(b, "\"labels\":{\"topology.example.com/zone\":\"eu-central-%d\",\"team\":\"storage\",\"tier\":\"%s\"},",
            i % 3, i % 2 ? "front" : "back");
    buf_fmt(b, "\"taints\":[{\"key\":\"dedicated\",\"value\":\"group-%02d\",\"effect\":\"NoSchedule\"}],", i);
    buf_fmt(b, "\"ports\":[{\"port\":%d,\"protocol\":\"TCP\",\"name\":\"http\"},{\"port\":%d,\"protocol\":\"UDP\"}],",
            8000 + i, 9000 + i);
    buf_fmt(b,
            "\"volumes\":[{\"device\":\"/dev/sd%c\",\"sizeGiB\":%d,\"encrypted\":true,\"iops\":3000,"
            "\"kmsKeyRef\":{\"name\":\"key-%d\"}}],",
            'a' + i % 26, 20 + i, i);
    buf_fmt(b, "\"userData\":\"#!/bin/sh\\nset -eu\\necho \\\"starting node of group %02d\\\" > /dev/console\\n\",", i);
    buf_fmt(b, "\"subnetIds\":[\"subnet-%08x\",\"subnet-%08x\",\"subnet-%08x\"],\"updateWindow\":\"0%d:30\"}",
            (i + 1) * 31, (i + 1) * 37, (i + 1) * 41, i % 10);
}

str sample_object(struct arena *a)
{
    struct buf b = {.arena = a};
    buf_add_str(
        &b, S("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Fleet\",\"metadata\":{\"name\":\"fleet-a\","
              "\"namespace\":\"prod\",\"uid\":\"5b0a5bd0-7ec0-4ff0-9a83-0d7f2f2b3a11\",\"resourceVersion\":\"48213\","
              "\"generation\":7,\"creationTimestamp\":\"2026-11-01T10:00:00Z\",\"labels\":{\"app\":\"fleet\","
              "\"example.com/owner\":\"team-a\"}},\"spec\":{\"region\":\"eu-central-1\",\"version\":\"1.32.4\","
              "\"deletionPolicy\":\"Orphan\",\"groups\":["));
    for (int i = 0; i < GROUPS; i++) {
        if (i)
            buf_add_char(&b, ',');
        add_group(&b, i);
    }
    buf_add_str(&b, S("],\"settings\":{"));
    for (int i = 0; i < SETTINGS; i += 2)
        buf_fmt(&b, "%s\"setting%02d\":\"value of setting %d\"", i ? "," : "", i, i);
    buf_add_str(&b, S("}},\"status\":{\"conditions\":["));
    for (int i = 0; i < 8; i++) {
        buf_fmt(
            &b,
            "%s{\"type\":\"Check%d\",\"status\":\"True\",\"reason\":\"Available\",\"message\":\"group is available and "
            "serves requests\",\"lastTransitionTime\":\"2026-11-01T10:00:0%dZ\"}",
            i ? "," : "", i, i);
    }
    buf_add_str(&b, S("]}}"));
    return buf_str(&b);
}

static const char *const words = "what this field is for, which values it takes, and what happens when it is left out";

static void add_group_schema(struct buf *b)
{
    static const char *const fields[][2] = {
        {"name",
         "\"type\":\"string\",\"minLength\":1,\"maxLength\":63,\"pattern\":\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\""},
        {"instanceType", "\"type\":\"string\",\"pattern\":\"^[a-z0-9]+\\\\.[a-z0-9]+$\""},
        {"minSize", "\"type\":\"integer\",\"format\":\"int32\",\"minimum\":0,\"maximum\":1000"},
        {"maxSize", "\"type\":\"integer\",\"format\":\"int32\",\"minimum\":0,\"maximum\":1000"},
        {"spot", "\"type\":\"boolean\",\"default\":false"},
        {"image", "\"type\":\"string\",\"maxLength\":512"},
        {"labels", "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}"},
        {"taints",
         "\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"key\",\"effect\"],\"properties\":{\"key\":{"
         "\"type\":\"string\"},\"value\":{\"type\":\"string\"},\"effect\":{\"type\":\"string\",\"enum\":["
         "\"NoSchedule\",\"PreferNoSchedule\",\"NoExecute\"]}}}"},
        {"ports",
         "\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"port\","
         "\"protocol\"],\"items\":{\"type\":\"object\",\"required\":[\"port\",\"protocol\"],\"properties\":{\"port\":{"
         "\"type\":\"integer\",\"minimum\":1,\"maximum\":65535},\"protocol\":{\"type\":\"string\",\"default\":\"TCP\"},"
         "\"name\":{\"type\":\"string\"}}}"},
        {"volumes",
         "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"device\":{\"type\":\"string\"},"
         "\"sizeGiB\":{\"type\":\"integer\"},\"encrypted\":{\"type\":\"boolean\"},\"iops\":{\"type\":\"integer\"},"
         "\"throughput\":{\"type\":\"integer\",\"default\":125},\"kmsKeyRef\":{\"type\":\"object\",\"properties\":{"
         "\"name\":{\"type\":\"string\"}}}}}"},
        {"userData", "\"type\":\"string\""},
        {"subnetIds", "\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}"},
        {"updateWindow", "\"type\":\"string\",\"pattern\":\"^[0-2][0-9]:[0-5][0-9]$\""},
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        buf_fmt(b, "%s\"%s\":{\"description\":\"%s: %s\",%s}", i ? "," : "", fields[i][0], fields[i][0], words,
                fields[i][1]);
}

str sample_schema(struct arena *a)
{
    struct buf b = {.arena = a};
    buf_fmt(
        &b,
        "{\"type\":\"object\",\"description\":\"%s\",\"required\":[\"spec\"],\"properties\":{\"spec\":{\"type\":"
        "\"object\",\"required\":[\"region\"],\"properties\":{\"region\":{\"type\":\"string\",\"description\":\"%s\"},"
        "\"version\":{\"type\":\"string\"},\"deletionPolicy\":{\"type\":\"string\",\"enum\":[\"Orphan\",\"Delete\"],"
        "\"default\":\"Delete\"},\"paused\":{\"type\":\"boolean\",\"default\":false},\"groups\":{\"type\":\"array\","
        "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],\"items\":{\"type\":\"object\","
        "\"required\":[\"name\"],\"properties\":{",
        words, words);
    add_group_schema(&b);
    buf_add_str(&b, S("}}},\"settings\":{\"type\":\"object\",\"properties\":{"));
    for (int i = 0; i < SETTINGS; i++) {
        buf_fmt(&b,
                "%s\"setting%02d\":{\"type\":\"string\",\"maxLength\":%d,\"description\":\"setting %02d: %s; %s; %s\"}",
                i ? "," : "", i, 100 + i, i, words, words, words);
    }
    buf_fmt(
        &b,
        "}}}},\"status\":{\"type\":\"object\",\"description\":\"%s\",\"properties\":{\"conditions\":{\"type\":\"array\","
        "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"type\"],\"items\":{\"type\":\"object\","
        "\"required\":[\"type\",\"status\"],\"properties\":{\"type\":{\"type\":\"string\"},\"status\":{\"type\":\"string\","
        "\"enum\":[\"True\",\"False\",\"Unknown\"]},\"reason\":{\"type\":\"string\"},\"message\":{\"type\":\"string\","
        "\"maxLength\":32768},\"lastTransitionTime\":{\"type\":\"string\",\"format\":\"date-time\"}}}}}}}}",
        words);
    return buf_str(&b);
}
