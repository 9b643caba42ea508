/* SPDX-License-Identifier: Apache-2.0 */
/* How far long work has come: an install by its status, and what is drawn of any steps.
 *
 *   --- install             an install object, as YAML; its steps are drawn
 *   --- steps               or these, a list of {name, state: ahead|running|done|failed, at, of, bytes, bytesOf, note}, as YAML
 *
 *   --- expect stand        of the install: "refused ScopeMismatch: why"
 *   --- expect lines        what is written where nothing can be drawn anew: a line for each step that is over
 *   --- expect terminal [width=40] [utf8] [color] [turn=1]
 *                           what is drawn, 79 columns wide unless said; each line between |…|, \e is an escape */
#include "cases/case.h"
#include "cli/cli_installs.h"
#include "json/yaml.h"

struct world {
    struct arena *a;
    struct installs_state state;
    struct progress_step *steps;
    size_t n;
};

static const char *const states[] = {
    [PROGRESS_AHEAD] = "ahead", [PROGRESS_RUNNING] = "running", [PROGRESS_DONE] = "done", [PROGRESS_FAILED] = "failed"};

static uint64_t number(const struct json *v)
{
    int64_t n = 0;
    (void)json_to_int(v, &n);
    return (uint64_t)n;
}

static void read_steps(struct world *w, struct case_file *c, const struct case_section *s, const struct json *list)
{
    w->steps = ARENA_ARRAY(w->a, struct progress_step, json_len(list));
    w->n = 0;
    json_each_item(list, it)
    {
        struct progress_step *step = &w->steps[w->n++];
        str state = json_get_text(it, S("state"));
        *step = (struct progress_step){.name = str_cstr(w->a, json_get_text(it, S("name"))),
                                       .at = number(json_get(it, S("at"))),
                                       .of = number(json_get(it, S("of"))),
                                       .bytes = number(json_get(it, S("bytes"))),
                                       .bytes_of = number(json_get(it, S("bytesOf"))),
                                       .note = json_get_text(it, S("note"))};
        while (step->state < PROGRESS_FAILED && !str_eq(state, str_of(states[step->state])))
            step->state++;
        if (!str_eq(state, str_of(states[step->state])))
            case_fail(c, s, "no state %.*s", STR(state));
    }
}

static void given(struct world *w, struct case_file *c, const struct case_section *s)
{
    struct json tree;
    struct err err;
    if (yaml_decode(w->a, s->text, NULL, NULL, &tree, &err) < 0) {
        case_fail(c, s, "%s", err.msg);
        return;
    }
    if (str_eq(s->name, S("steps"))) {
        read_steps(w, c, s, &tree);
        return;
    }
    cli_installs_read(&tree, &w->state);
    w->steps = w->state.steps;
    w->n = INSTALLS_STEPS;
}

static void tell_stand(struct world *w, struct buf *b)
{
    static const char *const stands[] = {
        [INSTALLS_UNSEEN] = "unseen",   [INSTALLS_UNDER_WAY] = "under way", [INSTALLS_TROUBLED] = "troubled",
        [INSTALLS_REFUSED] = "refused", [INSTALLS_READY] = "ready",         [INSTALLS_LEAVING] = "leaving",
        [INSTALLS_IN_USE] = "in use"};
    const struct installs_state *s = &w->state;
    buf_fmt(b, "%s%s%.*s%s%.*s", stands[s->stand], s->reason.n ? " " : "", STR(s->reason), s->message.n ? ": " : "",
            STR(s->message));
}

static void tell_lines(struct world *w, struct buf *b)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->steps[i].state < PROGRESS_DONE)
            continue;
        progress_line(b, &w->steps[i]);
        buf_add_char(b, '\n');
    }
}

/* Between bars, so that blanks at the end are seen. */
static void tell_terminal(struct world *w, const struct case_section *s, struct buf *b)
{
    struct term term = {.has_utf8 = case_has_arg(s, S("utf8")), .has_talk_color = case_has_arg(s, S("color"))};
    struct buf drawn = {.arena = w->a};
    uint64_t width = 79, turn = 0;
    (void)str_to_uint64(case_arg(s, S("width")), &width);
    (void)str_to_uint64(case_arg(s, S("turn")), &turn);
    progress_draw(&drawn, w->steps, w->n, &(struct progress_look){&term, (unsigned)width, (unsigned)turn});
    str rest = buf_str(&drawn), line;
    while (str_cut(rest, '\n', &line, &rest)) {
        buf_add_char(b, '|');
        for (size_t i = 0; i < line.n; i++)
            buf_add_str(b, line.p[i] == '\x1b' ? S("\\e") : (str){line.p + i, 1});
        buf_add_str(b, S("|\n"));
    }
}

static void run(struct case_file *c)
{
    struct world w = {.a = c->arena};
    vec_each(&c->sections, s)
    {
        struct buf b = {.arena = c->arena};
        if (!str_eq(s->name, S("expect"))) {
            given(&w, c, s);
            continue;
        }
        if (case_has_arg(s, S("stand")))
            tell_stand(&w, &b);
        else if (case_has_arg(s, S("lines")))
            tell_lines(&w, &b);
        else
            tell_terminal(&w, s, &b);
        case_expect(c, s, buf_str(&b));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
