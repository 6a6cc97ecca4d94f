/* Backtracking over a program.
 *
 *   run(at, op)   follows the ops; at a choice it keeps a frame with the other way
 *   a failure     takes the last frame back; without one this run has failed
 *   LOOK, ATOMIC  run their inside on top of the frames, and drop its frames
 *
 * A run of one set keeps a single frame with its least and its current end, so that a long run
 * costs no memory. Each op, each code point that a run takes and each start that a search tries is
 * a step of the text's grant. */
#include "text/regex.h"
#include "text/regex_code.h"
#include "base/mem.h"
#include <string.h>

enum {
    STEPS_BASE = 4000000,
    STEPS_PER_BYTE = 500, /* real patterns take about 10, and 100 on endless white space */
    STEPS_PER_LATER_BYTE = 100,
    EARLY_BYTES = 256 << 10,
    FRAMES_MAX = 1 << 20,
    RUNS_DEPTH_MAX = 64,
};

enum frame_kind { FRAME_WAY, FRAME_GREEDY, FRAME_LAZY };
struct regex_frame {
    uint32_t op;
    uint32_t kind;
    size_t at;
    size_t least; /* FRAME_GREEDY: first possible end of the run. FRAME_LAZY: bytes that it took */
};
struct matcher {
    const struct regex_program *program;
    struct regex_work *work;
    const unsigned char *text;
    size_t n;
    int depth;
};

enum status regex_open(struct regex *regex, struct view pattern, struct fault *fault)
{
    struct regex_program *program = mem_take(sizeof(*program));
    enum status status = regex_tree_parse(&program->tree, pattern, fault);
    if (status == STATUS_OK)
        status = regex_code_make(program, fault);
    regex->program = program;
    if (status != STATUS_OK)
        regex_close(regex);
    return status;
}

enum status regex_open_text(struct regex *regex, struct view text, struct fault *fault)
{
    static const char signs[] = "\\^$.|?*+()[]{}";
    struct str pattern;
    str_init(&pattern);
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '\0' && strchr(signs, text.at[i]) != NULL)
            str_add_char(&pattern, '\\');
        str_add_char(&pattern, text.at[i]);
    }
    enum status status = regex_open(regex, view_of(pattern.at, pattern.n), fault);
    str_free(&pattern);
    return status;
}

void regex_close(struct regex *regex)
{
    if (regex->program != NULL)
        regex_code_free(regex->program);
    mem_give(regex->program);
    regex->program = NULL;
}

bool regex_may_be_empty(const struct regex *regex)
{
    return regex->program->firsts[0].takes_nothing;
}

void regex_work_init(struct regex_work *work)
{
    *work = (struct regex_work){ 0 };
    regex_work_grant(work, 0);
}

void regex_work_free(struct regex_work *work)
{
    mem_give(work->frames);
    *work = (struct regex_work){ 0 };
}

void regex_work_grant(struct regex_work *work, size_t n_bytes)
{
    int64_t n = (int64_t)n_bytes, n_early = min_i64(n, EARLY_BYTES);
    work->n_steps_left =
        STEPS_BASE + STEPS_PER_BYTE * n_early + STEPS_PER_LATER_BYTE * (n - n_early);
    work->is_spent = false;
}

/* Returns the code point at a place of valid text, and sets its bytes. */
static inline uint32_t code_at(const unsigned char *at, size_t *n)
{
    uint32_t c = at[0];
    if (c < 0x80) {
        *n = 1;
        return c;
    }
    if (c < 0xE0) {
        *n = 2;
        return (c & 0x1F) << 6 | (at[1] & 0x3Fu);
    }
    if (c < 0xF0) {
        *n = 3;
        return (c & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    }
    *n = 4;
    return (c & 0x07) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
}

static inline bool has_code(const struct regex_set *set, uint32_t code)
{
    if (code < 128)
        return (set->ascii[code / 64] >> code % 64 & 1) != 0;
    const uint32_t *page = &set->pages[8 * (size_t)set->index[code >> 8]];
    return (page[(code & 255) / 32] >> code % 32 & 1) != 0;
}

/* Returns the bytes of the code point at `at` when it is the op's code or in its set, else 0. */
static inline size_t take_one(const struct matcher *m, const struct regex_op *op, bool is_code,
                              size_t at)
{
    size_t n = 0;
    if (at >= m->n)
        return 0;
    uint32_t code = code_at(m->text + at, &n);
    bool has = is_code ? code == op->value : has_code(m->program->tree.sets[op->value], code);
    return has ? n : 0;
}

/* Returns the start of the code point before `at`, which is not 0. */
static inline size_t step_back(const struct matcher *m, size_t at)
{
    do
        at--;
    while (at > 0 && (m->text[at] & 0xC0) == 0x80);
    return at;
}

static bool is_word_at(const struct matcher *m, size_t at)
{
    size_t n = 0;
    const struct regex_tree *tree = &m->program->tree;
    return at < m->n && has_code(tree->sets[tree->word_set], code_at(m->text + at, &n));
}

static bool holds(const struct matcher *m, enum regex_assert what, size_t at)
{
    bool is_edge;
    switch (what) {
    case REGEX_LINE_BEGIN: /* not behind a line's end that ends the text */
        return at == 0 || (m->text[at - 1] == '\n' && at < m->n);
    case REGEX_LINE_END:
        return at == m->n || m->text[at] == '\n';
    case REGEX_TEXT_BEGIN:
        return at == 0;
    case REGEX_TEXT_END:
        return at == m->n;
    case REGEX_LAST_LINE_END:
        return at == m->n || (at + 1 == m->n && m->text[at] == '\n');
    default:
        is_edge = (at > 0 && is_word_at(m, step_back(m, at))) != is_word_at(m, at);
        return is_edge == (what == REGEX_WORD_EDGE);
    }
}

static bool spend(struct matcher *m, size_t n_steps)
{
    m->work->n_steps_left -= (int64_t)n_steps;
    if (m->work->n_steps_left < 0)
        m->work->is_spent = true;
    return !m->work->is_spent;
}

static void keep_frame(struct matcher *m, const struct regex_frame *frame)
{
    struct regex_work *work = m->work;
    if (work->n_frames == work->capacity) {
        size_t n = work->capacity == 0 ? 256 : 2 * work->capacity, size = sizeof(*frame);
        if (work->capacity >= FRAMES_MAX) {
            work->is_spent = true;
            return;
        }
        work->frames = mem_grow(work->frames, work->capacity * size, n * size);
        work->capacity = n;
    }
    work->frames[work->n_frames++] = *frame;
}

/* Takes a run's code points. Returns false when there are fewer than its minimum. */
static bool take_run(struct matcher *m, const struct regex_op *op, size_t *at)
{
    size_t start = *at, least = *at, n = 0;
    int32_t n_taken = 0, n_most = op->mode == REGEX_LAZY ? op->min : op->max;
    for (; n_taken != n_most && (n = take_one(m, op, op->is_code, *at)) > 0; n_taken++) {
        *at += n;
        if (n_taken + 1 == op->min)
            least = *at;
    }
    if (!spend(m, *at - start) || n_taken < op->min)
        return false;
    uint32_t index = (uint32_t)(op - m->program->ops);
    if (op->mode == REGEX_GREEDY && *at > least)
        keep_frame(m, &(struct regex_frame){ index, FRAME_GREEDY, *at, least });
    else if (op->mode == REGEX_LAZY && op->max != n_taken)
        keep_frame(m, &(struct regex_frame){ index, FRAME_LAZY, *at, (size_t)n_taken });
    return true;
}

static bool may_begin(const struct matcher *m, const struct regex_first *first, size_t at)
{
    if (first->takes_nothing)
        return true;
    return at < m->n && (first->bytes[m->text[at] / 64] >> m->text[at] % 64 & 1) != 0;
}

/* Chooses the way of a split. Returns false when both fail at once. */
static bool take_split(struct matcher *m, const struct regex_op *op, size_t at, uint32_t *next)
{
    const struct regex_first *first = &m->program->firsts[op->first];
    bool may_a = may_begin(m, &first[0], at), may_b = may_begin(m, &first[1], at);
    if (may_a && may_b)
        keep_frame(m, &(struct regex_frame){ op->b, FRAME_WAY, at, 0 });
    *next = may_a ? op->a : op->b;
    return may_a || may_b;
}

static bool run(struct matcher *m, uint32_t index, size_t at, size_t *end);

/* Runs the inside of a LOOK or an ATOMIC. */
static bool take_inside(struct matcher *m, const struct regex_op *op, size_t *at)
{
    size_t end = *at;
    if (m->depth == RUNS_DEPTH_MAX) { /* groups of a pattern are nested less deep */
        m->work->is_spent = true;
        return false;
    }
    m->depth++;
    bool is_matched = run(m, (uint32_t)(op - m->program->ops) + 1, *at, &end);
    m->depth--;
    if (op->kind == REGEX_OP_ATOMIC)
        *at = end;
    return is_matched != op->is_negative;
}

static bool take_back(const struct matcher *m, uint32_t n, size_t *at)
{
    for (; n > 0 && *at > 0; n--)
        *at = step_back(m, *at);
    return n == 0;
}

/* Goes back to the last choice of this run. Returns false when there is none. */
static bool go_back(struct matcher *m, size_t base, uint32_t *index, size_t *at)
{
    struct regex_work *work = m->work;
    while (work->n_frames > base && !work->is_spent) {
        struct regex_frame *frame = &work->frames[work->n_frames - 1];
        const struct regex_op *op = &m->program->ops[frame->op];
        size_t n = 0;
        *index = frame->op + (frame->kind != FRAME_WAY);
        *at = frame->at;
        if (frame->kind == FRAME_GREEDY) {
            *at = frame->at = step_back(m, frame->at);
            work->n_frames -= *at == frame->least;
            return true;
        }
        if (frame->kind == FRAME_WAY) {
            work->n_frames--;
            return true;
        }
        n = take_one(m, op, op->is_code, *at);
        *at = frame->at += n;
        frame->least++;
        work->n_frames -= n == 0 || (int32_t)frame->least == op->max;
        if (n > 0)
            return true;
    }
    return false;
}

/* Runs from an op at a place of the text to an END, and sets its place. */
static bool run(struct matcher *m, uint32_t index, size_t at, size_t *end)
{
    size_t base = m->work->n_frames, n = 0;
    for (;;) {
        const struct regex_op *op = &m->program->ops[index++];
        bool is_ok = spend(m, 1);
        switch (is_ok ? op->kind : REGEX_OP_JUMP) {
        case REGEX_OP_CODE:
        case REGEX_OP_SET:
            n = take_one(m, op, op->kind == REGEX_OP_CODE, at);
            at += n;
            is_ok = n > 0;
            break;
        case REGEX_OP_RUN:
            is_ok = take_run(m, op, &at);
            break;
        case REGEX_OP_SPLIT:
            is_ok = take_split(m, op, at, &index);
            break;
        case REGEX_OP_JUMP:
            index = op->a;
            break;
        case REGEX_OP_LOOK:
        case REGEX_OP_ATOMIC:
            is_ok = take_inside(m, op, &at);
            index = op->a;
            break;
        case REGEX_OP_BACK:
            is_ok = spend(m, op->value) && take_back(m, op->value, &at);
            break;
        case REGEX_OP_ASSERT:
            is_ok = holds(m, (enum regex_assert)op->value, at);
            break;
        default:
            *end = at;
            m->work->n_frames = base;
            return true;
        }
        if (!is_ok && !go_back(m, base, &index, &at)) {
            m->work->n_frames = base;
            return false;
        }
    }
}

void regex_walk_begin(struct regex_walk *walk, const struct regex *regex, struct regex_work *work,
                      struct view text)
{
    *walk = (struct regex_walk){ .regex = regex, .work = work, .text = text, .last_end = SIZE_MAX };
}

static size_t after_code(struct view text, size_t at)
{
    do
        at++;
    while (at < text.n && ((unsigned char)text.at[at] & 0xC0) == 0x80);
    return at;
}

static bool find_match(const struct regex_walk *walk, size_t bounds[2])
{
    const struct regex_program *program = walk->regex->program;
    struct matcher m = { .program = program,
                         .work = walk->work,
                         .text = (const unsigned char *)walk->text.at,
                         .n = walk->text.n };
    m.work->n_frames = 0;
    for (size_t at = walk->from; at <= m.n; at = after_code(walk->text, at)) {
        if (!spend(&m, 1))
            return false;
        if (!may_begin(&m, &program->firsts[0], at) || !run(&m, 0, at, &bounds[1]))
            continue;
        bounds[0] = at;
        return !m.work->is_spent;
    }
    return false;
}

bool regex_walk_next(struct regex_walk *walk, size_t bounds[2])
{
    while (walk->from <= walk->text.n && find_match(walk, bounds)) {
        if (bounds[0] != bounds[1] || bounds[1] != walk->last_end) {
            walk->from = walk->last_end = bounds[1];
            return true;
        }
        walk->from = after_code(walk->text, walk->from);
    }
    walk->from = walk->text.n + 1;
    return false;
}
