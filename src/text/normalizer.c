/* Normalizers run one after another, each from one buffer into another.
 *
 * The library maps every byte of a normalized text to the characters of the source that it stands
 * for. Ids depend on that map in one way only: does a piece stand for the source's start? Since the
 * map is monotone, a count of bytes (n_first) answers this. */
#include "text/normalizer.h"
#include "text/bytes.h"
#include "base/mem.h"
#include "base/pile.h"
#include <string.h>

enum {
    CLUSTER_BYTES = 6,      /* shorter clusters are looked up as a whole */
    GROWTH_COMPATIBLE = 11, /* U+FDFA: 3 bytes become 33 */
    GROWTH_DECOMPOSED = 3,  /* U+0390: 2 bytes become 6 */
    TEXT_BYTES_MAX = INT32_MAX / 4,
};

static size_t growth_of(const struct tokenizer_step *step)
{
    switch (step->kind) {
    case STEP_NFC:
    case STEP_NFD:
    case STEP_BYTE_LEVEL:
        return GROWTH_DECOMPOSED;
    case STEP_NFKC:
    case STEP_NFKD:
        return GROWTH_COMPATIBLE;
    case STEP_LOWERCASE:
        return 2;
    case STEP_REPLACE:
        if (!step->is_regex && step->pattern.n > 0)
            return 1 + step->content.n / step->pattern.n;
        return 1 + 2 * step->content.n;
    case STEP_PREPEND:
        return 1 + step->content.n;
    case STEP_BERT:
        return (step->spaces_chinese ? 2 : 1) * (step->strips_accents ? 3u : 1u) * 2;
    default:
        return 1;
    }
}

static enum status open_step(struct normalizer_step *to, const struct tokenizer_step *step,
                             struct pile *pile, struct fault *fault)
{
    to->step = *step;
    to->step.pattern.at = pile_text(pile, step->pattern.at, step->pattern.n);
    to->step.content.at = pile_text(pile, step->content.at, step->content.n);
    if (step->kind == STEP_CHARSMAP)
        return charsmap_open(&to->charsmap, step->content, fault);
    if (step->kind != STEP_REPLACE)
        return STATUS_OK;
    enum status status = step->is_regex ? regex_open(&to->regex, to->step.pattern, fault)
                                        : regex_open_text(&to->regex, to->step.pattern, fault);
    /* In that case the library would miscount the text that it has put before a text. */
    if (status == STATUS_OK && regex_may_be_empty(&to->regex))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "tokenizer: the normalizer Replace with the pattern \"%.60s\", which may "
                         "match nothing, is not supported",
                         to->step.pattern.at);
    return status;
}

enum status normalizer_open(struct normalizer *normalizer, const struct tokenizer_step *steps,
                            int32_t n_steps, struct pile *pile, struct fault *fault)
{
    *normalizer = (struct normalizer){ .growth = 1 };
    CHECK(n_steps >= 0 && n_steps <= TOKENIZER_STEPS_MAX);
    for (int32_t i = 0; i < n_steps; i++) {
        normalizer->n_steps++;
        enum status status = open_step(&normalizer->steps[i], &steps[i], pile, fault);
        if (status != STATUS_OK)
            return status;
        size_t growth = steps[i].kind == STEP_CHARSMAP
                            ? charsmap_growth(&normalizer->steps[i].charsmap)
                            : growth_of(&steps[i]);
        normalizer->growth = normalizer->growth > TEXT_BYTES_MAX / growth
                                 ? TEXT_BYTES_MAX
                                 : normalizer->growth * growth;
    }
    return STATUS_OK;
}

void normalizer_close(struct normalizer *normalizer)
{
    for (int32_t i = 0; i < normalizer->n_steps; i++) {
        regex_close(&normalizer->steps[i].regex);
        charsmap_close(&normalizer->steps[i].charsmap);
    }
    *normalizer = (struct normalizer){ 0 };
}

void normalizer_work_init(struct normalizer_work *work, struct regex_work *regex)
{
    *work = (struct normalizer_work){ .regex = regex };
    str_init(&work->text);
    str_init(&work->next);
}

void normalizer_work_free(struct normalizer_work *work)
{
    str_free(&work->text);
    str_free(&work->next);
    unicode_changes_free(&work->changes);
}

static struct view current(const struct normalizer_work *work)
{
    return view_of(work->text.at != NULL ? work->text.at : "", work->text.n);
}

/* Writes bytes of the next text. is_first: they stand for the source's first character. */
static void put(struct normalizer_work *work, struct view bytes, bool is_first)
{
    if (work->next.n + bytes.n > TEXT_BYTES_MAX) {
        work->is_too_long = true;
        return;
    }
    str_add(&work->next, bytes.at, bytes.n);
    if (is_first)
        work->n_next_first = work->next.n;
}

static void put_letter(struct normalizer_work *work, uint32_t c, bool is_first)
{
    char letter[4];
    put(work, view_of(letter, (size_t)utf8_encode(c, letter)), is_first);
}

/* Makes the next text the current one. */
static void turn(struct normalizer_work *work)
{
    struct str done = work->text;
    work->text = work->next;
    work->n_first = work->n_next_first;
    work->next = done;
    work->n_next_first = 0;
    str_clear(&work->next);
}

static bool is_ascii(struct view text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] >= 0x80)
            return false;
    return true;
}

/* Returns the bytes of the letter at `at`. */
static size_t letter_bytes(struct view text, size_t at)
{
    unsigned char c = (unsigned char)text.at[at];
    return c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* Writes the characters of work->changes over the current text. */
static void apply_changes(struct normalizer_work *work)
{
    struct view from = current(work);
    size_t at = 0;
    for (size_t i = 0; i < work->changes.n; i++) {
        struct unicode_change change = work->changes.at[i];
        size_t source = change.change > 0 && at > 0 ? at - 1 : at;
        bool is_first = source < work->n_first;
        for (int32_t k = change.change; k <= 0 && at < from.n; k++)
            at += letter_bytes(from, at);
        put_letter(work, change.c, is_first);
    }
    turn(work);
}

static void normalize_form(struct normalizer_work *work, unsigned form)
{
    if (is_ascii(current(work)))
        return;
    work->changes.n = 0;
    unicode_normalize(current(work), form, &work->changes);
    apply_changes(work);
}

/* Writes the characters that a step makes of c, when the step handles one character at a time.
 * Returns false for none. */
typedef bool (*letter_step)(uint32_t c, uint32_t out[3], int *n);

static void each_letter(struct normalizer_work *work, letter_step step)
{
    struct view from = current(work);
    for (size_t i = 0; i < from.n;) {
        uint32_t c = 0, out[3];
        int n_bytes = utf8_decode(view_of(from.at + i, from.n - i), &c), n = 1;
        CHECK(n_bytes > 0);
        if (step(c, out, &n))
            for (int k = 0; k < n; k++)
                put_letter(work, out[k], i < work->n_first);
        i += (size_t)n_bytes;
    }
    turn(work);
}

static bool lower(uint32_t c, uint32_t out[3], int *n)
{
    *n = unicode_lower(c, out);
    return true;
}

static bool strip_combining(uint32_t c, uint32_t out[3], int *n)
{
    (void)n;
    out[0] = c;
    return !unicode_is(UNICODE_COMBINING, c);
}

static bool strip_nonspacing(uint32_t c, uint32_t out[3], int *n)
{
    (void)n;
    out[0] = c;
    return !unicode_is(UNICODE_NONSPACING, c);
}

static bool clean(uint32_t c, uint32_t out[3], int *n)
{
    (void)n;
    out[0] = utf8_is_space(c) ? ' ' : c;
    return c != 0 && c != 0xFFFD && !unicode_is(UNICODE_CONTROL, c);
}

static bool space_chinese(uint32_t c, uint32_t out[3], int *n)
{
    bool is_chinese = (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
                      (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
                      (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
                      (c >= 0x2F800 && c <= 0x2FA1F);
    *n = is_chinese ? 3 : 1;
    out[0] = is_chinese ? ' ' : c;
    out[1] = c;
    out[2] = ' ';
    return true;
}

static bool nmt(uint32_t c, uint32_t out[3], int *n)
{
    (void)n;
    bool is_space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 ||
                    (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                    c == 0xFEFF || c == 0xFFFD;
    out[0] = is_space ? ' ' : c;
    return is_space || !((c >= 1 && c <= 8) || c == 11 || (c >= 14 && c <= 31) || c == 0x7F ||
                         c == 0x8F || c == 0x9F);
}

static void bert(struct normalizer_work *work, const struct tokenizer_step *step)
{
    if (step->cleans_text)
        each_letter(work, clean);
    if (step->spaces_chinese)
        each_letter(work, space_chinese);
    if (step->strips_accents) {
        normalize_form(work, 0);
        each_letter(work, strip_nonspacing);
    }
    if (step->lowercases)
        each_letter(work, lower);
}

static bool is_space_at(struct view text, size_t at)
{
    uint32_t c = 0;
    return utf8_decode(view_of(text.at + at, text.n - at), &c) > 0 && utf8_is_space(c);
}

static void strip_spaces(struct normalizer_work *work, bool left, bool right)
{
    struct view from = current(work);
    size_t start = 0, end = from.n;
    while (left && start < end && is_space_at(from, start))
        start += letter_bytes(from, start);
    while (right && end > start) {
        size_t at = end - 1;
        while (at > start && ((unsigned char)from.at[at] & 0xC0) == 0x80)
            at--;
        if (!is_space_at(from, at))
            break;
        end = at;
    }
    size_t n_first = work->n_first > start ? work->n_first - start : 0;
    put(work, view_of(from.at + start, end - start), false);
    work->n_next_first = n_first < end - start ? n_first : end - start;
    turn(work);
}

static void prepend(struct normalizer_work *work, struct view content)
{
    struct view from = current(work);
    if (from.n == 0)
        return;
    bool is_first = work->n_first > 0;
    put(work, content, is_first);
    put(work, view_of(from.at, work->n_first), is_first);
    put(work, view_of(from.at + work->n_first, from.n - work->n_first), false);
    turn(work);
}

/* Copies the text between two matches. */
static void keep(struct normalizer_work *work, size_t start, size_t end)
{
    struct view from = current(work);
    size_t split = work->n_first < start ? start : work->n_first < end ? work->n_first : end;
    if (split > start)
        put(work, view_of(from.at + start, split - start), true);
    put(work, view_of(from.at + split, end - split), false);
}

/* Writes the replacement of a match. It stands for the last character of the match. */
static void put_content(struct normalizer_work *work, struct view content, size_t match_end)
{
    if (content.n > 0)
        put(work, content, match_end - 1 < work->n_first);
}

static void replace(struct normalizer_work *work, const struct normalizer_step *step)
{
    struct view from = current(work);
    struct regex_walk walk;
    size_t kept = 0, bounds[2];
    if (from.n == 0)
        return;
    regex_walk_begin(&walk, &step->regex, work->regex, from);
    while (regex_walk_next(&walk, bounds)) {
        keep(work, kept, bounds[0]);
        kept = bounds[1];
        put_content(work, step->step.content, kept);
    }
    keep(work, kept, from.n);
    turn(work);
}

static void spell(struct normalizer_work *work)
{
    struct view from = current(work);
    text_bytes_spell(view_of(from.at, work->n_first), &work->next);
    work->n_next_first = work->next.n;
    text_bytes_spell(view_of(from.at + work->n_first, from.n - work->n_first), &work->next);
    turn(work);
}

/* Adds the replacement of a text of n_old characters. The last ones carry the difference. */
static void add_replaced(struct unicode_changes *changes, struct view with, size_t n_old)
{
    size_t n_new = 0;
    for (size_t i = 0; i < with.n; i += letter_bytes(with, i)) {
        uint32_t c = 0;
        if (utf8_decode(view_of(with.at + i, with.n - i), &c) <= 0)
            c = 0xFFFD;
        unicode_changes_add(changes, c, 0);
        n_new++;
    }
    for (size_t i = n_old; i < n_new; i++)
        changes->at[changes->n - 1 - (i - n_old)].change = 1;
    if (n_new < n_old && changes->n > 0)
        changes->at[changes->n - 1].change -= (int32_t)(n_old - n_new);
}

/* Maps one cluster: as a whole if it is short and the map has a text that begins it, else character
 * by character. */
static bool map_cluster(struct normalizer_work *work, const struct charsmap *map,
                        struct view cluster, size_t n_letters)
{
    struct view with;
    bool is_changed = false;
    if (cluster.n < CLUSTER_BYTES && charsmap_shortest(map, cluster, &with) > 0) {
        add_replaced(&work->changes, with, n_letters);
        return true;
    }
    for (size_t i = 0, n; i < cluster.n; i += n) {
        uint32_t c = 0;
        n = letter_bytes(cluster, i);
        struct view letter = view_of(cluster.at + i, n);
        if (charsmap_shortest(map, letter, &with) > 0) {
            add_replaced(&work->changes, with, 1);
            is_changed = true;
        } else {
            CHECK(utf8_decode(letter, &c) > 0);
            unicode_changes_add(&work->changes, c, 0);
        }
    }
    return is_changed;
}

static void map_clusters(struct normalizer_work *work, const struct charsmap *map)
{
    struct view from = current(work);
    size_t start = 0, n_letters = 0;
    uint32_t last = 0;
    int32_t state = 0;
    bool is_changed = false;
    work->changes.n = 0;
    for (size_t i = 0; i < from.n;) {
        uint32_t c = 0;
        int n = utf8_decode(view_of(from.at + i, from.n - i), &c);
        CHECK(n > 0);
        if (i > start && !unicode_joins(last, c, &state)) {
            struct view cluster = view_of(from.at + start, i - start);
            is_changed = map_cluster(work, map, cluster, n_letters) || is_changed;
            start = i;
            n_letters = 0;
        }
        n_letters++;
        last = c;
        i += (size_t)n;
    }
    if (from.n > start)
        is_changed = map_cluster(work, map, view_of(from.at + start, from.n - start), n_letters) ||
                     is_changed;
    if (is_changed)
        apply_changes(work);
}

static void run_step(const struct normalizer_step *step, struct normalizer_work *work)
{
    switch (step->step.kind) {
    case STEP_NFC:
        normalize_form(work, UNICODE_COMPOSED);
        break;
    case STEP_NFD:
        normalize_form(work, 0);
        break;
    case STEP_NFKC:
        normalize_form(work, UNICODE_COMPOSED | UNICODE_COMPATIBLE);
        break;
    case STEP_NFKD:
        normalize_form(work, UNICODE_COMPATIBLE);
        break;
    case STEP_LOWERCASE:
        each_letter(work, lower);
        break;
    case STEP_STRIP_SPACES:
        strip_spaces(work, step->step.strips_left, step->step.strips_right);
        break;
    case STEP_STRIP_ACCENTS:
        each_letter(work, strip_combining);
        break;
    case STEP_REPLACE:
        replace(work, step);
        break;
    case STEP_PREPEND:
        prepend(work, step->step.content);
        break;
    case STEP_BERT:
        bert(work, &step->step);
        break;
    case STEP_CHARSMAP:
        map_clusters(work, &step->charsmap);
        break;
    case STEP_NMT:
        each_letter(work, nmt);
        break;
    case STEP_BYTE_LEVEL:
        spell(work);
        break;
    default:
        CHECK(false);
    }
}

void normalizer_run(const struct normalizer *normalizer, struct normalizer_work *work,
                    struct view text)
{
    str_clear(&work->text);
    str_add(&work->text, text.at, text.n < TEXT_BYTES_MAX ? text.n : 0);
    work->is_too_long = work->is_too_long || text.n >= TEXT_BYTES_MAX;
    work->n_first = text.n > 0 ? letter_bytes(text, 0) : 0;
    for (int32_t i = 0; i < normalizer->n_steps; i++)
        run_step(&normalizer->steps[i], work);
}
