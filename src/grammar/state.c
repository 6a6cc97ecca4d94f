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
