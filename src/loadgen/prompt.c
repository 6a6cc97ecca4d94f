/* Makes prompts of common words, so that a tokenizer makes about one token of each. */
#include "loadgen/prompt.h"

#include "base/json_out.h"
#include <stdio.h>

static const char *const words[LOADGEN_WORDS] = {
    "the",       "of",      "and",     "a",       "to",        "in",       "is",     "was",
    "he",        "for",     "it",      "with",    "as",        "his",      "on",     "be",
    "at",        "by",      "I",       "this",    "had",       "not",      "are",    "but",
    "from",      "or",      "have",    "an",      "they",      "which",    "one",    "you",
    "were",      "her",     "all",     "she",     "there",     "would",    "their",  "we",
    "him",       "been",    "has",     "when",    "who",       "will",     "more",   "no",
    "if",        "out",     "so",      "said",    "what",      "up",       "its",    "about",
    "into",      "than",    "them",    "can",     "only",      "other",    "new",    "some",
    "could",     "time",    "these",   "two",     "may",       "then",     "do",     "first",
    "any",       "my",      "now",     "such",    "like",      "our",      "over",   "man",
    "me",        "even",    "most",    "made",    "after",     "also",     "did",    "many",
    "before",    "must",    "through", "back",    "years",     "where",    "much",   "your",
    "way",       "well",    "down",    "should",  "because",   "each",     "just",   "those",
    "people",    "how",     "too",     "little",  "state",     "good",     "very",   "make",
    "world",     "still",   "own",     "see",     "men",       "work",     "long",   "get",
    "here",      "between", "both",    "life",    "being",     "under",    "never",  "day",
    "same",      "another", "know",    "while",   "last",      "might",    "us",     "great",
    "old",       "year",    "off",     "come",    "since",     "against",  "go",     "came",
    "right",     "used",    "take",    "three",   "states",    "himself",  "few",    "house",
    "use",       "during",  "without", "again",   "place",     "American", "around", "however",
    "home",      "small",   "found",   "thought", "went",      "say",      "part",   "once",
    "general",   "high",    "upon",    "school",  "every",     "don",      "does",   "got",
    "united",    "left",    "number",  "course",  "war",       "until",    "always", "away",
    "something", "fact",    "though",  "water",   "less",      "public",   "put",    "think",
    "almost",    "hand",    "enough",  "far",     "took",      "head",     "yet",    "government",
    "system",    "better",  "set",     "told",    "nothing",   "night",    "end",    "why",
    "called",    "didn",    "eyes",    "find",    "going",     "look",     "asked",  "later",
    "knew",      "point",   "next",    "program", "city",      "business", "give",   "group",
    "toward",    "young",   "days",    "let",     "room",      "word",     "side",   "social",
    "given",     "present", "several", "order",   "national",  "possible", "rather", "second",
    "face",      "per",     "among",   "form",    "important", "often",    "things", "looked",
    "early",     "white",   "case",    "John",    "become",    "large",    "big",    "need",
};

int32_t loadgen_prompt_id(int32_t token, int32_t n_vocabulary)
{
    return 3 + (int32_t)((uint32_t)token % (uint32_t)(n_vocabulary - 3));
}

void loadgen_prompt_text(const int32_t *tokens, int32_t n_tokens, int32_t n_words, struct str *out)
{
    for (int32_t i = 0; i < n_words; i++) {
        uint32_t word = (uint32_t)tokens[i % max_i32(n_tokens, 1)] % LOADGEN_WORDS;
        if (i > 0)
            str_add_char(out, ' ');
        str_add_text(out, words[word]);
    }
}

static void add_end(struct json_out *json, const struct loadgen_ask *ask)
{
    json_out_key_i64(json, "max_tokens", ask->n_tokens_max);
    if (ask->ignores_eos)
        json_out_key_bool(json, "ignore_eos", true);
    if (!ask->ends_by_stop)
        return;
    char id[16];
    snprintf(id, sizeof(id), "%d", LOADGEN_PROMPT_STOP);
    json_out_key_i64(json, "min_tokens", ask->n_output - 1);
    json_out_key(json, "stop_token_ids");
    json_out_open(json, '[');
    json_out_i64(json, LOADGEN_PROMPT_STOP);
    json_out_close(json, ']');
    json_out_key(json, "logit_bias");
    json_out_open(json, '{');
    json_out_key_i64(json, id, 100);
    json_out_close(json, '}');
}

void loadgen_prompt_body(const struct loadgen_ask *ask, const char *text, int32_t n_vocabulary,
                         struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", ask->model);
    json_out_key(&json, ask->form == LOADGEN_CHAT ? "messages" : "prompt");
    if (ask->form == LOADGEN_CHAT) {
        json_out_open(&json, '[');
        json_out_open(&json, '{');
        json_out_key_text(&json, "role", "user");
        json_out_key_text(&json, "content", text);
        json_out_close(&json, '}');
        json_out_close(&json, ']');
    } else if (ask->form == LOADGEN_TEXT) {
        json_out_text(&json, text);
    } else {
        json_out_open(&json, '[');
        for (int32_t i = 0; i < ask->n_prompt; i++)
            json_out_i64(&json, loadgen_prompt_id(ask->tokens[i], n_vocabulary));
        json_out_close(&json, ']');
    }
    add_end(&json, ask);
    json_out_key_i64(&json, "temperature", 0);
    json_out_key_i64(&json, "seed", (int64_t)(ask->seed & INT32_MAX));
    json_out_key_bool(&json, "stream", true);
    json_out_key(&json, "stream_options");
    json_out_open(&json, '{');
    json_out_key_bool(&json, "include_usage", true);
    json_out_close(&json, '}');
    json_out_close(&json, '}');
}
