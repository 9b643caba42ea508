/* SPDX-License-Identifier: Apache-2.0 */
/* What: a whole API server with controllers at work, in this process and in real time, to be measured.
 * Owns: everything, the data directory included.
 * Threads: one, besides those of the store and of the controllers.
 * Errors: what must not fail ends the program. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct stage;

/* controllers: the rows of controllers.h with these names, with commas between them. With one that Kubernetes does not have, the server
 * has Reeve's own kinds and roles. */
struct stage *stage_open(const char *controllers);
void stage_close(struct stage *s);
/* The status of the answer. body may be NULL. */
int stage_ask(struct stage *s, const char *method, const char *target, const char *body);
/* The same without waiting for the answer, which must be 2xx; stage_flush waits for all. */
void stage_send(struct stage *s, const char *method, const char *target, const char *body);
void stage_flush(struct stage *s);
/* The body of the last answer that was waited for. */
str stage_answer(const struct stage *s);
/* Lets the loop turn until is_so says yes. */
void stage_wait(struct stage *s, bool (*is_so)(struct stage *s, void *ctx), void *ctx);
double stage_now(void); /* milliseconds */
