/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_hosts.h"

#include "base/vec.h"
#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

enum { ADDRESSES_MAX = 64, HOST_BYTES = 256 };

typedef VEC(str) str_vec;

static void add_address(struct arena *a, str_vec *hosts, const struct sockaddr *sa)
{
    char text[INET6_ADDRSTRLEN];
    const char *got = NULL;
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        got = inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    } else if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        if (!IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) /* means nothing without an interface */
            got = inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
    }
    if (got)
        *vec_push(a, hosts) = str_dup(a, str_of(got));
}

/* All that are up, but the loopback, whose addresses are in every certificate. */
static void add_interfaces(struct arena *a, str_vec *hosts)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *i = all; i && hosts->n < ADDRESSES_MAX; i = i->ifa_next)
        if (i->ifa_addr && (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK))
            add_address(a, hosts, i->ifa_addr);
    freeifaddrs(all);
}

struct strs hosts_of(struct arena *a, str listen_host)
{
    str_vec hosts = {0};
    char name[HOST_BYTES] = {0};
    if (address_is_any(listen_host))
        add_interfaces(a, &hosts);
    else
        *vec_push(a, &hosts) = listen_host;
    if (gethostname(name, sizeof name - 1) == 0)
        *vec_push(a, &hosts) = str_dup(a, str_of(name));
    return (struct strs){hosts.p, hosts.n};
}
