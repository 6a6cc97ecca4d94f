/* The rule by which a request counts as in time, as people write it: "seallm-solo:5",
 * "seallm-mean:8", "muxserve:8", "aladdin", "uellm", "service". */
#pragma once
#include "base/status.h"
#include "metrics/score.h"

enum status metrics_rule_parse(const char *text, struct score_rule *rule,
                               struct fault *fault) MUST_USE;
/* Parses a rule. A fault too where it compares with targets and slo, every service's, has none of
 * them. */
enum status metrics_rule_read(const char *text, const struct service_slo *slo,
                              struct score_rule *rule, struct fault *fault) MUST_USE;
/* The fault of a rule whose targets no service has, so that every request that ends would meet it.
 */
enum status metrics_rule_no_target(const struct score_rule *rule, struct fault *fault);
