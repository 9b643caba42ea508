/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/pattern_internal.h"

/* The Unicode classes that Go knows by name. PCRE2 knows more, and spells them more freely. */

static const char categories[][3] = {
    "C",  "Cc", "Cf", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",  "Mc", "Me", "Mn", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs",
};

/* clang-format off */
static const char *const scripts[] = {
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Bassa_Vah",
    "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Canadian_Aboriginal",
    "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee", "Chorasmian", "Common", "Coptic", "Cuneiform",
    "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret", "Devanagari", "Dives_Akuru", "Dogra", "Duployan",
    "Egyptian_Hieroglyphs", "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek",
    "Gujarati", "Gunjala_Gondi", "Gurmukhi", "Han", "Hangul", "Hanifi_Rohingya", "Hanunoo", "Hatran", "Hebrew",
    "Hiragana", "Imperial_Aramaic", "Inherited", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese",
    "Kaithi", "Kannada", "Katakana", "Kawi", "Kayah_Li", "Kharoshthi", "Khitan_Small_Script", "Khmer", "Khojki",
    "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani",
    "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin", "Meetei_Mayek",
    "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro", "Multani",
    "Myanmar", "Nabataean", "Nag_Mundari", "Nandinagari", "New_Tai_Lue", "Newa", "Nko", "Nushu",
    "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Old_Hungarian", "Old_Italic", "Old_North_Arabian", "Old_Permic",
    "Old_Persian", "Old_Sogdian", "Old_South_Arabian", "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya",
    "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician", "Psalter_Pahlavi", "Rejang", "Runic",
    "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham", "SignWriting", "Sinhala", "Sogdian", "Sora_Sompeng",
    "Soyombo", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet",
    "Takri", "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto",
    "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Warang_Citi", "Yezidi", "Yi", "Zanabazar_Square",
};
/* clang-format on */

static enum unicode_class unicode_class_find(str name)
{
    if (str_eq(name, S("Any")))
        return UNICODE_ANY;
    for (size_t i = 0; i < COUNT(categories); i++) {
        if (str_eq(name, str_of(categories[i])))
            return UNICODE_CATEGORY;
    }
    for (size_t i = 0; i < COUNT(scripts); i++) {
        if (str_eq(name, str_of(scripts[i])))
            return UNICODE_SCRIPT;
    }
    return UNICODE_UNKNOWN;
}

/* Character classes: [a-z], \d, \pL, [[:alpha:]]. Whatever the spelling, PCRE2 gets brackets with plain ranges. */

enum { MAX_RUNE = 0x10ffff, LONG_S = 0x17f, KELVIN = 0x212a };

void gate_put(struct buf *b, uint32_t c)
{
    bool plain = char_is_alnum(c) || c == '_';
    if (plain)
        buf_add_char(b, (char)c);
    else if (c > ' ' && c < 0x7f)
        buf_fmt(b, "\\%c", (int)c);
    else
        buf_fmt(b, "\\x{%x}", c);
}

static bool is_surrogate(uint32_t c)
{
    return c >= 0xd800 && c <= 0xdfff;
}

static void put_range(struct buf *b, uint32_t lo, uint32_t hi)
{
    /* No text holds surrogates, and PCRE2 does not want to hear of them. */
    if (is_surrogate(lo))
        lo = 0xe000;
    if (is_surrogate(hi))
        hi = 0xd7ff;
    if (lo > hi)
        return;
    gate_put(b, lo);
    if (hi == lo)
        return;
    buf_add_char(b, '-');
    gate_put(b, hi);
}

/* ---- Named sets of ASCII characters ---- */

static const struct {
    const char *name, *ranges; /* pairs of first and last */
} sets[] = {
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"blank", "\t\t  "},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
    {"space", "\t\r  "},
    {"perl", "\t\n\f\r  "}, /* \s, which leaves out the vertical tab */
    {"cntrl", "\001\037\177\177"},
    {"ascii", "\001\177"}, /* and zero */
};

/* The set with the name, its characters marked in ascii. */
static bool find_set(str name, bool ascii[128])
{
    memset(ascii, 0, 128);
    for (size_t i = 0; i < COUNT(sets); i++) {
        if (!str_eq(name, str_of(sets[i].name)))
            continue;
        for (const char *r = sets[i].ranges; *r; r += 2)
            memset(ascii + (unsigned char)r[0], 1, (size_t)(r[1] - r[0]) + 1);
        ascii[0] = str_eq(name, S("cntrl")) || str_eq(name, S("ascii"));
        return true;
    }
    return false;
}

/* Both cases of every letter. */
static void fold(bool ascii[128])
{
    for (int c = 'a'; c <= 'z'; c++)
        ascii[c] = ascii[c - 32] = ascii[c] || ascii[c - 32];
}

/* Writes all characters whose mark is `want`. The two characters beyond ASCII that fold to one inside go with it. */
static void put_set(struct gate *g, bool ascii[128], bool want)
{
    struct buf *b = g->out;
    bool folds = g->flags & GATE_FOLD;
    if (folds)
        fold(ascii);
    for (uint32_t c = 0; c < 128;) {
        uint32_t from = c;
        while (c < 128 && ascii[c] == want)
            c++;
        if (c > from)
            put_range(b, from, c - 1);
        else
            c++;
    }
    uint32_t from = 128;
    bool long_s = folds && ascii['s'], kelvin = folds && ascii['k'];
    if (want) {
        if (long_s)
            put_range(b, LONG_S, LONG_S);
        if (kelvin)
            put_range(b, KELVIN, KELVIN);
        return;
    }
    if (long_s) {
        put_range(b, from, LONG_S - 1);
        from = LONG_S + 1;
    }
    if (kelvin) {
        put_range(b, from, KELVIN - 1);
        from = KELVIN + 1;
    }
    put_range(b, from, MAX_RUNE);
}

static bool put_named(struct gate *g, str name, bool want)
{
    bool ascii[128];
    if (!find_set(name, ascii))
        return false;
    put_set(g, ascii, want);
    return true;
}

/* \d \D \s \S \w \W at the backslash; false when it is none of them. */
static bool perl_class(struct gate *g)
{
    if (g->at + 1 >= g->in.n)
        return false;
    bool done = false;
    switch (g->in.p[g->at + 1]) {
    case 'd':
        done = put_named(g, S("digit"), true);
        break;
    case 'D':
        done = put_named(g, S("digit"), false);
        break;
    case 's':
        done = put_named(g, S("perl"), true);
        break;
    case 'S':
        done = put_named(g, S("perl"), false);
        break;
    case 'w':
        done = put_named(g, S("word"), true);
        break;
    case 'W':
        done = put_named(g, S("word"), false);
        break;
    default:
        break;
    }
    g->at += done ? 2 : 0;
    return done;
}

/* ---- Unicode ---- */

static void put_unicode(struct gate *g, str name, enum unicode_class kind, bool want)
{
    bool cased = str_eq(name, S("Lu")) || str_eq(name, S("Ll")) || str_eq(name, S("Lt"));
    if (str_eq(name, S("C"))) /* Go's C is without the unassigned */
        buf_add_str(g->out, want ? S("\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}") : S("\\P{C}\\p{Cn}"));
    else if (cased && g->flags & GATE_FOLD)
        buf_add_str(g->out, want ? S("\\p{Lu}\\p{Ll}\\p{Lt}") : S("\\P{L}\\p{Lm}\\p{Lo}"));
    else
        buf_fmt(g->out, "\\%c{%s%.*s}", want ? 'p' : 'P', kind == UNICODE_SCRIPT ? "sc:" : "", STR(name));
}

/* \pL or \p{Name}, at the backslash. */
static bool unicode_class(struct gate *g)
{
    str from = {g->in.p + g->at, g->in.n - g->at};
    bool want = from.p[1] == 'p';
    g->at += 2;
    if (g->at == g->in.n)
        return gate_fail(g, "invalid character class range", from);
    uint32_t c = gate_next(g);
    str name = {g->in.p + (from.p - g->in.p) + 2, g->at - (size_t)(from.p - g->in.p) - 2};
    if (c == '{') {
        ptrdiff_t end = str_find_char(from, '}');
        if (end < 0)
            return gate_fail(g, "invalid character class range", from);
        name = (str){from.p + 3, (size_t)end - 3};
        g->at = (size_t)(from.p - g->in.p) + (size_t)end + 1;
    }
    str whole = {from.p, g->at - (size_t)(from.p - g->in.p)};
    if (name.n && name.p[0] == '^') {
        want = !want;
        name = str_from(name, 1);
    }
    enum unicode_class kind = unicode_class_find(name);
    if (kind == UNICODE_UNKNOWN)
        return gate_fail(g, "invalid character class range", whole);
    put_unicode(g, name, kind, want);
    return true;
}

static bool is_unicode_class(const struct gate *g)
{
    return g->at + 1 < g->in.n && g->in.p[g->at] == '\\' && (g->in.p[g->at + 1] == 'p' || g->in.p[g->at + 1] == 'P');
}

bool gate_class_escape(struct gate *g, bool *ret_found)
{
    size_t start = g->out->n;
    buf_add_str(g->out, S("["));
    *ret_found = true;
    if (is_unicode_class(g)) {
        if (!unicode_class(g))
            return false;
    } else if (!perl_class(g)) {
        g->out->n = start;
        *ret_found = false;
        return true;
    }
    buf_add_char(g->out, ']');
    return true;
}

/* ---- Brackets ---- */

/* [:alpha:] at the inner bracket. *ret_found is false when it only looks like one. */
static bool posix_class(struct gate *g, bool *ret_found)
{
    str rest = str_from(g->in, g->at);
    ptrdiff_t end = rest.n > 2 && rest.p[0] == '[' && rest.p[1] == ':' ? str_find(str_from(rest, 2), S(":]")) : -1;
    *ret_found = end >= 0;
    if (end < 0)
        return true;
    str whole = str_upto(rest, (size_t)end + 4), name = {rest.p + 2, (size_t)end};
    bool want = !(name.n && name.p[0] == '^');
    if (!want)
        name = str_from(name, 1);
    if (str_eq(name, S("perl")) || !put_named(g, name, want))
        return gate_fail(g, "invalid character class range", whole);
    g->at += whole.n;
    return true;
}

/* One end of a range. */
static bool class_char(struct gate *g, str from, uint32_t *ret)
{
    if (g->at >= g->in.n)
        return gate_fail(g, "missing closing ]", from);
    if (g->in.p[g->at] == '\\')
        return gate_escape(g, ret);
    *ret = gate_next(g);
    return true;
}

static bool class_range(struct gate *g, str from)
{
    size_t start = g->at;
    uint32_t lo = 0, hi;
    if (!class_char(g, from, &lo))
        return false;
    hi = lo;
    if (g->at + 1 < g->in.n && g->in.p[g->at] == '-' && g->in.p[g->at + 1] != ']') {
        g->at++;
        if (!class_char(g, from, &hi))
            return false;
        if (hi < lo)
            return gate_fail(g, "invalid character class range", (str){g->in.p + start, g->at - start});
    }
    put_range(g->out, lo, hi);
    return true;
}

static bool class_item(struct gate *g, str from)
{
    bool found;
    if (!posix_class(g, &found))
        return false;
    if (found)
        return true;
    if (is_unicode_class(g))
        return unicode_class(g);
    if (g->at < g->in.n && g->in.p[g->at] == '\\' && perl_class(g))
        return true;
    return class_range(g, from);
}

bool gate_class(struct gate *g)
{
    str from = str_from(g->in, g->at);
    size_t start = g->out->n;
    g->at++;
    bool negated = g->at < g->in.n && g->in.p[g->at] == '^';
    g->at += negated;
    buf_add_str(g->out, negated ? S("[^") : S("["));
    size_t items = g->out->n;
    for (bool first = true; first || g->at >= g->in.n || g->in.p[g->at] != ']'; first = false) {
        if (!class_item(g, from))
            return false;
    }
    g->at++;
    if (g->out->n == items) { /* only surrogates: nothing, or everything, matches */
        g->out->n = start;
        buf_add_str(g->out, negated ? S("[\\x{0}-\\x{10ffff}") : S("[^\\x{0}-\\x{10ffff}"));
    }
    buf_add_char(g->out, ']');
    return true;
}
