"""PyTorch beside Shoal on one GPU: copy bandwidth, cuBLAS's time for the matrices of a model, and a decode captured as a graph.

usage: gpu_torch.py [tiny]      prints lines of JSON; tiny: small shapes

The decode is a Llama of 8B's shape with random BF16 weights and a static cache of 1,024 positions: the plainest fast loop that
PyTorch has (scaled_dot_product_attention, all weights in one graph). It is not an engine: there is no sampling and no paging.
"""
import json
import sys
import time

import torch
import torch.nn.functional as F

TINY = len(sys.argv) > 1
WIDTH, LAYERS, HEADS, KV_HEADS, FFN, VOCABULARY = (256, 2, 4, 2, 512, 512) if TINY else (4096, 32, 32, 8, 14336, 128256)
CONTEXT = 64 if TINY else 1024
DIM = WIDTH // HEADS
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPE = torch.bfloat16


def say(**fields):
    print(json.dumps(fields), flush=True)


def median_ms(work, n):
    """Of n runs of work(), by events of the GPU, after 3 runs that do not count."""
    times = []
    for i in range(n + 3):
        if CUDA:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            work()
            end.record()
            end.synchronize()
            took = begin.elapsed_time(end)
        else:
            start = time.monotonic()
            work()
            took = (time.monotonic() - start) * 1e3
        if i >= 3:
            times.append(took)
    return sorted(times)[len(times) // 2]


def copies():
    n = (1 << 20) if TINY else (1 << 31)
    a = torch.empty(n, dtype=torch.uint8, device=DEVICE).random_()
    b = torch.empty_like(a)
    ms = median_ms(lambda: b.copy_(a), 20)
    say(what="torch_copy", bytes=n, ms=ms, gb_per_s=2 * n / ms * 1e-6)


def products():
    """Each matrix of a layer and the output's, times rows; several copies in turn, so that none stays in the cache."""
    shapes = {"q": (WIDTH, WIDTH), "kv": (KV_HEADS * DIM, WIDTH), "gate": (FFN, WIDTH), "down": (WIDTH, FFN), "output": (VOCABULARY, WIDTH)}
    for name, (n, k) in shapes.items():
        n_copies = max(2, min(8, (1 << 28) // (n * k * 2)))
        weights = [torch.randn(n, k, device=DEVICE, dtype=DTYPE) * 0.02 for _ in range(n_copies)]
        for m in (1, 8, 32, 64, 512, 2048):
            x = torch.randn(m, k, device=DEVICE, dtype=DTYPE)

            def work():
                for w in weights:
                    F.linear(x, w)
            ms = median_ms(work, 3 if TINY else 10) / n_copies
            say(what="torch_product", matrix=name, n=n, k=k, m=m, ms=ms, gb_per_s=n * k * 2 / ms * 1e-6,
                tflop_per_s=2 * m * n * k / ms * 1e-9)
        del weights
    # the peak that is reached by one large square product on random data
    n = 256 if TINY else 8192
    a, b = (torch.randn(n, n, device=DEVICE, dtype=DTYPE) for _ in range(2))
    ms = median_ms(lambda: a @ b, 10)
    say(what="torch_peak", n=n, ms=ms, tflop_per_s=2 * n ** 3 / ms * 1e-9)


class Layer:
    def __init__(self):
        def matrix(rows, columns):
            return torch.randn(rows, columns, device=DEVICE, dtype=DTYPE) * 0.02
        self.qkv = matrix((HEADS + 2 * KV_HEADS) * DIM, WIDTH)
        self.o, self.gate_up, self.down = matrix(WIDTH, WIDTH), matrix(2 * FFN, WIDTH), matrix(WIDTH, FFN)
        self.norms = [torch.ones(WIDTH, device=DEVICE, dtype=DTYPE) for _ in range(2)]


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def step(layers, caches, output, x, cos, sin):
    batch = x.shape[0]
    for layer, (keys, values) in zip(layers, caches):
        h = F.rms_norm(x, (WIDTH,), layer.norms[0])
        q, k, v = F.linear(h, layer.qkv).split([HEADS * DIM, KV_HEADS * DIM, KV_HEADS * DIM], dim=-1)
        q = rotate(q.view(batch, HEADS, 1, DIM), cos, sin)
        keys[:, :, -1:] = rotate(k.view(batch, KV_HEADS, 1, DIM), cos, sin)
        values[:, :, -1:] = v.view(batch, KV_HEADS, 1, DIM)
        a = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        x = x + F.linear(a.view(batch, HEADS * DIM), layer.o)
        gate, up = F.linear(F.rms_norm(x, (WIDTH,), layer.norms[1]), layer.gate_up).chunk(2, dim=-1)
        x = x + F.linear(F.silu(gate) * up, layer.down)
    return F.linear(x, output)


def decode(layers, output, batch):
    caches = [tuple(torch.randn(batch, KV_HEADS, CONTEXT, DIM, device=DEVICE, dtype=DTYPE) for _ in range(2)) for _ in layers]
    x = torch.randn(batch, WIDTH, device=DEVICE, dtype=DTYPE)
    cos, sin = torch.ones(DIM, device=DEVICE, dtype=DTYPE), torch.zeros(DIM, device=DEVICE, dtype=DTYPE)
    work = lambda: step(layers, caches, output, x, cos, sin)  # noqa: E731
    if CUDA:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        work = graph.replay
    ms = median_ms(work, 3 if TINY else 30)
    say(what="torch_decode", batch=batch, context=CONTEXT, graph=CUDA, ms=ms, tokens_per_s=batch * 1e3 / ms)


@torch.inference_mode()
def main():
    say(what="torch", version=torch.__version__, cuda=torch.version.cuda, device=torch.cuda.get_device_name() if CUDA else "cpu",
        cublas=str(torch.backends.cuda.preferred_blas_library()) if CUDA else None)
    for part in (copies, decodes, products):
        try:
            part()
        except Exception as error:  # a part that fails leaves the others
            say(what="torch_failed", part=part.__name__, error=str(error)[:300])


def decodes():
    layers = [Layer() for _ in range(LAYERS)]
    output = torch.randn(VOCABULARY, WIDTH, device=DEVICE, dtype=DTYPE) * 0.02
    for batch in (1, 32):
        decode(layers, output, batch)


main()
