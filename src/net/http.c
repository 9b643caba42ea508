/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http.h"

static unsigned char lower(char c)
{
    return (unsigned char)(char_is_upper(c) ? c + ('a' - 'A') : c);
}

bool http_name_eq(str a, str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

str http_header(const struct http_exchange *x, str name)
{
    for (size_t i = 0; i < x->headers.n; i++)
        if (http_name_eq(x->headers.p[i].name, name))
            return x->headers.p[i].value;
    return (str){0};
}

str http_trim(str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_from(s, 1);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool http_list_has(str value, str token)
{
    for (bool is_more = true; is_more;) {
        str item, rest;
        is_more = str_cut(value, ',', &item, &rest);
        if (!is_more)
            item = value;
        if (http_name_eq(http_trim(item), token))
            return true;
        value = rest;
    }
    return false;
}

str http_reason(int status)
{
    static const struct {
        int status;
        str reason;
    } reasons[] = {
        {100, S_INIT("Continue")},
        {101, S_INIT("Switching Protocols")},
        {200, S_INIT("OK")},
        {201, S_INIT("Created")},
        {202, S_INIT("Accepted")},
        {204, S_INIT("No Content")},
        {206, S_INIT("Partial Content")},
        {301, S_INIT("Moved Permanently")},
        {302, S_INIT("Found")},
        {303, S_INIT("See Other")},
        {304, S_INIT("Not Modified")},
        {307, S_INIT("Temporary Redirect")},
        {308, S_INIT("Permanent Redirect")},
        {400, S_INIT("Bad Request")},
        {401, S_INIT("Unauthorized")},
        {403, S_INIT("Forbidden")},
        {404, S_INIT("Not Found")},
        {405, S_INIT("Method Not Allowed")},
        {406, S_INIT("Not Acceptable")},
        {408, S_INIT("Request Timeout")},
        {409, S_INIT("Conflict")},
        {410, S_INIT("Gone")},
        {411, S_INIT("Length Required")},
        {412, S_INIT("Precondition Failed")},
        {413, S_INIT("Request Entity Too Large")},
        {414, S_INIT("Request URI Too Long")},
        {415, S_INIT("Unsupported Media Type")},
        {417, S_INIT("Expectation Failed")},
        {422, S_INIT("Unprocessable Entity")},
        {429, S_INIT("Too Many Requests")},
        {431, S_INIT("Request Header Fields Too Large")},
        {500, S_INIT("Internal Server Error")},
        {501, S_INIT("Not Implemented")},
        {502, S_INIT("Bad Gateway")},
        {503, S_INIT("Service Unavailable")},
        {504, S_INIT("Gateway Timeout")},
        {505, S_INIT("HTTP Version Not Supported")},
        {507, S_INIT("Insufficient Storage")},
    };
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return S("Unknown");
}
