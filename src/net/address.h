/* SPDX-License-Identifier: Apache-2.0 */
/* What: HOST:PORT as people write it, and what can be told of a host without asking anybody.
 * Owns: nothing; a host is a view of the text it came from.
 * Threads: pure functions.
 * Errors: false for what is none. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* HOST:PORT. The host is an address or localhost; one of IPv6 stands in brackets, and comes without them. */
bool address_parse(str text, str *ret_host, uint16_t *ret_port);
/* Only this machine can reach it. */
bool address_is_local(str host);
/* Means all addresses there are. */
bool address_is_any(str host);
/* "127.0.0.1:6443", "[::1]:6443": where to find a server that listens there. */
str address_format(struct arena *a, str host, uint16_t port);
