/* Taking one byte: characters of strings and of plain text, the punctuation of JSON. */
#include "grammar/take.h"

#include <string.h>

/* ---- Characters. ----
 *
 * An unfinished character is a phase and the value of its bits so far: (phase << 24) | value. */
enum phase {
    PHASE_NONE,
    PHASE_TWO, /* of two bytes, one is missing */
    PHASE_THREE,
    PHASE_THREE_1, /* of three, two and one are missing */
    PHASE_FOUR,
    PHASE_FOUR_2,
    PHASE_FOUR_1,
    PHASE_ESCAPE,              /* behind a backslash */
    PHASE_HEX,                 /* 4: behind \u and 0 to 3 digits */
    PHASE_LOW = PHASE_HEX + 4, /* a high surrogate: its value; \ is missing */
    PHASE_LOW_U,               /* u is missing */
    PHASE_LOW_HEX,             /* 4: the value is high << 12 | digits */
};
enum { PHASE_SHIFT = 24, VALUE_MASK = (1 << PHASE_SHIFT) - 1 };

static const uint8_t n_missing[] = { 0, 1, 2, 1, 3, 2, 1 };
static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x800, 0x10000, 0x10000, 0x10000 };

/* The texts that a string may become: its automaton, and which of its states count. */
struct aim {
    const struct dfa *dfa;
    uint32_t state;
    uint32_t room;                       /* code points that may still come */
    const struct program_object *object; /* of a key, NULL */
    uint64_t allowed[2];
    bool allows_other;
};

static bool state_lives(const struct aim *aim, uint32_t state)
{
    if (state == DFA_NONE || aim->dfa->least[state] >= aim->room)
        return false;
    const struct program_object *o = aim->object;
    return o == NULL || (o->reach[state][0] & aim->allowed[0]) != 0 ||
           (o->reach[state][1] & aim->allowed[1]) != 0 ||
           (o->reaches_other[state] && aim->allows_other);
}

/* Returns whether some code point from first to last may come next. */
static bool range_lives(const struct aim *aim, uint32_t first, uint32_t last)
{
    const struct dfa *dfa = aim->dfa;
    uint32_t low = 0, high = dfa->n_spans;
    if (first > last)
        return false;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (dfa->firsts[middle] <= first)
            low = middle;
        else
            high = middle;
    }
    for (uint32_t span = low; span < dfa->n_spans && dfa->firsts[span] <= last; span++)
        if (state_lives(aim, dfa->to[aim->state * dfa->n_classes + dfa->classes[span]]))
            return true;
    return false;
}

/* Takes a whole code point. */
static bool take_code(const struct aim *aim, uint32_t code, uint32_t *state)
{
    *state = dfa_next(aim->dfa, aim->state, code);
    return state_lives(aim, *state);
}

enum taken { TAKEN_NOT, TAKEN_PART, TAKEN_CODE };

/* Takes a byte of UTF-8. */
static enum taken take_utf8(const struct aim *aim, uint32_t *partial, uint8_t byte, uint32_t *code)
{
    uint32_t phase = *partial >> PHASE_SHIFT, value = *partial & VALUE_MASK;
    if (phase == PHASE_NONE && byte < 0x80) {
        *code = byte;
        return TAKEN_CODE;
    }
    if (phase == PHASE_NONE) {
        if (byte < 0xC2 || byte > 0xF4)
            return TAKEN_NOT;
        phase = byte < 0xE0 ? PHASE_TWO : byte < 0xF0 ? PHASE_THREE : PHASE_FOUR;
        value = byte & (byte < 0xE0 ? 0x1F : byte < 0xF0 ? 0x0F : 0x07);
    } else {
        if ((byte & 0xC0) != 0x80)
            return TAKEN_NOT;
        value = value << 6 | (byte & 0x3F);
        if (n_missing[phase] == 1) {
            *code = value;
            *partial = 0;
            return value >= smallest[phase] && value <= DFA_LAST &&
                           (value < 0xD800 || value > 0xDFFF)
                       ? TAKEN_CODE
                       : TAKEN_NOT;
        }
        phase++;
    }
    uint32_t shift = 6u * n_missing[phase], first = value << shift;
    uint32_t last = first | ((1u << shift) - 1);
    *partial = phase << PHASE_SHIFT | value;
    if (first < smallest[phase])
        first = smallest[phase];
    if (last > DFA_LAST)
        last = DFA_LAST;
    bool lives = last < 0xD800 || first > 0xDFFF
                     ? range_lives(aim, first, last)
                     : (first < 0xD800 && range_lives(aim, first, 0xD7FF)) ||
                           (last > 0xDFFF && range_lives(aim, 0xE000, last));
    return lives ? TAKEN_PART : TAKEN_NOT;
}

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Returns whether some code point may come whose first unit lies from first to last. */
static bool units_live(const struct aim *aim, uint32_t first, uint32_t last)
{
    if (first < 0xD800 && range_lives(aim, first, last < 0xD7FF ? last : 0xD7FF))
        return true;
    if (last > 0xDFFF && range_lives(aim, first > 0xE000 ? first : 0xE000, last))
        return true;
    uint32_t high = first > 0xD800 ? first : 0xD800, to = last < 0xDBFF ? last : 0xDBFF;
    return high <= to && range_lives(aim, 0x10000 + ((high - 0xD800) << 10),
                                     0x10000 + ((to - 0xD800) << 10) + 0x3FF);
}

/* Takes a hexadecimal digit of \uXXXX. */
static enum taken take_hex(const struct aim *aim, uint32_t *partial, uint8_t byte, uint32_t *code)
{
    uint32_t phase = *partial >> PHASE_SHIFT, value = *partial & VALUE_MASK;
    int digit = hex_digit(byte);
    if (digit < 0)
        return TAKEN_NOT;
    if (phase >= PHASE_LOW_HEX) {
        uint32_t n = phase - PHASE_LOW_HEX + 1, high = value >> 12;
        uint32_t low = (value & 0xFFF) << 4 | (uint32_t)digit, shift = 4 * (4 - n);
        uint32_t first = low << shift, last = first | ((1u << shift) - 1);
        first = first > 0xDC00 ? first : 0xDC00;
        last = last < 0xDFFF ? last : 0xDFFF;
        if (first > last)
            return TAKEN_NOT;
        if (n == 4) {
            *code = 0x10000 + (high << 10) + (low - 0xDC00);
            *partial = 0;
            return TAKEN_CODE;
        }
        *partial = (phase + 1) << PHASE_SHIFT | high << 12 | low;
        return range_lives(aim, 0x10000 + (high << 10) + (first - 0xDC00),
                           0x10000 + (high << 10) + (last - 0xDC00))
                   ? TAKEN_PART
                   : TAKEN_NOT;
    }
    uint32_t n = phase - PHASE_HEX + 1, shift = 4 * (4 - n);
    value = value << 4 | (uint32_t)digit;
    if (n < 4) {
        *partial = (phase + 1) << PHASE_SHIFT | value;
        return units_live(aim, value << shift, (value << shift) | ((1u << shift) - 1)) ? TAKEN_PART
                                                                                       : TAKEN_NOT;
    }
    if (value >= 0xD800 && value <= 0xDBFF) {
        *partial = (uint32_t)PHASE_LOW << PHASE_SHIFT | (value - 0xD800);
        return units_live(aim, value, value) ? TAKEN_PART : TAKEN_NOT;
    }
    *code = value;
    *partial = 0;
    return value >= 0xDC00 && value <= 0xDFFF ? TAKEN_NOT : TAKEN_CODE;
}

/* Takes a byte inside a JSON string; a quote that ends it is not asked for. */
static enum taken take_json(const struct aim *aim, uint32_t *partial, uint8_t byte, uint32_t *code)
{
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    uint32_t phase = *partial >> PHASE_SHIFT, value = *partial & VALUE_MASK;
    if (phase == PHASE_ESCAPE) {
        const char *at = byte != 0 ? strchr(escapes, byte) : NULL;
        *partial = 0;
        if (at != NULL) {
            *code = (unsigned char)means[at - escapes];
            return TAKEN_CODE;
        }
        *partial = (uint32_t)PHASE_HEX << PHASE_SHIFT;
        return byte == 'u' && units_live(aim, 0, 0xFFFF) ? TAKEN_PART : TAKEN_NOT;
    }
    if (phase == PHASE_LOW || phase == PHASE_LOW_U) {
        *partial = (phase + 1) << PHASE_SHIFT | (phase == PHASE_LOW ? value : value << 12);
        return byte == (phase == PHASE_LOW ? '\\' : 'u') ? TAKEN_PART : TAKEN_NOT;
    }
    if (phase >= PHASE_HEX)
        return take_hex(aim, partial, byte, code);
    if (phase == PHASE_NONE && (byte < 0x20 || byte == '"'))
        return TAKEN_NOT;
    if (phase == PHASE_NONE && byte == '\\') {
        *partial = (uint32_t)PHASE_ESCAPE << PHASE_SHIFT;
        return units_live(aim, 0, 0xFFFF) ? TAKEN_PART : TAKEN_NOT;
    }
    return take_utf8(aim, partial, byte, code);
}

/* ---- Objects. ---- */

/* Sets what keys may come. Returns the number of required ones that are missing. */
static uint32_t find_allowed(const struct automaton *automaton, const struct automaton_thread *t,
                             struct aim *aim)
{
    const struct program *p = automaton->program;
    const struct program_object *o = &p->objects[p->nodes[t->pc].x];
    uint64_t seen[2] = { t->bits[0], o->counts_others ? 0 : t->bits[1] };
    uint64_t missing[2] = { o->required[0] & ~seen[0], o->required[1] & ~seen[1] };
    for (uint32_t i = 0; i < o->n_needs; i++) {
        if ((seen[o->needs[i].tag / 64] >> o->needs[i].tag % 64 & 1) == 0)
            continue;
        missing[0] |= o->needs[i].others[0] & ~seen[0];
        missing[1] |= o->needs[i].others[1] & ~seen[1];
    }
    uint32_t n_missing_keys =
        (uint32_t)(__builtin_popcountll(missing[0]) + __builtin_popcountll(missing[1]));
    bool is_tight = o->max != PROGRAM_MANY && (t->n >= o->max || n_missing_keys >= o->max - t->n);
    *aim = (struct aim){ .dfa = o->keys, .room = PROGRAM_MANY, .object = o };
    aim->allows_other = !is_tight;
    for (int i = 0; i < 2; i++)
        aim->allowed[i] = is_tight ? missing[i] : ~seen[i];
    uint32_t depth = automaton->frames[t->frame].depth + 1;
    if (depth + o->height > PROGRAM_DEPTH_MAX) {
        for (uint32_t tag = 0; tag < o->n_tags; tag++) {
            if (depth + p->heights[o->rules[tag]] <= PROGRAM_DEPTH_MAX)
                continue;
            if (tag < o->n_tracked)
                aim->allowed[tag / 64] &= ~(UINT64_C(1) << tag % 64);
            else
                aim->allows_other = false;
        }
    }
    return n_missing_keys;
}

static bool may_have_key(const struct aim *aim)
{
    return aim->dfa->n_states > 0 && state_lives(aim, 0);
}

static bool may_close(const struct program_object *o, const struct automaton_thread *t,
                      uint32_t n_missing_keys)
{
    uint32_t n = t->n;
    if (o->counts_others)
        n = (uint32_t)(__builtin_popcountll(t->bits[0]) + __builtin_popcountll(t->bits[1]));
    return n_missing_keys == 0 && n >= o->min;
}

/* Ends a key at its quote. */
static bool end_key(const struct aim *aim, struct automaton_thread *out)
{
    const struct program_object *o = aim->object;
    int32_t tag = o->keys->tags[out->a];
    if (tag < 0)
        return false;
    if ((uint32_t)tag < o->n_tracked) {
        if ((aim->allowed[tag / 64] >> tag % 64 & 1) == 0)
            return false;
        out->bits[tag / 64] |= UINT64_C(1) << tag % 64;
    } else if (!aim->allows_other) {
        return false;
    } else if (o->counts_others) {
        out->bits[1] |= UINT64_C(1) << (out->hash * 0x9E3779B1u >> 26);
    }
    out->pc++;
    out->a = (uint32_t)tag;
    out->b = 0;
    out->hash = 0;
    if (o->max != PROGRAM_MANY || out->n < o->min)
        out->n++;
    return true;
}

static bool take_key(const struct automaton *automaton, const struct automaton_thread *t,
                     uint8_t byte, struct automaton_thread *out)
{
    struct aim aim;
    uint32_t code;
    (void)find_allowed(automaton, t, &aim);
    aim.state = t->a;
    if (byte == '"' && t->b == 0)
        return end_key(&aim, out);
    enum taken taken = take_json(&aim, &out->b, byte, &code);
    if (taken != TAKEN_CODE)
        return taken == TAKEN_PART;
    if (aim.object->counts_others)
        out->hash = (out->hash ^ code) * 0x01000193u + 1;
    return take_code(&aim, code, &out->a);
}

/* Takes white space. Returns false for another byte, or when there was enough of it. */
static bool take_space(const struct automaton_thread *t, uint8_t byte, struct automaton_thread *out)
{
    if (t->b == 0 && (byte == ' ' || byte == '\n'))
        out->b = byte == ' ' ? 1 : 2;
    else if (t->b >= 2 && t->b < 2 + PROGRAM_INDENT_MAX && (byte == ' ' || byte == '\t'))
        out->b++;
    else
        return false;
    return true;
}

/* Leaves an object or array. */
static bool leave(const struct program_node *node, struct automaton_thread *out)
{
    *out = (struct automaton_thread){ .pc = node->next, .frame = out->frame };
    return true;
}

static bool take_object(const struct automaton *automaton, const struct automaton_thread *t,
                        uint8_t byte, struct automaton_thread *out)
{
    const struct program_node *node = &automaton->program->nodes[t->pc];
    struct aim aim;
    bool is_first = node->op == OP_OBJECT_FIRST;
    if (take_space(t, byte, out))
        return true;
    if (byte != '"' && byte != ',' && byte != '}')
        return false;
    uint32_t n_missing_keys = find_allowed(automaton, t, &aim);
    out->a = out->b = 0;
    if (byte == '}' && node->op != OP_OBJECT_MORE)
        return may_close(aim.object, t, n_missing_keys) && leave(node, out);
    if (byte == ',' && node->op == OP_OBJECT_NEXT) {
        out->pc++;
        return may_have_key(&aim);
    }
    out->pc = is_first ? t->pc + 1 : t->pc - (OP_OBJECT_MORE - OP_OBJECT_KEY);
    return byte == '"' && node->op != OP_OBJECT_NEXT && may_have_key(&aim);
}

/* ---- Arrays and the rest. ---- */

/* Returns the rule of item n; PROGRAM_MANY: there is none. */
static uint32_t item_rule(const struct program_array *array, uint32_t n)
{
    return n >= array->max ? PROGRAM_MANY : n < array->n_first ? array->firsts[n] : array->rest;
}

static bool take_array(const struct automaton *automaton, const struct automaton_thread *t,
                       uint8_t byte, struct automaton_thread *out)
{
    const struct program *p = automaton->program;
    const struct program_node *node = &p->nodes[t->pc];
    const struct program_array *array = &p->arrays[node->x];
    if (take_space(t, byte, out))
        return true;
    out->b = 0;
    if (byte == ']' && node->op != OP_ARRAY_MORE)
        return t->n >= array->min && leave(node, out);
    uint32_t rule = item_rule(array, t->n);
    out->pc++;
    return byte == ',' && node->op == OP_ARRAY_NEXT && rule != PROGRAM_MANY &&
           automaton->frames[t->frame].depth + 1 + p->heights[rule] <= PROGRAM_DEPTH_MAX;
}

static bool take_text(const struct program *p, const struct automaton_thread *t, uint8_t byte,
                      struct automaton_thread *out)
{
    const struct program_node *node = &p->nodes[t->pc];
    const struct program_text *text = &p->texts[node->x];
    struct aim aim = { .dfa = text->dfa, .state = t->a, .room = PROGRAM_MANY };
    uint32_t code;
    if (text->max != PROGRAM_MANY)
        aim.room = text->max - t->n;
    if (byte == '"' && t->b == 0)
        return text->dfa->tags[t->a] >= 0 && t->n >= text->min && leave(node, out);
    enum taken taken = take_json(&aim, &out->b, byte, &code);
    if (taken != TAKEN_CODE)
        return taken == TAKEN_PART;
    if (text->max != PROGRAM_MANY || t->n < text->min)
        out->n++;
    return take_code(&aim, code, &out->a);
}

static bool take_raw(const struct program *p, const struct automaton_thread *t, uint8_t byte,
                     struct automaton_thread *out)
{
    const struct dfa *dfa = p->dfas[p->nodes[t->pc].x];
    struct aim aim = { .dfa = dfa, .state = t->a, .room = PROGRAM_MANY };
    uint32_t code;
    enum taken taken = take_utf8(&aim, &out->b, byte, &code);
    return taken == TAKEN_PART || (taken == TAKEN_CODE && take_code(&aim, code, &out->a));
}

/* Takes any byte; t->a is how much of the trigger the text ends with. */
static bool take_free(const struct program *p, const struct automaton_thread *t, uint8_t byte,
                      struct automaton_thread *out)
{
    const struct program_node *node = &p->nodes[t->pc];
    const struct program_free *f = &p->frees[node->x];
    uint32_t n = t->a;
    while (n > 0 && (uint8_t)f->trigger.at[n] != byte)
        n = f->borders[n - 1];
    n += (uint8_t)f->trigger.at[n] == byte;
    out->a = n;
    if (n == f->trigger.n)
        *out = (struct automaton_thread){ .pc = node->next, .frame = t->frame };
    return true;
}

bool take_byte(const struct automaton *automaton, const struct automaton_thread *t, uint8_t byte,
               struct automaton_thread *out)
{
    const struct program *p = automaton->program;
    const struct program_node *node = &p->nodes[t->pc];
    *out = *t;
    switch ((enum program_op)node->op) {
    case OP_BYTE:
        out->pc = node->next;
        return byte == node->byte;
    case OP_RAW:
        return take_raw(p, t, byte, out);
    case OP_TEXT:
        return take_text(p, t, byte, out);
    case OP_FREE:
        return take_free(p, t, byte, out);
    case OP_OBJECT_KEY:
        return take_key(automaton, t, byte, out);
    case OP_OBJECT_COLON:
        out->pc++;
        return byte == ':';
    case OP_OBJECT_VALUE:
        return take_space(t, byte, out);
    case OP_OBJECT_FIRST:
    case OP_OBJECT_NEXT:
    case OP_OBJECT_MORE:
        return take_object(automaton, t, byte, out);
    case OP_ARRAY_FIRST:
    case OP_ARRAY_NEXT:
    case OP_ARRAY_MORE:
        return take_array(automaton, t, byte, out);
    default:
        return false;
    }
}

bool take_is_any(const struct automaton *automaton, const struct automaton_thread *t,
                 uint32_t n_codes, bool *is_free)
{
    const struct program *p = automaton->program;
    const struct program_node *node = &p->nodes[t->pc];
    struct aim aim;
    *is_free = false;
    if (t->b != 0)
        return false;
    if (node->op == OP_TEXT) {
        const struct program_text *text = &p->texts[node->x];
        bool has_room = text->max == PROGRAM_MANY || text->max - t->n >= n_codes;
        *is_free = (text->dfa->flags[t->a] & DFA_FREE) != 0 && t->n >= text->min;
        return has_room && (text->dfa->flags[t->a] & DFA_TOTAL) != 0 &&
               (text->max == PROGRAM_MANY || *is_free);
    }
    if (node->op != OP_OBJECT_KEY)
        return false;
    (void)find_allowed(automaton, t, &aim);
    *is_free = (aim.dfa->flags[t->a] & DFA_FREE) != 0 && !aim.object->counts_others;
    return aim.allows_other && aim.object->is_any[t->a];
}
