/* SPDX-License-Identifier: Apache-2.0 */
/* What: cases of controllers at work on a whole API server, in this process, without sockets; the clock is theirs to move.
 * Owns: everything: each case begins with an empty data directory and controllers that have just started.
 * Threads: one, besides those of the server's store and of the controllers.
 * Errors: as in case.h.
 *
 *     --- request                     who asks is a member of system:masters
 *     POST /api/v1/namespaces
 *
 *     body
 *     --- expect 201 [part]           what is answered, see match.h; nothing: it does not matter
 *     --- eventually 404 [part]       the same, but the request is repeated until the answer is so: for what controllers do
 *     --- settle                      waits until no controller has anything to do but what it will do later
 *     --- clock SECONDS               later is now
 *     --- root-ca TEXT                the certificates are renewed
 *     --- stop                        the controllers end…
 *     --- start [no-crd-view]         …and start anew, with --no-crd-view
 *     --- visits CONTROLLER           all is settled; what must be behind it is how often the controller has worked since the last
 *     N                               time that this was asked, or since the beginning
 *     --- note …                      says something to the reader
 *     --- create, delete, patch, left, events     see objects.h
 *     --- rights                      see access.h
 *
 * The server is the controllers' own unless the case begins with "--- remote": then they take it for one of many processes. */
#pragma once

/* main of a runner: the rows of controllers.h with this name, or all (NULL). */
int cluster_main(int argc, char **argv, const char *controller);
