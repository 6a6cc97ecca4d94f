/* shoal bench kernels compares our forward pass with this machine's limits, and with peers. */
#include "roofline/roofline.h"

#include "base/file.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include "cpu/cpu.h"
#include "roofline/busy.h"
#include <stdio.h>
#include <string.h>

enum { MODELS_MAX = 16 };

struct verb_options {
    struct flags_texts models, peers;
    int64_t n_rounds, n_threads, n_generated, n_depth, n_batch, n_tries;
    double others_max;
    bool is_json, no_attention, no_prefill, all_variants;
    const char *html, *out, *variants;
    bool runs_variant[ROOFLINE_VARIANTS];
};

struct run {
    struct verb_options options;
    struct roofline_options kernels;
    struct roofline_machine machine;
    struct roofline_peer peers[ROOFLINE_PEERS];
    struct roofline_model models[MODELS_MAX];
    int n_models;
};

/* Parses the list of --variants. Returns false after printing the sentence. */
static bool parse_variants(struct verb_options *o)
{
    static const char *const names[ROOFLINE_VARIANTS] = { "plain", "flash", "repacked",
                                                          "flash+repacked" };
    const char *at = o->variants != NULL ? o->variants : "plain,flash,repacked,flash+repacked";
    do {
        size_t n = strcspn(at, ",");
        int i = 0;
        while (i < ROOFLINE_VARIANTS && !(strlen(names[i]) == n && strncmp(at, names[i], n) == 0))
            i++;
        if (i == ROOFLINE_VARIANTS) {
            fprintf(stderr, "shoal: --variants: there is no \"%.*s\"\n", (int)n, at);
            return false;
        }
        o->runs_variant[i] = true;
        at += n;
    } while (*at++ == ',');
    return true;
}

static bool parse(struct run *run, int argc, char **argv)
{
    struct verb_options *o = &run->options;
    const struct flags_row rows[] = {
        { "model", "FILE", FLAGS_TEXTS, &o->models, 0, 0, "a model (repeatable)", NULL },
        { "peer", "PATH", FLAGS_TEXTS, &o->peers, 0, 0,
          "a llama-bench of llama.cpp or ik_llama.cpp, with llama-batched-bench beside it "
          "(repeatable)",
          NULL },
        { "rounds", "N", FLAGS_I64, &o->n_rounds, 1, ROOFLINE_ROUNDS,
          "ours and each peer in turn, so often: 3", NULL },
        { "threads", "N", FLAGS_I64, &o->n_threads, 0, 0, "cores: all", NULL },
        { "generate", "N", FLAGS_I64, &o->n_generated, 2, 512, "tokens that a decode makes: 64",
          NULL },
        { "batch", "N", FLAGS_I64, &o->n_batch, 1, 32, "largest batch: 32 (1, 8, 32)", NULL },
        { "depth", "N", FLAGS_I64, &o->n_depth, 0, 1 << 20, "a decode behind this many tokens too",
          NULL },
        { "no-prefill", NULL, FLAGS_SWITCH, &o->no_prefill, 0, 0, "leave prompts out", NULL },
        { "no-attention", NULL, FLAGS_SWITCH, &o->no_attention, 0, 0, "leave attention alone out",
          NULL },
        { "all-variants", NULL, FLAGS_SWITCH, &o->all_variants, 0, 0,
          "every round runs all flags of a peer, not only those that won a row in the first",
          NULL },
        { "variants", "A,B", FLAGS_TEXT, &o->variants, 0, 0,
          "which flags of a peer to try: plain, flash, repacked, flash+repacked; all of them",
          NULL },
        { "others", "CORES", FLAGS_F64, &o->others_max, 0, DEVICE_CORES_MAX,
          "wait for a second in which others use no more, before each round: 0.06", NULL },
        { "tries", "N", FLAGS_I64, &o->n_tries, 0, 1000, "seconds to wait at most: 20", NULL },
        { "html", "FILE", FLAGS_FILE, &o->html, 0, 0, "write a page with the roofline", NULL },
        { "json", NULL, FLAGS_SWITCH, &o->is_json, 0, 0, "print JSON", NULL },
        { "out", "FILE", FLAGS_FILE, &o->out, 0, 0, "write the JSON here, and print the table",
          NULL },
    };
    const struct flags flags = {
        "Times prompts of 512 tokens, decodes of 1, 8 and 32 requests and attention alone, against "
        "the limits of this machine, measured in the same run, and against peers that are "
        "installed. Without a model: the machine's limits. Exit code 0: all was measured; 1: a "
        "peer failed (see the table), or nothing could be measured; 2: wrong arguments.",
        "kernels",
        rows,
        COUNT_OF(rows),
        0,
        0
    };
    const char *plain[1];
    int n_plain;
    *o = (struct verb_options){ .n_rounds = 3,
                                .n_threads = -1,
                                .n_generated = 64,
                                .n_batch = 32,
                                .n_tries = 20,
                                .others_max = 0.06 };
    if (!flags_parse(&flags, argc, argv, plain, &n_plain) || !parse_variants(o))
        return false;
    if (o->models.n <= MODELS_MAX && o->peers.n <= ROOFLINE_PEERS)
        return true;
    fprintf(stderr, "shoal: at most %d models and %d peers\n", MODELS_MAX, ROOFLINE_PEERS);
    return false;
}

/* Waits until others release the machine, or the tries are used up. */
static void wait_for_quiet(const struct verb_options *o)
{
    for (int64_t i = 0; i < o->n_tries; i++) {
        struct busy before = roofline_busy_now();
        time_sleep_ns(TIME_NS_PER_S);
        struct busy after = roofline_busy_now();
        if (roofline_busy_others(&before, &after) <= o->others_max)
            return;
    }
}

/* All variants run in the first round, later only those that are best in some row. */
static bool is_wanted(const struct run *run, const struct roofline_model *model, int peer,
                      int variant, int round)
{
    if (!run->options.runs_variant[variant])
        return false;
    if (round == 0 || run->options.all_variants)
        return true;
    for (int i = 0; i < model->n_rows; i++) {
        int best = -1;
        double rate;
        if (roofline_peer_best(&model->rows[i], peer, &best, &rate) && best == variant)
            return true;
    }
    return false;
}

/* If a peer fails, the others are still measured. */
static void run_peer(struct run *run, struct roofline_model *model, int peer, int round)
{
    for (int v = 0; v < ROOFLINE_VARIANTS; v++) {
        const struct roofline_visit visit = { &run->peers[peer],           &run->kernels, model, v,
                                              run->machine.device.n_cores, peer,          round };
        int n_failed = model->n_failed;
        if (is_wanted(run, model, peer, v, round))
            roofline_peer_round(&visit);
        for (int i = n_failed; i < model->n_failed; i++)
            fprintf(stderr, "shoal: %s: %s\n", model->name, model->failed[i]);
    }
}

static void run_round(struct run *run, struct roofline_meter *meter, struct roofline_model *model,
                      int round)
{
    wait_for_quiet(&run->options);
    roofline_meter_round(meter, model, round);
    for (int i = 0; i < run->options.peers.n; i++)
        run_peer(run, model, i, round);
}

/* Models of one shape have the same attention, so it is measured once. */
static bool is_new_shape(const struct run *run, const struct roofline_model *model)
{
    for (const struct roofline_model *m = run->models; m < model; m++)
        if (m->n_attentions > 0 && memcmp(&m->shape, &model->shape, sizeof(m->shape)) == 0)
            return false;
    return true;
}

static enum status run_model(struct run *run, const char *path, struct fault *fault)
{
    struct roofline_meter *meter;
    struct roofline_model *model = &run->models[run->n_models];
    enum status status =
        roofline_meter_open(&meter, path, &run->machine, &run->kernels, model, fault);
    if (status != STATUS_OK)
        return status;
    run->n_models++;
    for (int round = 0; round < run->options.n_rounds; round++)
        run_round(run, meter, model, round);
    if (run->kernels.has_attention && is_new_shape(run, model))
        roofline_meter_attention(meter, &run->kernels, model);
    roofline_meter_close(meter);
    return STATUS_OK;
}

static enum status open_machine(struct run *run, struct fault *fault)
{
    struct cpu_topology *topology = mem_take(sizeof(*topology));
    struct device_spec *device = &run->machine.device;
    int64_t n = run->options.n_threads;
    enum status status = cpu_topology_read(NULL, topology, fault);
    if (status == STATUS_OK)
        cpu_topology_device(topology, -1, device);
    mem_give(topology);
    if (status != STATUS_OK)
        return status;
    if (n == 0 || n > device->n_cores)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "--threads %lld: expected 1 to %d, the cores of this machine",
                         (long long)n, device->n_cores);
    if (n > 0)
        device->n_cores = (int32_t)n;
    wait_for_quiet(&run->options);
    roofline_machine_measure(&run->machine);
    return STATUS_OK;
}

static enum status show(const struct run *run, struct fault *fault)
{
    const struct verb_options *o = &run->options;
    const struct roofline_report report = { &run->machine, run->models, run->n_models,
                                            run->peers,    o->peers.n,  &run->kernels };
    enum status status = STATUS_OK;
    struct str text, html, page;
    struct doc doc;
    str_init(&text);
    str_init(&html);
    str_init(&page);
    doc_init(&doc, o->is_json ? NULL : &text, o->html != NULL ? &html : NULL);
    roofline_print(&report, &doc);
    if (o->is_json)
        roofline_json(&report, &text);
    fputs(text.at, stdout);
    if (o->html != NULL) {
        roofline_page(&report, &html, &page);
        status = file_write(o->html, page.at, page.n, fault);
    }
    str_clear(&text);
    if (o->out != NULL && status == STATUS_OK) {
        roofline_json(&report, &text);
        status = file_write(o->out, text.at, text.n, fault);
    }
    doc_free(&doc);
    str_free(&page);
    str_free(&html);
    str_free(&text);
    return status;
}

static bool has_failed(const struct run *run)
{
    for (int i = 0; i < run->n_models; i++)
        if (run->models[i].n_failed > 0)
            return true;
    return false;
}

int verbs_bench_kernels(int argc, char **argv)
{
    struct run *run = mem_take(sizeof(*run));
    struct fault fault;
    int code = 2;
    log_set(LOG_WARN, false);
    if (parse(run, argc, argv)) {
        const struct verb_options *o = &run->options;
        enum status status = STATUS_OK;
        run->kernels = (struct roofline_options){ .n_generated = (int32_t)o->n_generated,
                                                  .n_depth = (int32_t)o->n_depth,
                                                  .n_batch_max = (int32_t)o->n_batch,
                                                  .has_prefill = !o->no_prefill,
                                                  .has_attention = !o->no_attention };
        for (int i = 0; i < o->peers.n && status == STATUS_OK; i++)
            status = roofline_peer_open(&run->peers[i], o->peers.at[i], &fault);
        if (status == STATUS_OK)
            status = open_machine(run, &fault);
        for (int i = 0; i < o->models.n && status == STATUS_OK; i++)
            status = run_model(run, o->models.at[i], &fault);
        if (status == STATUS_OK)
            status = show(run, &fault);
        if (status != STATUS_OK)
            fprintf(stderr, "shoal: %s\n", fault.text);
        code = status == STATUS_OK && !has_failed(run) ? 0 : 1;
    }
    mem_give(run);
    return code;
}
