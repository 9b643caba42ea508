/* SPDX-License-Identifier: Apache-2.0 */
/* What: questions that are answered and forgotten: the access reviews, SelfSubjectReview, TokenReview; and TokenRequest.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

/* POST of a kind that is not stored. */
void reviews_create(struct api_request *r);
/* POST of serviceaccounts/NAME/token. */
void reviews_token_request(struct api_request *r);
