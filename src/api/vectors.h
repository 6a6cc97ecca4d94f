/* The vector of a choice's text, as it comes from the service, and in the form that is shown. */
#pragma once
#include "api/call_state.h"

enum api_vectors {
    API_VECTORS_TAKEN,
    API_VECTORS_LOST,    /* some floats are missing, or they are not those of the model */
    API_VECTORS_STARVED, /* there is no memory */
};
enum api_vectors api_vectors_take(struct api_choice *choice, const struct service_event *event,
                                  const void *payload);
/* Returns whether some floats are missing, which all come ahead of the end. */
bool api_vectors_lack(const struct api_choice *choice);
/* Cuts the vector to n floats (0: all of them), and makes its length 1 if that is wanted. Returns
 * how many floats it has. A vector of zeros stays as it is. */
int32_t api_vectors_finish(float *vector, int32_t n_all, int32_t n, bool normalizes);
/* Returns the cosine of two vectors; 0 if one of them is zero. */
double api_vectors_cosine(const float *a, const float *b, int32_t n);
/* Appends the floats as base64 of their bytes, the least significant first. */
void api_vectors_base64(const float *vector, int32_t n, struct str *out);
