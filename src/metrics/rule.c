/* Rules by their names. */
#include "metrics/rule.h"

#include <string.h>

enum status metrics_rule_parse(const char *text, struct score_rule *rule, struct fault *fault)
{
    size_t n = strcspn(text, ":");
    *rule = (struct score_rule){ .scale = 5 };
    for (int kind = 0; kind < SCORE_KIND_N; kind++) {
        if (!view_equal_text(view_of(text, n), metrics_score_kind_name((enum score_kind)kind)))
            continue;
        rule->kind = (enum score_kind)kind;
        if (text[n] == '\0' || (parse_f64(text + n + 1, &rule->scale) && rule->scale > 0))
            return STATUS_OK;
    }
    return fault_set(
        fault, STATUS_BAD_INPUT,
        "--slo is seallm-solo:5, seallm-mean:5, muxserve:8, aladdin, uellm or service");
}

enum status metrics_rule_no_target(const struct score_rule *rule, struct fault *fault)
{
    return fault_set(fault, STATUS_BAD_INPUT,
                     "--slo %s compares with %s, and no service has such a "
                     "target",
                     metrics_score_kind_name(rule->kind), metrics_score_kind_targets(rule->kind));
}

enum status metrics_rule_read(const char *text, const struct service_slo *slo,
                              struct score_rule *rule, struct fault *fault)
{
    enum status status = metrics_rule_parse(text, rule, fault);
    if (status != STATUS_OK || metrics_score_kind_targets(rule->kind) == NULL ||
        metrics_score_kind_reads(rule->kind, slo))
        return status;
    return metrics_rule_no_target(rule, fault);
}
