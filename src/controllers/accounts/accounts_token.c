/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts_token.h"

#include "json/base64.h"
#include "json/json.h"

enum { TOKEN_BYTES = 64 * 1024 };
#define END_OF_TIME INT64_C(9000000000) /* in nanoseconds it fits 64 bits */

/* The URL alphabet without padding, as the other one with it. */
static str standard(struct arena *a, str text)
{
    size_t room = (text.n + 3) / 4 * 4;
    char *p = arena_alloc(a, room ? room : 1);
    for (size_t i = 0; i < room; i++) {
        char c = i < text.n ? text.p[i] : '=';
        p[i] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    return (str){p, room};
}

bool token_read(struct arena *a, str token, struct token_claims *ret)
{
    str head, rest, payload, signature, text;
    size_t at;
    struct json claims;
    if (token.n > TOKEN_BYTES || !str_cut(token, '.', &head, &rest) || !str_cut(rest, '.', &payload, &signature))
        return false;
    if (base64_decode(a, standard(a, payload), &text, &at) < 0 || json_decode(a, text, NULL, NULL, &claims, NULL) < 0)
        return false;
    const struct json *account = json_get(json_get(&claims, S("kubernetes.io")), S("serviceaccount"));
    *ret = (struct token_claims){.subject = json_get_text(&claims, S("sub")),
                                 .account_uid = json_get_text(account, S("uid"))};
    return json_to_int(json_get(&claims, S("iat")), &ret->issued) &&
           json_to_int(json_get(&claims, S("exp")), &ret->expires) && ret->issued >= 0 && ret->expires > ret->issued &&
           ret->expires < END_OF_TIME;
}

int64_t token_due(const struct token_claims *claims)
{
    return claims->expires - (claims->expires - claims->issued) / 5;
}
