/* SPDX-License-Identifier: Apache-2.0 */
/* What: the server of this process as a transport for clients: requests enter the pipeline at authorisation, with an identity
 *       that was given once, or that of whom it acts for.
 * Owns: a copy of the identity.
 * Threads: the loop thread.
 * Errors: as in client/client.h.
 *
 * api_drain ends the watches of its clients as it does those of others. After api_close they are told that there is no server
 * any more; they may be freed before or after it. */
#pragma once

#include "api/server.h"
#include "client/client.h"

struct loopback_client_options {
    struct authz_identity who;
    str user_agent; /* "reeve-namespaces": the field manager of writes that name none */
};

struct transport *loopback_client_new(struct api *api, const struct loopback_client_options *options);
/* As the ServiceAccount of this name, with the groups its tokens would have. */
struct transport *loopback_client_new_account(struct api *api, str namespace, str name);
/* For api_close: nobody reaches this server any more. */
void loopback_client_detach(struct api *api);
