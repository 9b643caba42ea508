/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/curl.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t at;
};

#define SYMBOL(name, member)                         \
    {                                                \
        "curl_" #name, offsetof(struct curl, member) \
    }

static const struct symbol symbols[] = {
    SYMBOL(global_init, global_init),
    SYMBOL(easy_init, init),
    SYMBOL(easy_setopt, setopt),
    SYMBOL(easy_perform, perform),
    SYMBOL(easy_getinfo, getinfo),
    SYMBOL(easy_reset, reset),
    SYMBOL(easy_cleanup, cleanup),
    SYMBOL(easy_strerror, strerror),
    SYMBOL(slist_append, append),
    SYMBOL(slist_free_all, free_all),
    SYMBOL(url, url),
    SYMBOL(url_dup, url_dup),
    SYMBOL(url_set, url_set),
    SYMBOL(url_get, url_get),
    SYMBOL(url_cleanup, url_cleanup),
    SYMBOL(free, free),
};

int curl_load(struct curl *ret, struct err *err)
{
    void *lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL)
        return err_set(err, ERR_UNAVAILABLE, "registries need libcurl: %s",
                       dlerror()); /* NOLINT(concurrency-mt-unsafe) */
    for (size_t i = 0; i < COUNT(symbols); i++) {
        void *function = dlsym(lib, symbols[i].name);
        if (function == NULL)
            return err_set(err, ERR_UNAVAILABLE, "libcurl is too old: it has no %s", symbols[i].name);
        memcpy((char *)ret + symbols[i].at, &function, sizeof function);
    }
    if (ret->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "libcurl does not start");
    return 0;
}
