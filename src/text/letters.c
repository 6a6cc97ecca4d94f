/* Widening \p{L} and \p{N} of a split pattern: a class gets the newer ranges as members, outside of
 * a class the property becomes one. Other properties (\p{Lu}, \p{M}, \p{P}, \p{S}) stay as PCRE2
 * knows them. The ranges are those of the Unicode Character Database 15.0 to 16.0. */
#include "text/letters.h"
#include <string.h>

#define RANGE(from, to) "\\x{" #from "}-\\x{" #to "}"

static const char newer_letters[] = RANGE(1C89, 1C8A) RANGE(A7CB, A7CD) RANGE(A7DA, A7DC)
    RANGE(105C0, 105F3) RANGE(10D4A, 10D65) RANGE(10D6F, 10D85) RANGE(10EC2, 10EC4)
        RANGE(1123F, 11240) RANGE(11380, 11389) RANGE(1138B, 1138B) RANGE(1138E, 1138E)
            RANGE(11390, 113B5) RANGE(113B7, 113B7) RANGE(113D1, 113D1) RANGE(113D3, 113D3)
                RANGE(11BC0, 11BE0) RANGE(11F02, 11F02) RANGE(11F04, 11F10) RANGE(11F12, 11F33)
                    RANGE(1342F, 1342F) RANGE(13441, 13446) RANGE(13460, 143FA) RANGE(16100, 1611D)
                        RANGE(16D40, 16D6C) RANGE(18CFF, 18CFF) RANGE(1B132, 1B132)
                            RANGE(1B155, 1B155) RANGE(1DF25, 1DF2A) RANGE(1E030, 1E06D)
                                RANGE(1E4D0, 1E4EB) RANGE(1E5D0, 1E5ED) RANGE(1E5F0, 1E5F0)
                                    RANGE(2B739, 2B739) RANGE(2EBF0, 2EE5D) RANGE(31350, 323AF);
static const char newer_numbers[] = RANGE(10D40, 10D49) RANGE(116D0, 116E3) RANGE(11BF0, 11BF9)
    RANGE(11F50, 11F59) RANGE(16130, 16139) RANGE(16D70, 16D79) RANGE(1CCF0, 1CCF9)
        RANGE(1D2C0, 1D2D3) RANGE(1E4F0, 1E4F9) RANGE(1E5F1, 1E5FA);

void text_letters_widen(const char *pattern, struct str *out)
{
    bool in_class = false;
    for (const char *at = pattern; *at != '\0';) {
        bool is_letters = strncmp(at, "\\p{L}", 5) == 0;
        if (is_letters || strncmp(at, "\\p{N}", 5) == 0) {
            str_add_text(out, in_class ? "" : "[");
            str_add(out, at, 5);
            str_add_text(out, is_letters ? newer_letters : newer_numbers);
            str_add_text(out, in_class ? "" : "]");
            at += 5;
            continue;
        }
        size_t n = *at == '\\' && at[1] != '\0' ? 2 : 1;
        if (n == 1 && !in_class && *at == '[') {
            in_class = true;
            n += at[1] == '^';
            n += at[n] == ']'; /* a member when it comes first */
        } else if (n == 1 && *at == ']') {
            in_class = false;
        }
        str_add(out, at, n);
        at += n;
    }
}
