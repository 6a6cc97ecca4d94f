/* Bytes written as printable letters, the alphabet of byte-level vocabularies. */
#pragma once
#include "base/str.h"

enum { TEXT_LETTERS_MAX = 256 + 68 }; /* all letters of the alphabet are below it */
/* Returns the letter of a byte, a character below TEXT_LETTERS_MAX. */
uint32_t text_bytes_letter(unsigned char byte);
/* Returns the byte of a letter, -1 when the character is not in the alphabet. */
int text_bytes_byte(uint32_t letter);
/* Appends the letters of bytes, in UTF-8. */
void text_bytes_spell(struct view bytes, struct str *out);
/* Appends the bytes of letters. Returns false, and appends nothing, when one is not in the
 * alphabet. */
bool text_bytes_read(struct view letters, struct str *out);
/* Returns 10 for "<0x0A>", -1 for a token of another form. */
int text_bytes_named(struct view token);
/* Appends text with U+FFFD for each byte that is not UTF-8. */
void text_bytes_mend(struct view text, struct str *out);
