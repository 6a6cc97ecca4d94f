/* shoal repro: its options. */
#include "base/base.h"
#include "base/flags.h"
#include "cmd/verbs.h"
#include "papers/papers.h"

int verbs_repro(int argc, char **argv)
{
    struct papers_options o = { .folder = "repro", .n_seeds = 3 };
    const struct flags_row rows[] = {
        { "out", "FOLDER", FLAGS_TEXT, &o.folder, 0, 0, "where records go: repro", NULL },
        { "seeds", "N", FLAGS_I64, &o.n_seeds, 1, 1000, "runs of each setting: 3", NULL },
        { "quick", NULL, FLAGS_SWITCH, &o.is_quick, 0, 0, "shorter runs", NULL },
        { "swap", "A,B", FLAGS_TEXT, &o.swap, 0, 0, "run policy A for B and B for A", NULL },
        { "kv", "KIND", FLAGS_TEXT, &o.kv, 0, 0,
          "KV pools of every run, merged, head-wise or private: the presets'", NULL },
        { "json", NULL, FLAGS_SWITCH, &o.is_json, 0, 0, "print JSON, a line a claim", NULL },
    };
    const struct flags flags = { "Reruns the papers' claims; without a name it lists them.",
                                 "[CLAIM | PAPER | all]",
                                 rows,
                                 (int)COUNT_OF(rows),
                                 0,
                                 1 };
    const char *plain[1] = { NULL };
    int n_plain;
    if (!flags_parse(&flags, argc, argv, plain, &n_plain))
        return 2;
    if (n_plain > 0)
        return papers_run(&o, plain[0]);
    papers_list(o.is_json);
    return 0;
}
