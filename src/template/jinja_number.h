/* Numbers: literals, Python's int(text) and float(text), and how a float is written. */
#pragma once
#include "template/jinja_token.h"

/* Puts the value of the number at the start of rest into the token. Returns its bytes. */
size_t jinja_number_literal(struct jinja_run *run, struct view rest, bool allows_float,
                            bool *is_float, struct jinja_token *token);

enum jinja_number { JINJA_NUMBER_GOOD, JINJA_NUMBER_BAD, JINJA_NUMBER_LARGE };
/* Does Python's int(text, base). LARGE means more than 64 bits. */
enum jinja_number jinja_number_int(struct view text, int64_t base, int64_t *out);
/* Does Python's float(text). */
enum jinja_number jinja_number_real(struct view text, double *out);
/* Writes a float as repr does. as_json writes NaN and Infinity as json.dumps does. */
void jinja_number_print(double f, bool as_json, struct str *out);
/* Returns whether a float holds a whole number of 64 bits, and sets *out to it. */
bool jinja_number_whole(double f, int64_t *out);
/* Compares a with b exactly: -1, 0, 1. b must be finite. */
int jinja_number_compare(int64_t a, double b);
