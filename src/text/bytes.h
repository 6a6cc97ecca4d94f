/* Bytes written as printable letters, the alphabet of byte-level vocabularies. */
#pragma once
#include "base/str.h"

enum { TEXT_LETTERS_MAX = 256 + 68 }; /* every letter of the alphabet is below it */
/* The letter of a byte, a character below TEXT_LETTERS_MAX. */
uint32_t text_bytes_letter(unsigned char byte);
/* The byte of a letter, -1 when the character is not of the alphabet. */
int text_bytes_byte(uint32_t letter);
/* Appends the letters of bytes, in UTF-8. */
void text_bytes_spell(struct view bytes, struct str *out);
/* Appends the bytes of letters; false, and nothing appended, when one is not of the alphabet. */
bool text_bytes_read(struct view letters, struct str *out);
/* "<0x0A>" -> 10, -1 when a token is not of that form. */
int text_bytes_named(struct view token);
/* Appends text with U+FFFD for each byte that is not UTF-8. */
void text_bytes_mend(struct view text, struct str *out);
