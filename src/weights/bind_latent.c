/* A key's matrix makes keys of the latent, and here it is used the other way round. A file that has
 * it as (key_dim, rank) gives a transposed view. */
#include "weights/bind_latent.h"
#include "weights/cut.h"

bool weights_bind_latent_has(uint8_t role)
{
    return role == WEIGHTS_KV_B || role == WEIGHTS_K_B || role == WEIGHTS_V_B;
}

bool weights_bind_latent_is_there(uint8_t role, const struct latent_weights *latents)
{
    return (role != WEIGHTS_V_B && latents[0].key.data != NULL) ||
           (role != WEIGHTS_K_B && latents[0].value.data != NULL);
}

void weights_bind_latent(const struct model_spec *spec, const struct tensor *whole,
                         enum weights_role role, struct latent_weights *latents)
{
    const struct latent_spec *latent = &spec->latent;
    int64_t n_both = latent->key_dim + latent->value_dim;
    for (int32_t head = 0; head < spec->n_heads; head++) {
        struct latent_weights *own = &latents[head];
        if (role == WEIGHTS_K_B)
            own->key = weights_cut(whole, false, (int64_t)head * latent->rank, latent->rank);
        if (role == WEIGHTS_V_B)
            own->value =
                weights_cut(whole, false, (int64_t)head * latent->value_dim, latent->value_dim);
        if (role != WEIGHTS_KV_B)
            continue;
        own->key = weights_cut(whole, false, head * n_both, latent->key_dim);
        own->key.n_rows = latent->rank;
        own->key.n_columns = latent->key_dim;
        own->key.is_transposed = true;
        own->value = weights_cut(whole, false, head * n_both + latent->key_dim, latent->value_dim);
    }
}

void weights_bind_latent_key(const struct model_spec *spec, const struct tensor *whole,
                             struct layer_weights *layer)
{
    layer->v = weights_cut(whole, false, 0, spec->latent.rank);
    layer->k = weights_cut(whole, false, spec->latent.rank, spec->n_rope_dims);
}
