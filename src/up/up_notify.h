/* SPDX-License-Identifier: Apache-2.0 */
/* What: word to the service manager that started this process, if it asked for one: systemd's Type=notify.
 * Owns: nothing.
 * Threads: any.
 * Errors: ERR_IO, ERR_INVALID; who is not told waits, so the caller says so. */
#pragma once

#include "base/err.h"

/* Requests are served from now on. 0 also when nobody asked: NOTIFY_SOCKET is not set. */
int notify_ready(struct err *err);
