/* GPT-2 prints the bytes 33..126, 161..172 and 174..255 as themselves and the 68 others, in order,
 * as U+0100 and following. */
#include "text/bytes.h"
#include <string.h>

uint32_t text_bytes_letter(unsigned char byte)
{
    if (byte <= 32)
        return 256u + byte;
    if (byte >= 127 && byte <= 160)
        return 256u + 33 + byte - 127;
    return byte == 173 ? 256u + 67 : byte;
}

int text_bytes_byte(uint32_t letter)
{
    if ((letter >= 33 && letter <= 126) || (letter >= 161 && letter <= 255 && letter != 173))
        return (int)letter;
    if (letter < 256 || letter >= TEXT_LETTERS_MAX)
        return -1;
    uint32_t nth = letter - 256;
    if (nth <= 32)
        return (int)nth;
    return nth < 67 ? (int)(127 + nth - 33) : 173;
}

void text_bytes_spell(struct view bytes, struct str *out)
{
    char letters[512];
    size_t n = 0;
    for (size_t i = 0; i < bytes.n; i++) {
        uint32_t letter = text_bytes_letter((unsigned char)bytes.at[i]);
        if (letter < 0x80) {
            letters[n++] = (char)letter;
        } else {
            letters[n++] = (char)(0xC0 | letter >> 6);
            letters[n++] = (char)(0x80 | (letter & 0x3F));
        }
        if (n > sizeof(letters) - 2) {
            str_add(out, letters, n);
            n = 0;
        }
    }
    str_add(out, letters, n);
}

bool text_bytes_read(struct view letters, struct str *out)
{
    size_t start = out->n;
    for (size_t i = 0; i < letters.n;) {
        uint32_t letter = 0;
        int step = utf8_decode(view_of(letters.at + i, letters.n - i), &letter);
        int byte = step > 0 ? text_bytes_byte(letter) : -1;
        if (byte < 0) {
            out->n = start;
            if (out->at != NULL)
                out->at[start] = '\0';
            return false;
        }
        str_add_char(out, (char)byte);
        i += (size_t)step;
    }
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int text_bytes_named(struct view token)
{
    if (token.n != 6 || memcmp(token.at, "<0x", 3) != 0 || token.at[5] != '>')
        return -1;
    int high = hex_digit(token.at[3]), low = hex_digit(token.at[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void text_bytes_mend(struct view text, struct str *out)
{
    size_t start = 0;
    for (size_t i = 0; i < text.n;) {
        int n = utf8_decode(view_of(text.at + i, text.n - i), NULL);
        if (n <= 0) {
            str_add(out, text.at + start, i - start);
            str_add_text(out, "\xEF\xBF\xBD");
            start = i + 1;
        }
        i += n > 0 ? (size_t)n : 1;
    }
    str_add(out, text.at + start, text.n - start);
}
