/* The register of the papers' claims, one row each. `shoal repro` lists and runs claims from it. */
#pragma once
#include "base/status.h"

struct papers;
struct papers_claim {            /* a row */
    const char *name;            /* "seallm-fig12" */
    const char *paper, *section; /* "SeaLLM", "Figure 12" */
    const char *title;           /* what is compared */
    const char *settings;        /* what is simulated */
    /* Simulates all settings, under keys of the claim's own. NULL: there is nothing to simulate. */
    enum status (*run)(struct papers *repro, struct fault *fault);
    /* Judges from the records that the runs left. */
    void (*judge)(struct papers *repro);
};

/* ROW: id of its functions, which begins with their file; name, paper, section, what is compared,
 * and the settings that are simulated. FIT: the same for a claim about published or computed times,
 * which simulates nothing. */
/* clang-format off */
#define PAPERS_CLAIMS(ROW, FIT) \
    ROW(seallm_example_fig2, "seallm-fig2", "SeaLLM", "Figure 2", \
        "the worked example: FCFS, round robin, doubling budget", \
        "two services, five requests, one at a time") \
    ROW(seallm_fig6, "seallm-fig6", "SeaLLM", "Figure 6", \
        "normalized latency, p99, attainment by rate", \
        "sixteen services on 32 A800, placed by hand; 2 to 50 requests/s") \
    ROW(seallm_fig7, "seallm-fig7", "SeaLLM", "Figure 7", \
        "time to the first token and per token by rate", \
        "as seallm-fig6") \
    ROW(seallm_fig8, "seallm-fig8", "SeaLLM", "Figure 8", \
        "budgets replaced by FCFS (-F) and MLFQ (-M)", \
        "as seallm-fig6") \
    ROW(seallm_fig10, "seallm-fig10", "SeaLLM", "Figure 10", \
        "attainment by SLO scale", \
        "as seallm-fig6, at 20 requests/s") \
    ROW(seallm_fig12, "seallm-fig12", "SeaLLM", "Figure 12", \
        "skewness: requests in a row of one service", \
        "as seallm-fig6, at 10 requests/s; 1 to 64 in a row") \
    ROW(seallm_fig13, "seallm-fig13", "SeaLLM", "Figure 13", \
        "noise of output lengths, k = 0 to 16", \
        "as seallm-fig6, at 2 requests/s") \
    ROW(seallm_table2, "seallm-table2", "SeaLLM", "Table 2", \
        "normalized latency of four systems at one point", \
        "as seallm-fig6, at 20 requests/s") \
    ROW(seallm_cost_fig3, "seallm-fig3", "SeaLLM", "Figure 3", \
        "an iteration's time by tensor parallelism", \
        "LLaMA-2-13B on 1 to 8 A800, eight requests of 64 to 4096 tokens") \
    ROW(seallm_placed_fig6, "seallm-fig6p", "SeaLLM", "Figure 6", \
        "as seallm-fig6, each with its own planner; SeaLLM plans again", \
        "sixteen services on 32 A800; 2 to 50 requests/s, five minutes") \
    ROW(seallm_placed_fig8, "seallm-fig8p", "SeaLLM", "Figure 8", \
        "its placement replaced by dedicated devices (-P)", \
        "as seallm-fig6p") \
    ROW(seallm_placed_fig8a, "seallm-fig8a", "SeaLLM", "Figure 8", \
        "without adaptive re-placement (-A)", \
        "as seallm-fig6p, with bursts of ten minutes, for half an hour") \
    ROW(seallm_placed_fig11, "seallm-fig11", "SeaLLM", "Figure 11", \
        "the same load on 64 to 16 devices", \
        "as seallm-fig6p, at 10 requests/s") \
    ROW(seallm_cost_devices, "seallm-devices", "SeaLLM", "section 6.2", \
        "devices needed for 100, 99 and 95%", \
        "as seallm-fig6p, at 10 requests/s on 12 to 64 devices") \
    ROW(seallm_cost_fig14, "seallm-fig14", "SeaLLM", "Figure 14", \
        "time that planning takes", \
        "sixteen services on 16, 32 and 64 devices") \
    ROW(muxserve_fig9a, "muxserve-fig9a", "MuxServe", "Figure 9a", \
        "ADBS against round robin and FCFS, lengths 2:1:1", \
        "three models on four A100: the rates, ShareGPT's lengths, twice the rates, a short pool") \
    ROW(muxserve_fig9b, "muxserve-fig9b", "MuxServe", "Figure 9b", \
        "ADBS against round robin and FCFS, lengths 4:1", \
        "two models on four A100: the rates, ShareGPT's lengths, twice the rates, a short pool") \
    ROW(muxserve_placed_fig5, "muxserve-fig5", "MuxServe", "Figure 5", \
        "throughput and attainment of 19 models", \
        "19 models on 32 A100; five skews, rates times 0.5 to 2.5") \
    ROW(muxserve_placed_fig6, "muxserve-fig6", "MuxServe", "Figure 6", \
        "how unequal the rates of 19 models are", \
        "19 models on 32 A100; five skews, one minute") \
    ROW(muxserve_placed_fig7, "muxserve-fig7", "MuxServe", "Figure 7", \
        "16 models of ChatLMSYS by mean rate", \
        "16 models on 32 A100; 3 to 11.9 requests/s of a model") \
    ROW(muxserve_placed_fig8, "muxserve-fig8", "MuxServe", "Figure 8", \
        "its placement against greedy", \
        "4 models on 8 A100, 7 models on 16; rates times 1 to 3") \
    ROW(muxserve_placed_fig10, "muxserve-fig10", "MuxServe", "Figure 10", \
        "parts of the device, then shared memory", \
        "four models on four A100, 62% of the memory; five skews") \
    ROW(muxserve_placed_fig11, "muxserve-fig11", "MuxServe", "Figure 11", \
        "p99 of latency, TTFT and TPOT of 19 models", \
        "as muxserve-fig5, skew 0.9") \
    ROW(aladdin_fig2, "aladdin-fig2", "Aladdin", "Figure 2", \
        "outputs by prompt length; errors cancel", \
        "20,000 requests of ShareGPT") \
    ROW(aladdin_fig3, "aladdin-fig3", "Aladdin", "Figure 3", \
        "JSQ and best fit, four requests on two workers", \
        "two workers with room for 9 tokens") \
    FIT(aladdin_fig6, "aladdin-fig6", "Aladdin", "Figure 6", \
        "error of the prefill model", \
        "published times of Llama2-70B") \
    FIT(aladdin_fig7, "aladdin-fig7", "Aladdin", "Figure 7", \
        "error of the decode model", \
        "published times of Llama2-70B") \
    ROW(aladdin_fig8, "aladdin-fig8", "Aladdin", "Figure 8", \
        "error of the KV model", \
        "2,000 requests of ShareGPT, batches of 32, blocks of 16 tokens") \
    FIT(aladdin_workers_table3, "aladdin-table3", "Aladdin", "Table 3", \
        "GPUs of the best worker", \
        "Equation 6 over 1, 2 and 4 GPUs; five models and devices") \
    ROW(aladdin_workers_fig9, "aladdin-fig9", "Aladdin", "Figure 9", \
        "four A100 under load", \
        "70B and 13B, 1 to 12 requests/s") \
    ROW(aladdin_workers_fig10, "aladdin-fig10", "Aladdin", "Figure 10", \
        "four V100 under load", \
        "7B and 13B, 1 to 8 requests/s") \
    ROW(aladdin_workers_fig11, "aladdin-fig11", "Aladdin", "Figure 11", \
        "GPUs needed, mixed", \
        "13B on A100; 5, 10 and 20 requests/s") \
    ROW(aladdin_workers_fig12, "aladdin-fig12", "Aladdin", "Figure 12", \
        "GPUs needed, decode pool", \
        "13B on A100 that only decode, behind others for prompts; 5, 10 and 20 requests/s") \
    ROW(aladdin_pools_eq7, "aladdin-eq7", "Aladdin", "Equation 7", \
        "workers by the rate", \
        "13B on A100; 2 to 30 requests/s") \
    ROW(aladdin_pools_groups, "aladdin-groups", "Aladdin", "appendix A", \
        "groups of workers, by Equation 8", \
        "13B on A100; 10 to 30 requests/s, and one pass at 300") \
    ROW(aladdin_workers, "aladdin-workers", "Aladdin", "Figure 11", \
        "workers needed for 100, 99 and 95%", \
        "13B on A100; 10 and 20 requests/s") \
    ROW(aladdin_fig13, "aladdin-fig13", "Aladdin", "Figure 13", \
        "time to place", \
        "twelve workers at 25 requests/s") \
    ROW(scls_fig5, "scls-fig5", "SCLS", "Figure 5", \
        "static, continuous and sliced batches at 20 requests/s", \
        "eight workers of LLaMA2-13B, DeepSpeed's memory") \
    ROW(scls_models_fig6, "scls-fig6", "SCLS", "Figure 6", \
        "most outputs are short", \
        "10,000 requests of each of four data sets") \
    FIT(scls_models_fig10, "scls-fig10", "SCLS", "Figure 10", \
        "error of the serving time's estimate", \
        "published times of Llama2-70B") \
    ROW(scls_models_fig11, "scls-fig11", "SCLS", "Figure 11", \
        "one long prompt among 15 short ones", \
        "one engine, with times fitted to the figure, and times of an A100") \
    ROW(scls_fig12_ds, "scls-fig12-ds", "SCLS", "Figure 12", \
        "SCLS against SLS and ILS, DeepSpeed's memory", \
        "as scls-fig5, 4 to 28 requests/s") \
    ROW(scls_fig12_hf, "scls-fig12-hf", "SCLS", "Figure 12", \
        "SCLS against SLS, Hugging Face's memory", \
        "as scls-fig12-ds, with Hugging Face's memory and batches") \
    ROW(scls_fastgen_limit, "scls-fastgen-limit", "SCLS", "Figure 12", \
        "how few the continuous baseline must run", \
        "as scls-fig5; FastGen runs at most 4 to 64 requests") \
    ROW(scls_fig13, "scls-fig13", "SCLS", "Figure 13", \
        "batch size, invalid and pad tokens", \
        "as scls-fig5, 4 to 28 requests/s") \
    ROW(scls_fig14, "scls-fig14", "SCLS", "Figure 14", \
        "slices of a request, early returns", \
        "as scls-fig5, 4 to 28 requests/s") \
    ROW(scls_ladder_fig15, "scls-fig15", "SCLS", "Figures 15, 16", \
        "the ladder SLS, SO, PM, AB, LB, SCLS", \
        "as scls-fig5") \
    ROW(scls_ladder_fig17, "scls-fig17", "SCLS", "Figure 17", \
        "spread of the workers' completion", \
        "as scls-fig5, 12 to 28 requests/s") \
    ROW(scls_ladder_fig18, "scls-fig18", "SCLS", "Figures 18 to 21", \
        "length of a slice", \
        "as scls-fig5; slices of 32 to 1024 tokens") \
    ROW(scls_ladder_fig22, "scls-fig22", "SCLS", "Figure 22", \
        "1 to 8 workers", \
        "as scls-fig5, on 1 to 8 workers") \
    ROW(uellm_fig3, "uellm-fig3", "UELLM", "Figure 3", \
        "three queries in one batch and in two", \
        "three queries on one engine; three forms of the cost") \
    ROW(uellm_fig4, "uellm-fig4", "UELLM", "Figures 4a, 4b", \
        "ODBS, SLO-DBS and SLO-ODBS against FIFO", \
        "100 to 300 queries at once on one engine; three forms of the cost, three predictors") \
    ROW(uellm_layers_fig1, "uellm-fig1", "UELLM", "Figure 1", \
        "devices and batch sizes", \
        "ChatGLM2-6B on 1 to 4 cards; batches of 1 to 128") \
    ROW(uellm_layers_table1, "uellm-table1", "UELLM", "Table 1", \
        "layers moved from a 3090 to a V100", \
        "16 to 32 of 33 units on the V100") \
    ROW(uellm_layers_fig4cd, "uellm-fig4cd", "UELLM", "Figures 4c, 4d", \
        "HELR, HE and LR against BGS", \
        "six clusters of four cards") \
    ROW(uellm_deploy_fig5, "uellm-fig5", "UELLM", "Figure 5", \
        "S3, Morphling, UD, UB and UA", \
        "100 queries on four cards")
/* clang-format on */

#define JUDGE(id, name, paper, section, title, settings)                                           \
    void papers_##id##_judge(struct papers *repro);
#define BOTH(id, name, paper, section, title, settings)                                            \
    enum status papers_##id##_run(struct papers *repro, struct fault *fault) MUST_USE;             \
    void papers_##id##_judge(struct papers *repro);
PAPERS_CLAIMS(BOTH, JUDGE)
#undef BOTH
#undef JUDGE
