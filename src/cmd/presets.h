/* Presets: a named row of policies, after ALGORITHMS.md section 9.4. */
#pragma once

struct preset {
    const char *name, *summary;
    const char *policy, *router;
};
const struct preset *presets_all(int *n);
const struct preset *presets_find(const char *name);
const char *presets_names(void); /* "default, seallm, ..." */
