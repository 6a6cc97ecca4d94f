/* Presets: a named row of policies, after ALGORITHMS.md section 9.4. */
#pragma once

struct preset {
    const char *name, *summary;
    const char *policy, *router;
};
const struct preset *preset_find(const char *name);
const char *preset_names(void); /* "default, seallm, ..." */
