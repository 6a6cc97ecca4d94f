/* Shows the wishes of operators on a model. lifecycle.c takes them. */
#include "api/wishes.h"

bool api_wishes_is_paused(const struct api *api, const struct api_model *model)
{
    const struct api_wishes *wishes = &api->options.wishes;
    return wishes->is_paused != NULL && wishes->is_paused(wishes->self, model->service);
}

bool api_wishes_pinned(const struct api *api, const struct api_model *model,
                       char out[API_PIN_BYTES])
{
    const struct api_wishes *wishes = &api->options.wishes;
    return wishes->pinned != NULL && wishes->pinned(wishes->self, model->service, out);
}
