/* The LoRA adapters of a model: their weights on its device, and their place in its program.
 *
 * An adapter is a variant of its model (request.variant, from 1). Its pairs are packed as floats,
 * with the scale multiplied into `up` and the rank filled up with zeros. */
#pragma once
#include "compute/packed.h"
#include "run/forward.h"
#include "weights/adapter.h"

enum { RUN_ADAPTERS_TEXT_BYTES = 16 << 10 };

/* The files of a model's adapters: flat, so that it goes to other processes as it is. */
struct run_adapter_files {
    int32_t n;
    uint32_t n_bytes;                /* of texts */
    uint64_t hashes[LIMIT_ADAPTERS]; /* weights_adapter_hash of each; 0: not known yet */
    uint32_t at[LIMIT_ADAPTERS];     /* where its path begins */
    char texts[RUN_ADAPTERS_TEXT_BYTES];
};
/* Adds a path. Returns false when there is no room. */
bool run_adapters_add_file(struct run_adapter_files *files, const char *path) MUST_USE;
const char *run_adapters_path(const struct run_adapter_files *files, int i);
struct run_adapters;

/* Reads the header of each file, which outlive the result, and checks it against the model. Nothing
 * is packed yet. Returns STATUS_UNSUPPORTED when the device has no adapters, and STATUS_BAD_INPUT
 * when a file has another hash than the expected one. */
enum status run_adapters_open(struct run_adapters **out, const struct run_adapter_files *files,
                              const struct weights *model, struct compute_device *device,
                              struct fault *fault) MUST_USE;
void run_adapters_close(struct run_adapters *adapters); /* NULL is fine */
/* Returns the bytes of all adapters together, packed; 0 for NULL. */
int64_t run_adapters_bytes(const struct run_adapters *adapters);
uint64_t run_adapters_hash(const struct run_adapters *adapters, int variant);
/* Packs the weights of one adapter, from 1, which is not packed yet. */
enum status run_adapters_load(struct run_adapters *adapters, int variant,
                              const struct weights *model, struct fault *fault) MUST_USE;
void run_adapters_unload(struct run_adapters *adapters, int variant);
bool run_adapters_is_loaded(const struct run_adapters *adapters, int variant);

enum { RUN_ADAPTERS_REGISTERS = FORWARD_MORE };
/* Adds the registers behind the model's own. Returns how many there are then. */
int run_adapters_add_registers(const struct run_adapters *adapters, int n_registers,
                               struct forward_registers *registers);
/* Returns the most operations of a program of n_ops. */
int run_adapters_ops_max(const struct model_spec *spec, int n_ops);
struct run_adapters_loom {
    const struct model_spec *spec;
    const struct model_weights *weights;
    const struct tensor *const *tensors; /* (n_tensors) of the program's weights */
    int n_tensors;
    int first_register; /* of the added ones */
};
/* Writes the program's operations with those of adapters between them: behind the matrices that
 * read one register, which is before anything reads their results. Returns how many there are. */
int run_adapters_weave(const struct run_adapters_loom *loom, const struct compute_op *ops,
                       int n_ops, struct compute_op *out);
/* Describes the adapters to a program's device, which reads them in each pass. */
void run_adapters_shape(const struct run_adapters *adapters, struct compute_shapes *shapes);
