/* How a thread takes one byte: the part of the automaton that changes no stack. */
#pragma once
#include "grammar/threads.h"

/* Sets *out to the thread behind the byte. Returns false when it can't take it. */
bool take_byte(const struct automaton *automaton, const struct automaton_thread *thread,
               uint8_t byte, struct automaton_thread *out);
/* Returns whether every text of whole characters, of up to n_codes and without quote, backslash
 * and control characters, may follow in this string; *is_free: and leads back to the same thread.
 */
bool take_is_any(const struct automaton *automaton, const struct automaton_thread *thread,
                 uint32_t n_codes, bool *is_free);
