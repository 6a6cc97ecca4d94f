/* Constrained decoding: a grammar says which texts a request may generate.
 *
 * A grammar is compiled from text into a program: a pushdown automaton over bytes (program.h). A
 * state of the automaton is a pure function of (grammar, tokens so far), so a request that was
 * preempted, moved or restarted recomputes its state from its tokens.
 *
 * A token is allowed only if some completion exists behind it, as far as the automaton can tell.
 * Rare schemas that contradict themselves leave a text without a way on; such a request ends with
 * an error. An end token is allowed exactly where the text is complete.
 *
 * Everything is bounded (LIMIT_GRAMMAR_BYTES and the limits in program.h). A grammar beyond a
 * limit is refused with one sentence, and so is each keyword that is not supported. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "core/limits.h"

enum grammar_kind {
    GRAMMAR_NONE,
    GRAMMAR_OBJECT,  /* any JSON object; the text is empty */
    GRAMMAR_SCHEMA,  /* the text is a JSON Schema */
    GRAMMAR_REGEX,   /* ECMA-262; the whole answer matches */
    GRAMMAR_CHOICE,  /* the text is a JSON array of strings */
    GRAMMAR_GBNF,    /* llama.cpp's notation, with a rule named root */
    GRAMMAR_LARK,    /* Lark's common part, with a rule named start */
    GRAMMAR_CALLS,   /* the text was written by grammar_calls_write */
    GRAMMAR_THOUGHT, /* the text was written by grammar_thought_write; grammar_open refuses it */
    GRAMMAR_KINDS,
};
struct grammar;
/* Compiles a text. The grammar is read-only afterwards, so any number of threads may use it. On
 * failure *out is NULL, and the fault names the keyword or the place. */
enum status grammar_open(struct grammar **out, enum grammar_kind kind, struct view text,
                         struct fault *fault) MUST_USE;
void grammar_close(struct grammar *grammar);
/* Returns whether its answers are free text until a trigger comes. */
bool grammar_is_offer(const struct grammar *grammar);
/* Returns the bytes that the compiled grammar takes. */
size_t grammar_bytes(const struct grammar *grammar);

/* ---- Calls of tools: pieces of literal text around values of JSON Schemas. ---- */

/* These control bytes stand for more inside of literal bytes. */
#define GRAMMAR_SPACE  "\1" /* a space, or line ends with an indent, or nothing */
#define GRAMMAR_MARK   "\2" /* stands before a mark, which may be a special token or plain text */
#define GRAMMAR_DIGITS "\5" /* one to three digits */
#define GRAMMAR_ID     "\6" /* nine letters or digits */

struct grammar_call {
    struct view prefix; /* literal bytes before the value, UTF-8 */
    struct view schema; /* the text of a JSON Schema; empty: any JSON object */
    struct view suffix; /* literal bytes behind the value */
};
/* A text of calls:  before call (between call)* after.
 *
 * With a trigger the answer is free text of any bytes (it may end at any place) up to the first
 * occurrence of the trigger. From there on it is as above, and behind `after` it is free again, up
 * to the next trigger. The trigger is not part of `before`. */
struct grammar_calls {
    struct view before, between, after; /* literal bytes, may be empty */
    struct view trigger;                /* empty: the answer begins with `before` */
    const struct grammar_call *calls;   /* each call is one of these */
    int32_t n_calls;
    int32_t n_min, n_max; /* how many calls, 0 <= n_min <= n_max, n_max >= 1 */
};
/* Appends the text of kind GRAMMAR_CALLS. Returns false when a schema's text is not JSON. */
bool grammar_calls_write(const struct grammar_calls *calls, struct str *out) MUST_USE;

/* ---- Reasoning ahead of an answer. ---- */

struct grammar_thought {
    struct view open;  /* the mark that begins reasoning; empty: the answer begins inside of it */
    struct view close; /* the mark that ends it; empty: there is no reasoning */
    int32_t n_max;     /* tokens of reasoning, behind which the mark is forced; -1: no bound */
    bool jumps;        /* bytes that the grammar forces are spelled as the tokenizer would */
    enum grammar_kind kind; /* of the answer behind; NONE: it is free */
    struct view text;
};
/* Appends the text of kind GRAMMAR_THOUGHT. The marks hold less than 64 bytes each. */
void grammar_thought_write(const struct grammar_thought *thought, struct str *out);
/* Reads such a text; the views lie in it. Returns false for a text that is broken. */
bool grammar_thought_read(struct view text, struct grammar_thought *out) MUST_USE;

/* ---- A vocabulary, prepared once for each tokenizer. ---- */

struct grammar_vocabulary;
/* pieces (n): the bytes of each token inside a text. A special token has the byte 0xFF ahead of its
 * text, so that it fits nowhere but in free text and at marks. They are copied. */
struct grammar_vocabulary *grammar_vocabulary_open(const struct view *pieces, int32_t n);
void grammar_vocabulary_close(struct grammar_vocabulary *vocabulary);
size_t grammar_vocabulary_bytes(const struct grammar_vocabulary *vocabulary);
int32_t grammar_vocabulary_n(const struct grammar_vocabulary *vocabulary);

/* ---- The state of one text. ---- */

struct grammar_state;
/* Opens the state of an empty text. The grammar must outlive it. */
struct grammar_state *grammar_state_open(const struct grammar *grammar);
void grammar_state_close(struct grammar_state *state);
/* Goes back to the empty text, of this grammar. */
void grammar_state_reset(struct grammar_state *state, const struct grammar *grammar);
/* Adds bytes. Returns how many of them can be part of a text; fewer than n: the state is dead from
 * then on. */
size_t grammar_state_add(struct grammar_state *state, struct view bytes);
bool grammar_state_is_complete(const struct grammar_state *state);
/* Returns whether the text may go on with at least one more byte. */
bool grammar_state_goes_on(const struct grammar_state *state);

/* Returns how many of the next bytes can't be other ones, at most n_max, and writes them. Escapes
 * of the same characters are no other bytes. 0 where the text may end. */
size_t grammar_state_forced(struct grammar_state *state, char *out, size_t n_max);

/* Masks of one vocabulary that were made before, for one thread. A mask depends on the state
 * alone, so a cache changes no result. */
struct grammar_masks;
struct grammar_masks *grammar_masks_open(const struct grammar_vocabulary *vocabulary,
                                         uint32_t n_kept);
void grammar_masks_close(struct grammar_masks *masks);
/* Sets one bit for each token that may follow, in (n / 32, rounded up) words, and clears the
 * others. Tokens without bytes are set in free text alone. Returns false when the state is so
 * ambiguous that this takes more than a bounded number of steps; then the mask means nothing. */
bool grammar_masks_fill(struct grammar_masks *masks, struct grammar_state *state,
                        uint32_t *mask) MUST_USE;
