"""The real server's figures: /metrics is Prometheus text and agrees with the requests sent; memory does not grow.

usage: serve_metrics.py SHOAL MODELS_FOLDER; GROWTH_REQUESTS=N sends more than 2000
"""
import http.client
import json
import os
import random
import re

from serve_shared import SECONDS, Later, Shoal, Stream, body_of, main, paths, test, until

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)')


def parse(text):
    """{(name, ((label, value), ...)): number}, and {name: type}; fails on anything that the format does not allow."""
    samples, types, helps = {}, {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in helps, f"HELP of {name} comes twice"
            helps.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name not in types and kind in ("counter", "gauge", "histogram", "summary"), line
            types[name] = kind
        elif line and not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match, line
            labels, rest = [], match[3] or ""
            while rest:
                label = LABEL.match(rest)
                assert label, line
                labels.append((label[1], label[2]))
                rest = rest[label.end():]
            family = re.sub("_(bucket|sum|count)$", "", match[1])
            assert match[1] in types or types.get(family) in ("histogram", "summary"), f"no TYPE before {line}"
            key = (match[1], tuple(sorted(labels)))
            assert key not in samples, f"{line} comes twice"
            samples[key] = float(match[4])
    return samples, types


def check_histograms(samples, types):
    for name in (n for n, kind in types.items() if kind == "histogram"):
        rows = {}
        for (sample, labels), value in samples.items():
            if sample == name + "_bucket":
                rest = tuple(l for l in labels if l[0] != "le")
                rows.setdefault(rest, []).append((float(dict(labels)["le"]), value))
        for labels, buckets in rows.items():
            buckets.sort()
            counts = [count for _, count in buckets]
            assert counts == sorted(counts) and buckets[-1][0] == float("inf"), (name, buckets)
            assert counts[-1] == samples[name + "_count", labels], name
            assert (name + "_sum", labels) in samples


def read(server):
    status, head, text = server.get("/metrics")
    assert status == 200 and head["content-type"].startswith("text/plain; version=0.0.4")
    samples, types = parse(text)
    check_histograms(samples, types)
    return samples


def total(samples, name, **labels):
    found = [v for (n, of), v in samples.items() if n == name and set(labels.items()) <= set(of)]
    assert found, f"there is no {name} of {labels}"
    return sum(found)


@test
def metrics_agree(shoal, models):
    with Shoal(shoal, models=paths(models)) as server:
        before = read(server)
        for name, prompt, n in (("tale", "And he", 7), ("cee", "if (x", 5)):
            usages = [server.complete(name, prompt, n)["usage"] for _ in range(6)]
            after = read(server)
            for metric, key in (("vllm:prompt_tokens_total", "prompt_tokens"), ("vllm:generation_tokens_total", "completion_tokens")):
                moved = total(after, metric, model_name=name) - total(before, metric, model_name=name)
                assert moved == sum(u[key] for u in usages), (metric, moved, usages)
            assert total(after, "vllm:time_to_first_token_seconds_count", model_name=name) == 6
            assert total(after, "vllm:e2e_request_latency_seconds_count", model_name=name) == 6
            assert total(after, "vllm:request_success_total", model_name=name) == 6
        stream = Stream(server, body_of("tale", "And he", 480, n=8)).begin()
        until(lambda: total(read(server), "vllm:num_requests_running", model_name="tale") > 0 or stream.read() is False)
        stream.close()
        until(server.is_clear)
        until(lambda: total(read(server), "vllm:num_requests_running") == 0 and total(read(server), "shoal_kv_used_bytes") == 0)
        samples = read(server)
        assert abs(total(samples, "process_resident_memory_bytes") - server.rss_bytes()) < 16 << 20
        assert total(samples, "process_open_fds") > 5 and total(samples, "process_cpu_seconds_total") > 0
        assert total(samples, "shoal_healthy") == 1 and total(samples, "shoal_draining") == 0
        assert total(samples, "shoal_engine_steps_total") > 12 and total(samples, "shoal_weights_bytes", model_name="tale") > 1 << 20
        assert server.get("/health")[0] == 200 and server.get("/readyz")[0] == 200
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", json.loads(server.get("/version")[2])["version"])


def send_many(port, n, seed):
    """n requests of mixed kinds over one connection; some leave in the middle of a stream."""
    rng = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        body = body_of(model, rng.choice(["And he ", "if (x) ", "king "]) * rng.randrange(1, 20) + str(rng.randrange(500)), rng.randrange(1, 12),
                       temperature=1, seed=i, stream=rng.random() < 0.3, logprobs=rng.choice([None, None, 2]))
        connection.request("POST", "/v1/completions", body=json.dumps(body))
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        if rng.random() < 0.05:
            connection.close()
        else:
            reply.read()
    connection.close()


def live_one(server, rng, i):
    """One request, recorded by its client: (model, end, prompt tokens if a first token came, generated tokens at least and at most)."""
    model = rng.choice(["tale", "cee"])
    prompt, n = rng.choice(["And he ", "if (x) "]) * rng.randrange(1, 10) + str(i), rng.randrange(60, 160)
    n_prompt = server.post("/tokenize", {"model": model, "prompt": prompt})[2]["count"]
    body = body_of(model, prompt, n, temperature=1, seed=i)
    kind = rng.randrange(5)
    if kind == 0:  # leaves in the middle
        stream = Stream(server, dict(body, logprobs=0)).begin()
        n_seen = sum(len(c["logprobs"]["tokens"]) for e in stream.events if e != "[DONE]" for c in e["choices"] if c.get("logprobs"))
        stream.close()
        return model, "abort", n_prompt, n_seen, n
    if kind == 1:  # in time or not
        status, head, page = server.post("/v1/completions", body, {"x-request-deadline-ms": str(rng.choice([1, 40, 200]))})
        if status == 504:
            has_begun = head["x-shoal-request-dropped-reason"] == "evicted-deadline"
            return model, "timeout", n_prompt if has_begun else 0, int(has_begun), n if has_begun else 0
    elif kind == 2:
        status, _, page = server.post("/v1/completions", dict(body, stop=["e", "x", " "], temperature=0))
    elif kind == 3:
        status, _, page = server.post("/v1/completions", dict(body, temperature=3))
        return "", "refused", 0, 0, 0
    else:
        status, _, page = server.post("/v1/completions", body)
    assert status == 200, page
    usage = page["usage"]
    return model, page["choices"][0]["finish_reason"], usage["prompt_tokens"], usage["completion_tokens"], usage["completion_tokens"]


@test
def metrics_equal_the_records_of_clients(shoal, models):
    """After a random run of all kinds of ends, with preemptions, each request is one sample and tokens equal the records."""
    with Shoal(shoal, "--planner", "none", "--kv-bytes", "1MiB", "--max-batch", "16", "--log-level", "warn", models=paths(models)) as server:
        def play(seed):
            rng = random.Random(seed)
            return [live_one(server, rng, 1000 * seed + i) for i in range(8)]
        records = [r for player in [Later(play, seed) for seed in range(14)] for r in player.result()]
        until(server.is_clear)
        samples = read(server)
        for model in ("tale", "cee"):
            own = [r for r in records if r[0] == model]
            for reason in ("stop", "length", "abort", "timeout", "error", "refused"):
                n = sum(1 for r in own if r[1] == reason)
                assert total(samples, "vllm:request_success_total", model_name=model, finished_reason=reason) == n, (model, reason, n)
            assert total(samples, "vllm:prompt_tokens_total", model_name=model) == sum(r[2] for r in own), model
            n_generated = total(samples, "vllm:generation_tokens_total", model_name=model)
            assert sum(r[3] for r in own) <= n_generated <= sum(r[4] for r in own), (model, n_generated)
        n_refused = sum(1 for r in records if r[1] == "refused")
        assert total(samples, "vllm:request_success_total", model_name="", finished_reason="refused") == n_refused
        assert total(samples, "vllm:request_success_total") == total(samples, "shoal_requests_total") == len(records)
        assert total(samples, "vllm:num_preemptions_total") > 0, "the run had no preemption"
        print({reason: sum(1 for r in records if r[1] == reason) for reason in {r[1] for r in records}},
              f"{total(samples, 'vllm:num_preemptions_total'):.0f} preemptions")


@test
def metrics_memory_does_not_grow(shoal, models):
    n = int(os.environ.get("GROWTH_REQUESTS", 2000))
    with Shoal(shoal, "--log-level", "warn", "--memory", "24MiB", models=paths(models)) as server:
        for sender in [Later(send_many, server.port, n // 4 // 8, seed) for seed in range(8)]:
            sender.result(2 * SECONDS)
        early = server.rss_bytes()
        for sender in [Later(send_many, server.port, 3 * n // 4 // 8, 100 + seed) for seed in range(8)]:
            sender.result(3 * SECONDS)
        late = server.rss_bytes()
        print(f"resident after {n // 4} requests {early >> 10} KiB, after {n} {late >> 10} KiB")
        assert late < 1.2 * early
        until(server.is_clear)


@test
def metrics_are_of_one_instant(shoal, models):
    """Models come and go while /metrics is read: weights, activations and pool together never exceed the memory."""
    with Shoal(shoal, "--planner", "none", "--memory", "64MiB", models=paths(models)) as server:
        changes = Later(lambda: [server.post(f"/models/{verb}", {"model": name})[0] for _ in range(6)
                                 for verb in ("unload", "load") for name in paths(models)])
        n_pools = set()
        while changes.is_alive():
            samples = parse(server.get("/metrics")[2])[0]
            def sum_of(*names):
                return sum(value for (name, _), value in samples.items() if name in names)
            taken = sum_of("shoal_weights_bytes", "shoal_activation_bytes", "shoal_engine_kv_pool_bytes")
            assert taken <= sum_of("shoal_engine_memory_bytes") == 64 * 2**20, {k: v for k, v in samples.items() if "bytes" in k[0]}
            n_pools.add(sum_of("shoal_engine_kv_pool_bytes"))
        assert set(changes.result()) == {200} and len(n_pools) > 2, n_pools


if __name__ == "__main__":
    main()
