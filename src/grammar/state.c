/* States: they take bytes, and know whether the text is complete. */
#include "grammar/state.h"

#include "base/mem.h"

void grammar_state_reset(struct grammar_state *state, const struct grammar *grammar)
{
    automaton_begin(&state->now, &grammar->program);
}

struct grammar_state *grammar_state_open(const struct grammar *grammar)
{
    struct grammar_state *state = mem_take(sizeof(*state));
    automaton_open(&state->now);
    automaton_open(&state->spare);
    grammar_state_reset(state, grammar);
    return state;
}

void grammar_state_close(struct grammar_state *state)
{
    if (state == NULL)
        return;
    automaton_close(&state->now);
    automaton_close(&state->spare);
    mem_give(state);
}

size_t grammar_state_add(struct grammar_state *state, struct view bytes)
{
    uint32_t from = 0;
    size_t n = 0;
    for (; n < bytes.n; n++) {
        uint32_t to = state->now.n_threads;
        uint32_t n_next = automaton_step(&state->now, from, to, (uint8_t)bytes.at[n]);
        from = to;
        if (n_next == 0)
            break;
    }
    if (bytes.n > 0) {
        struct automaton before = state->now;
        automaton_move(&before, from, &state->spare);
        state->now = state->spare;
        state->spare = before;
    }
    return n;
}

bool grammar_state_is_complete(const struct grammar_state *state)
{
    return automaton_is_done(&state->now, 0, state->now.n_threads);
}

bool grammar_state_goes_on(const struct grammar_state *state)
{
    for (uint32_t i = 0; i < state->now.n_threads; i++)
        if (state->now.threads[i].pc != state->now.program->done)
            return true;
    return false;
}

/* Returns the only byte that threads [from, to) can take; -1: there are several, or none. A
 * backslash beside one other byte does not count, since it spells the same character. */
static int only_byte(struct automaton *a, uint32_t from, uint32_t to)
{
    struct automaton_mark mark = automaton_at(a);
    int only = -1;
    for (int byte = 0; byte < 256; byte++) {
        bool is_taken = automaton_step(a, from, to, (uint8_t)byte) > 0;
        automaton_cut(a, mark);
        if (!is_taken || (byte == '\\' && only >= 0))
            continue;
        if (only >= 0 && only != '\\')
            return -1;
        only = byte;
    }
    return only;
}

size_t grammar_state_forced(struct grammar_state *state, char *out, size_t n_max)
{
    struct automaton *a = &state->now;
    struct automaton_mark mark = automaton_at(a);
    bool was_full = a->is_full;
    uint32_t from = 0, to = a->n_threads;
    size_t n = 0;
    while (n < n_max && !a->is_full && !automaton_is_done(a, from, to)) {
        int byte = only_byte(a, from, to);
        if (byte < 0)
            break;
        out[n++] = (char)byte;
        uint32_t n_next = automaton_step(a, from, to, (uint8_t)byte);
        from = a->n_threads - n_next;
        to = a->n_threads;
    }
    if (a->is_full && !was_full) /* some text was not followed */
        n = 0;
    automaton_cut(a, mark);
    a->is_full = was_full;
    return n;
}
