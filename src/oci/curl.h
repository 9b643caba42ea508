/* SPDX-License-Identifier: Apache-2.0 */
/* What: libcurl, loaded when a registry is needed: it and the 32 libraries behind it cost more than a pull from the local store.
 * Owns: the library, until the process ends.
 * Threads: one.
 * Errors: ERR_UNAVAILABLE when it is not installed, or too old. */
#pragma once

#include "base/err.h"

#include <curl/curl.h>

struct curl {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *init;
    __typeof__(curl_easy_setopt) *setopt;
    __typeof__(curl_easy_perform) *perform;
    __typeof__(curl_easy_getinfo) *getinfo;
    __typeof__(curl_easy_reset) *reset;
    __typeof__(curl_easy_cleanup) *cleanup;
    __typeof__(curl_easy_strerror) *strerror;
    __typeof__(curl_slist_append) *append;
    __typeof__(curl_slist_free_all) *free_all;
    __typeof__(curl_url) *url;
    __typeof__(curl_url_dup) *url_dup;
    __typeof__(curl_url_set) *url_set;
    __typeof__(curl_url_get) *url_get;
    __typeof__(curl_url_cleanup) *url_cleanup;
    __typeof__(curl_free) *free;
};

/* Before the sandbox: afterwards no code can be loaded. */
int curl_load(struct curl *ret, struct err *err);
