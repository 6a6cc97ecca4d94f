/* Prometheus text for what the API does not see: lengths, places of models, forced requests. */
#include "cmd/wire.h"

#include "cmd/wire_house.h"

#include "metrics/print.h"
#include "report/lengths.h"
#include <stdio.h>

/* Only the new model is shown if it has taken the name of another. */
static bool is_shown(const struct serve_offer *offer)
{
    return offer->state == OFFER_THERE;
}

/* Prints where models may be, and are. */
static void print_places(const struct house *house, struct str *out)
{
    int n_engines;
    const struct engine_report *reports = cluster_gateway_reports(house->gateway, &n_engines);
    metrics_print_name(out, "shoal_model_on_engine",
                       "1 where it is loaded, 0 where it is placed and is not.", "gauge");
    for (int s = 0; s < house->n_services; s++) {
        for (int e = 0; e < house->n_engines; e++) {
            if (!is_shown(&house->offers[s]) ||
                !service_spec_allows(&house->offers[s].service.engines, e))
                continue;
            char number[16];
            snprintf(number, sizeof number, "%d", e);
            str_add_text(out, "shoal_model_on_engine");
            metrics_print_label(out, '{', "model_name", house->offers[s].service.name);
            metrics_print_label(out, ',', "engine", number);
            metrics_print_label(out, ',', "device", house->device_names[e]);
            str_printf(out, "} %d\n",
                       e < n_engines && s < reports[e].n_services &&
                           reports[e].services[s].status == SERVICE_LOADED);
        }
    }
}

void wire_metrics(void *self, struct str *out)
{
    const struct house *house = self;
    const char *names[LIMIT_MODELS] = { NULL };
    for (int s = 0; s < house->n_services; s++)
        names[s] = is_shown(&house->offers[s]) ? house->offers[s].service.name : NULL;
    report_lengths_print(cluster_gateway_lengths(house->gateway), names, out);
    print_places(house, out);
    wire_devices_metrics(house, out);
    metrics_print_name(out, "shoal_router_forced_total",
                       "Requests sent to an engine although they are expected to miss a target.",
                       "counter");
    str_printf(out, "shoal_router_forced_total %lld\n",
               (long long)cluster_gateway_n_forced(house->gateway));
}
