/* Our matrix product beside oneDNN's, in turn, each at its best: its weights are reordered once
 * into the layout that it asks for, ours are packed. What the two do is not the same. Its integers
 * are products of whole rows, u8 by s8 into s32, without scales; ours have a scale for every 32
 * inputs and quantize the rows first. Its floats are F32, ours halves with sums in F32. Both use as
 * many threads as there are cores. */
#include "base/mem.h"
#include "base/time.h"
#include "one_matmul.h"
#include <dnnl.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 7 };

static void must(dnnl_status_t status)
{
    CHECK(status == dnnl_success);
}

/* A product (n_rows, columns) . (columns, n_outputs). */
struct peer {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t kind;
    dnnl_primitive_t product;
    dnnl_memory_t src, weight, dst;
    void *bytes[3];
};

static dnnl_memory_t take(struct peer *p, int at, const dnnl_memory_desc_t *desc)
{
    dnnl_memory_t memory;
    size_t n = dnnl_memory_desc_get_size(desc);
    p->bytes[at] = mem_take(n);
    memset(p->bytes[at], 0, n);
    must(dnnl_memory_create(&memory, desc, p->engine, p->bytes[at]));
    return memory;
}

static void peer_open(struct peer *p, bool is_integer, int32_t n_outputs, int32_t n_rows)
{
    const dnnl_dims_t rows = { n_rows, ONE_MATMUL_COLUMNS };
    const dnnl_dims_t matrix = { ONE_MATMUL_COLUMNS, n_outputs };
    const dnnl_dims_t out = { n_rows, n_outputs };
    dnnl_memory_desc_t src, weight, dst;
    dnnl_matmul_desc_t desc;
    must(dnnl_engine_create(&p->engine, dnnl_cpu, 0));
    must(dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags));
    must(dnnl_memory_desc_init_by_tag(&src, 2, rows, is_integer ? dnnl_u8 : dnnl_f32, dnnl_ab));
    must(dnnl_memory_desc_init_by_tag(&weight, 2, matrix, is_integer ? dnnl_s8 : dnnl_f32,
                                      dnnl_format_tag_any));
    must(dnnl_memory_desc_init_by_tag(&dst, 2, out, is_integer ? dnnl_s32 : dnnl_f32, dnnl_ab));
    must(dnnl_matmul_desc_init(&desc, &src, &weight, NULL, &dst));
    must(dnnl_primitive_desc_create(&p->kind, &desc, NULL, p->engine, NULL));
    must(dnnl_primitive_create(&p->product, p->kind));
    p->src = take(p, 0, &src);
    p->weight = take(p, 1, dnnl_primitive_desc_query_md(p->kind, dnnl_query_weights_md, 0));
    p->dst = take(p, 2, &dst);
}

static void peer_close(struct peer *p)
{
    must(dnnl_memory_destroy(p->src));
    must(dnnl_memory_destroy(p->weight));
    must(dnnl_memory_destroy(p->dst));
    must(dnnl_primitive_destroy(p->product));
    must(dnnl_primitive_desc_destroy(p->kind));
    must(dnnl_stream_destroy(p->stream));
    must(dnnl_engine_destroy(p->engine));
    for (int i = 0; i < 3; i++)
        mem_give(p->bytes[i]);
}

static double peer_time(struct peer *p)
{
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, p->src },
                                     { DNNL_ARG_WEIGHTS, p->weight },
                                     { DNNL_ARG_DST, p->dst } };
    int64_t start = time_now_ns();
    must(dnnl_primitive_execute(p->product, p->stream, 3, args));
    must(dnnl_stream_wait(p->stream));
    return (double)(time_now_ns() - start) * 1e-9;
}

static void compare(struct one_matmul *m, enum dtype dtype, int32_t n_outputs, int32_t n_rows)
{
    double ops = 2.0 * n_outputs * n_rows * ONE_MATMUL_COLUMNS * 1e-9;
    double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS];
    struct peer peer;
    peer_open(&peer, dtype_info(dtype)->is_integer, n_outputs, n_rows);
    one_matmul_pack(m, dtype, n_outputs);
    one_matmul_time(m, n_outputs, n_rows);
    peer_time(&peer);
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = ops / one_matmul_time(m, n_outputs, n_rows);
        theirs[i] = ops / peer_time(&peer);
        ratios[i] = ours[i] / theirs[i];
    }
    one_matmul_unpack(m);
    peer_close(&peer);
    printf("  %-5s %4d  %8.1f  %8.1f  %6.2f\n", dtype_info(dtype)->name, n_rows,
           one_matmul_median(ours, ROUNDS), one_matmul_median(theirs, ROUNDS),
           one_matmul_median(ratios, ROUNDS));
    fflush(stdout);
}

int main(void)
{
    static const int32_t shapes[][2] = { { 32768, 1 }, { 32768, 8 }, { 32768, 32 }, { 4096, 512 } };
    static const enum dtype dtypes[] = { DTYPE_Q8_0, DTYPE_F16 };
    const dnnl_version_t *version = dnnl_version();
    struct one_matmul m;
    one_matmul_open(&m, cpu_isa_best(), 2);
    printf("%s and oneDNN %d.%d.%d, %d inputs, 2 threads; Gop/s, and ours over theirs (medians)\n",
           m.device->name, version->major, version->minor, version->patch, ONE_MATMUL_COLUMNS);
    printf("  type  rows      ours    oneDNN   ratio\n");
    for (size_t t = 0; t < COUNT_OF(dtypes); t++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            compare(&m, dtypes[t], shapes[i][0], shapes[i][1]);
    one_matmul_close(&m);
    return 0;
}
