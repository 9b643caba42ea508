/* SPDX-License-Identifier: Apache-2.0 */
/* What: the reviews, one function each. Private to reviews.c and review_*.c.
 * Owns: nothing; answers live in the arena of the attempt.
 * Threads: the loop thread.
 * Errors: as every step of a write (write_parts.h). Nothing is stored: all of them end with WRITE_SAME or WRITE_REFUSED.
 *
 * A review is the creation of an object that nobody keeps: w->next is what was asked, w->answer what is told. */
#pragma once

#include "api/write_parts.h"

enum write_step review_access(struct write *w);      /* SubjectAccessReview, LocalSubjectAccessReview */
enum write_step review_self_access(struct write *w); /* SelfSubjectAccessReview */
enum write_step review_rules(struct write *w);       /* SelfSubjectRulesReview */
enum write_step review_self(struct write *w);        /* SelfSubjectReview */
enum write_step review_token(struct write *w);       /* TokenReview */
enum write_step review_token_request(struct write *w);

/* Answers 201 with the object, brought into the form that all objects of its kind have. */
enum write_step review_answer(struct write *w, struct json object);
/* An object of the kind with nothing in it. */
struct json review_blank(struct write *w);
/* An identity as status.userInfo and status.user show it. */
struct json review_user(struct arena *a, const struct authz_identity *who);
struct json review_strings(struct arena *a, struct strs list);
/* A list of texts inside an object, as the others of this folder take it. */
struct strs review_strs(struct arena *a, const struct json *list);
