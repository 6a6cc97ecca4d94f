/* Live re-placement: while a manager leads, a child process plans on the last window, and the
 * manager moves copies where that pays.
 *
 *   WAITING --interval is over--> PLANNING --install, `replacement: on`--> MOVING --> WAITING
 *                                    |-----anything else, killed after 60 s--> WAITING
 *
 * Equation 8 of SeaLLM sets the interval (place/replace.h), live/plan.h is the plan, and
 * cluster/manager_move.h the move. With `replacement: advise` the same happens without the move;
 * with `off` nothing is planned. The engines that each model wants (live/want.h) are told in either
 * case, and changed by nothing. */
#pragma once
#include "live/job.h"
#include "live/want.h"
#include "process/child.h"

struct cluster_manager;
struct config;
struct fleet_models;
struct fleet_monitor;
struct json_out;
struct str;

enum fleet_replan_mode { FLEET_REPLAN_OFF, FLEET_REPLAN_ADVISE, FLEET_REPLAN_ON };
struct fleet_replan {
    enum fleet_replan_mode mode;
    const struct config *config;
    const struct fleet_models *models;
    struct fleet_monitor *monitor;
    struct replace_config replace;
    struct process_child child;
    bool is_planning, is_moving;
    int epoll_fd, job_fd;
    struct live_job *job;   /* shared with the child while it plans */
    struct live_job *last;  /* the last one with a result; n_services 0: there is none */
    struct live_job *given; /* the job as this process gave it */
    int32_t engines[LIVE_ENGINES_MAX], services[LIMIT_MODELS]; /* of the job: the manager's */
    int32_t last_engines[LIVE_ENGINES_MAX];
    int64_t interval_ns, next_ns, deadline_ns, last_ns, stall_ns;
    struct replace_score foretold;
    bool has_foretold;
    char said[320]; /* what came of the last plan, and of the last move */
    char moved[200];
    int64_t n_verdicts[4], n_failed, n_moves_done, n_moves_abandoned;
    struct scale scales[LIMIT_MODELS];
    struct live_want wants[LIMIT_MODELS];
    int64_t arrived[LIMIT_MODELS]; /* that scales know */
    int32_t copies[LIMIT_MODELS];
    int64_t want_ns;
};
/* Returns false when the word is none of off, advise and on. */
bool fleet_replan_mode_find(const char *word, enum fleet_replan_mode *mode);
void fleet_replan_open(struct fleet_replan *replan, const struct config *config,
                       const struct fleet_models *models, struct fleet_monitor *monitor);
void fleet_replan_close(struct fleet_replan *replan);
void fleet_replan_begin(struct fleet_replan *replan, int64_t now_ns); /* it leads from here on */
void fleet_replan_end(struct fleet_replan *replan);
/* Begins with nothing for a service that has just joined. A plan that is being made is dropped. */
void fleet_replan_forget(struct fleet_replan *replan, int service);
/* is_still: the manager may change nothing now; a move under way is abandoned. */
void fleet_replan_step(struct fleet_replan *replan, struct cluster_manager *manager, bool is_still,
                       int64_t now_ns);
/* Writes the members of an open object: what it would do, and why. */
void fleet_replan_tell(const struct fleet_replan *replan, int64_t now_ns, struct json_out *json);
void fleet_replan_metrics(const struct fleet_replan *replan, struct str *out);
