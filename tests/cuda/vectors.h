/* Register dumps: what each function of cuda/ptx.cuh computes from seeded inputs, in a file.
 *
 *   file     "SHOALPTX" | u32 version | u32 n_records | chip, char[64] | records
 *   record   name, char[32] | u32 n_cases, n_in, n_out | in (n_cases, 32, n_in) u32 |
 *            out (n_cases, 32, n_out) u32
 *
 * A case is one warp, and a row of it is one lane. A file that a GPU wrote checks the twins of the
 * emulator, and the other way round. */
#pragma once
#include <stdbool.h>

/* Runs every function on this device, and writes the file. False: a sentence stands on stderr. */
bool vectors_write(const char *path, const char *chip);
/* Runs every function on the file's inputs, and compares the outputs. Integers and moved bits are
 * equal; sums of floats are within a stated bound. Prints a line for each function. Returns how
 * many words are wrong; -1: this is no such file. */
long vectors_compare(const char *path);
