/* Walking the double array.
 *
 * A unit has the byte that leads to it, a flag for the end of a text, and the offset of its
 * children. The value of a text is the child of byte 0. All offsets are checked when a map is
 * opened, as sentencepiece checks them. The depth is checked too, so that a walk takes a bounded
 * time. */
#include "text/charsmap.h"
#include "base/mem.h"
#include <string.h>

enum {
    BLOB_BYTES_MAX = 32 << 20,
    DEPTH_MAX = 256,   /* bytes of a text in the map */
    MATCHES_MAX = 32,  /* sentencepiece reads no more texts with the same beginning */
    PAGE_BYTES = 1024, /* 256 units: the trie's length is a multiple */
    IN_PROGRESS = DEPTH_MAX + 1,
};

/* Returns the byte that leads to a unit; above 255 for a unit that holds a value. */
static uint32_t label_of(uint32_t unit)
{
    return unit & (1u << 31 | 0xFF);
}

static bool has_leaf(uint32_t unit)
{
    return (unit >> 8 & 1) != 0;
}

static uint32_t value_of(uint32_t unit)
{
    return unit & ((1u << 31) - 1);
}

static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

static bool is_inside(const struct charsmap *map, size_t at)
{
    return ((at ^ offset_of(map->units[at])) | 0xFF) < map->n_units;
}

static bool has_good_offsets(const struct charsmap *map)
{
    uint32_t root = map->units[0];
    if (label_of(root) != 0 || has_leaf(root) || offset_of(root) == 0 || !is_inside(map, 0))
        return false;
    for (size_t i = 1; i < map->n_units; i++) {
        uint32_t unit = map->units[i];
        if (label_of(unit) > 0xFF) {
            if (value_of(unit) >= map->n_texts)
                return false;
        } else if (!is_inside(map, i) ||
                   (has_leaf(unit) && label_of(map->units[i ^ offset_of(unit)]) <= 0xFF)) {
            return false;
        }
    }
    return true;
}

/* Returns the bytes of the longest way down from a unit. The result is above DEPTH_MAX when there
 * are more, or when the way is circular. heights holds the known results plus 1. */
static int32_t height_of(const struct charsmap *map, size_t at, uint16_t *heights, int32_t depth)
{
    if (heights[at] != 0)
        return heights[at] - 1;
    if (depth > DEPTH_MAX)
        return IN_PROGRESS;
    heights[at] = IN_PROGRESS + 1;
    int32_t height = 0;
    size_t base = at ^ offset_of(map->units[at]);
    for (uint32_t c = 1; c < 256 && height <= DEPTH_MAX; c++)
        if (label_of(map->units[base ^ c]) == c)
            height = max_i32(height, height_of(map, base ^ c, heights, depth + 1) + 1);
    height = min_i32(height, IN_PROGRESS);
    heights[at] = (uint16_t)(height + 1);
    return height;
}

static bool is_shallow(const struct charsmap *map)
{
    uint16_t *heights = mem_take(map->n_units * sizeof(*heights));
    int32_t height = height_of(map, 0, heights, 0);
    mem_give(heights);
    return height <= DEPTH_MAX;
}

static enum status refuse(struct fault *fault, const char *what)
{
    return fault_set(fault, STATUS_BAD_INPUT, "tokenizer: the precompiled character map %s", what);
}

enum status charsmap_open(struct charsmap *map, struct view blob, struct fault *fault)
{
    *map = (struct charsmap){ 0 };
    uint32_t n_bytes = 0;
    if (blob.n == 0)
        return STATUS_OK;
    if (blob.n > BLOB_BYTES_MAX)
        return refuse(fault, "is longer than 32 MiB");
    for (size_t i = 0; i < 4 && blob.n > 4; i++)
        n_bytes |= (uint32_t)(unsigned char)blob.at[i] << 8 * i;
    if (n_bytes < PAGE_BYTES || n_bytes % PAGE_BYTES != 0 || n_bytes >= blob.n - 4 ||
        blob.at[blob.n - 1] != '\0')
        return refuse(fault, "is malformed: its parts have the wrong lengths");
    map->n_units = n_bytes / 4;
    map->n_texts = blob.n - 4 - n_bytes;
    map->units = mem_take(n_bytes);
    map->texts = mem_take(map->n_texts);
    memcpy(map->texts, blob.at + 4 + n_bytes, map->n_texts);
    for (size_t i = 0; i < n_bytes; i++)
        map->units[i / 4] |= (uint32_t)(unsigned char)blob.at[4 + i] << i % 4 * 8;
    enum status status = STATUS_OK;
    if (!has_good_offsets(map))
        status = refuse(fault, "is malformed: its trie points outside of itself");
    else if (!is_shallow(map))
        status = refuse(fault, "has texts of more than 256 bytes");
    if (status != STATUS_OK)
        charsmap_close(map);
    return status;
}

void charsmap_close(struct charsmap *map)
{
    mem_give(map->units);
    mem_give(map->texts);
    *map = (struct charsmap){ 0 };
}

static size_t find(const struct charsmap *map, struct view text, int n_matches_max,
                   struct view *replacement)
{
    if (map->n_units == 0)
        return 0;
    size_t at = offset_of(map->units[0]), n = 0;
    uint32_t value = 0;
    for (size_t i = 0; i < text.n && n_matches_max > 0; i++) {
        uint32_t byte = (unsigned char)text.at[i];
        at ^= byte;
        uint32_t unit = map->units[at];
        if (byte == 0 || label_of(unit) != byte)
            break;
        at ^= offset_of(unit);
        if (!has_leaf(unit))
            continue;
        value = value_of(map->units[at]);
        n = i + 1;
        n_matches_max--;
    }
    if (n > 0)
        *replacement = view_of(map->texts + value, strlen(map->texts + value));
    return n;
}

size_t charsmap_longest(const struct charsmap *map, struct view text, struct view *replacement)
{
    return find(map, text, MATCHES_MAX, replacement);
}

size_t charsmap_shortest(const struct charsmap *map, struct view text, struct view *replacement)
{
    return find(map, text, 1, replacement);
}

size_t charsmap_growth(const struct charsmap *map)
{
    size_t longest = 1;
    for (size_t i = 0, n; i < map->n_texts; i += n + 1) {
        n = strlen(map->texts + i);
        longest = n > longest ? n : longest;
    }
    return longest;
}
