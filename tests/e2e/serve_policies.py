"""Sharing on the real server: every policy on a mixed burst, priorities, deadlines, a full queue, prefix hits, clients
that leave.

usage: serve_policies.py SHOAL MODELS_FOLDER
"""
import random
import signal
import socket
import time

from serve_shared import Later, Shoal, Stream, body_of, main, paths, test, until

PROMPTS = {"tale": ["And he", "In the beginning", "Then said the king unto " + "them, and " * 40], "cee": ["if (x", "static int ", "for (i = 0; " * 30]}
ALONE = {}


def burst(n):
    rng = random.Random(4)
    for i in range(n):
        model = rng.choice(["tale", "cee"])
        yield body_of(model, rng.choice(PROMPTS[model]), rng.choice([1, 5, 20, 60]), temperature=0.9, seed=i % 10, priority=rng.randrange(-2, 3))


def key_of(body):
    return body["model"], body["prompt"], body["max_tokens"], body["seed"]


def text_of(server, body):
    status, _, page = server.post("/v1/completions", body)
    assert status == 200, page
    return page["choices"][0]["text"]


@test
def policies_serve_a_burst(shoal, models):
    choices = [("--policy", p) for p in ("db-share", "db-turn", "db-literal", "rr", "fcfs")]
    choices += [("--preset", p) for p in ("default", "seallm", "fcfs", "rr")]
    for i, choice in enumerate(choices):
        with Shoal(shoal, *choice, "--max-batch", "4", "--max-batch-tokens", "64", "--chunk-tokens", "32", models=paths(models)) as server:
            if i == 0:
                for body in burst(40):
                    ALONE[key_of(body)] = text_of(server, body)
            asks = [(Later(text_of, server, body), body) for body in burst(40)]
            for ask, body in asks:
                assert ask.result() == ALONE[key_of(body)], (choice, body)
            until(server.is_clear)


@test
def policies_priority_goes_first(shoal, models):
    """Batches of one: an urgent request that came last ends before those that waited longer. While there is more
    urgent work, no other request runs."""
    for policy in ("db-share", "fcfs"):
        with Shoal(shoal, "--planner", "none", "--max-batch", "1", "--policy", policy, models=paths(models)) as server:
            # Many seconds of work, one at a time, all of it before the normal ones.
            first = Stream(server, body_of("tale", "And he", 480, n=100, priority=-1)).begin()
            normal = []
            for i in range(4):
                normal.append(Later(server.text, "tale", "And he", 200, seed=i))
                time.sleep(0.1)
            server.text("tale", "And he", 200, seed=9, priority=-2)
            assert all(ask.is_alive() for ask in normal), policy
            assert server.model("tale")["requests_waiting"] > len(normal), "the first was to be at work still"
            first.close()
            for ask in normal:
                ask.result()


@test
def policies_deadlines(shoal, models):
    # The default serves first a request that has little time left; fcfs lets it wait in vain.
    with Shoal(shoal, "--planner", "none", "--max-batch", "1", "--policy", "fcfs", models=paths(models)) as server:
        busy = Stream(server, body_of("tale", "And he", 480, n=30)).begin()
        status, head, page = server.post("/v1/completions", body_of("tale", "And he", 400), {"x-request-deadline-ms": "200"})
        assert status == 504 and page["error"]["code"] == "deadline_exceeded", (status, page)  # it waited in vain
        assert head["x-shoal-request-dropped-reason"] == "rejected-deadline" and head["x-should-retry"] == "false"
        busy.close()
        until(server.is_clear)
        # Too late while it is being answered: an error event ends the stream.
        late = Stream(server, body_of("tale", "And he", 480, n=60), {"x-request-deadline-ms": "400"}).finish()
        if late.status == 200:
            assert late.events[-1]["error"]["code"] == "deadline_exceeded", late.events[-1]
        else:
            assert late.status == 504
        until(server.is_clear)
        status, _, page = server.post("/v1/completions", body_of("tale", "And he", 4), {"x-request-deadline-ms": "600000"})
        assert status == 200, page
        for name in ("x-slo-ttft-ms", "x-slo-tpot-ms", "x-slo-e2e-ms"):
            assert server.post("/v1/completions", body_of("tale", "And he", 2), {name: "250"})[0] == 200
            status, _, page = server.post("/v1/completions", body_of("tale", "And he", 2), {name: "soon"})
            assert status == 400 and name in page["error"]["message"], page


@test
def policies_full_queue(shoal, models):
    with Shoal(shoal, "--max-requests", "100", "--max-batch", "1", models=paths(models)) as server:
        stream = Stream(server, body_of("tale", "And he", 480, n=100)).begin()  # many seconds of work, one at a time
        status, head, page = server.post("/v1/completions", body_of("cee", "if"))
        assert status == 429 and page["error"]["code"] == "queue_full", (status, page)
        assert int(head["retry-after"]) > 0 and head["x-shoal-request-dropped-reason"] == "rejected-queue-full"
        status, _, page = server.post("/v1/completions", body_of("cee", "if", 2, n=101))
        assert status == 429, page  # this many never fit
        stream.close()
        until(lambda: server.post("/v1/completions", body_of("cee", "if", 2))[0] == 200)
    with Shoal(shoal, "--max-requests", "4", "--max-batch", "1", models=paths(models)) as server:
        streams = [Stream(server, body_of("tale", "And he", 480, n=2)) for _ in range(2)]
        for stream in streams:
            assert stream.finish().is_whole


@test
def policies_prefix_hits(shoal, models):
    with Shoal(shoal, "--planner", "none", models=paths(models)) as server:
        for model, word in (("tale", "and the king said "), ("cee", "int x = 1; ")):
            pages = [server.complete(model, word * 40, 8) for _ in range(2)]
            cached = [page["usage"]["prompt_tokens_details"]["cached_tokens"] for page in pages]
            assert cached[0] == 0 and pages[1]["usage"]["prompt_tokens"] > cached[1] > 50, cached
            assert pages[0]["choices"][0]["text"] == pages[1]["choices"][0]["text"]
        until(server.is_clear)
        until(lambda: server.model("tale")["memory"]["kv_cached_bytes"] > 0)  # the report lags a little
    with Shoal(shoal, "--prefix-cache", "false", models=paths(models)) as server:
        pages = [server.complete("tale", "and the king said " * 40, 8) for _ in range(2)]
        assert all(page["usage"]["prompt_tokens_details"]["cached_tokens"] == 0 for page in pages)


@test
def policies_tenants_share_no_prefix(shoal, models):
    """A prefix from one tenant's request is not found by another tenant's, and it does not change the answer."""
    config = "api_key: plain\nadmin_key: boss\ntenants: [ann=a1, bob=b1]\n" + "models:\n" + "".join(
        f"  {name}:\n    path: {path}\n    preload: true\n" for name, path in paths(models).items())
    prompt = "and the king said " * 40
    with Shoal(shoal, "--planner", "none", config=config, wait=None) as server:
        def ask(key):
            status, _, page = server.post("/v1/completions", body_of("tale", prompt, 8), {"Authorization": f"Bearer {key}"})
            return status, status == 200 and (page["choices"][0]["text"], page["usage"]["prompt_tokens_details"]["cached_tokens"])
        assert ask("none")[0] == ask("ann")[0] == ask("ann=a1")[0] == 401
        texts = set()
        for key in ("a1", "b1", "plain"):
            status, (text, cached) = ask(key)
            assert status == 200 and cached == 0, (key, cached)
            texts.add(text)
            status, (text, cached) = ask(key)
            assert status == 200 and cached > 50, (key, cached)
            texts.add(text)
        assert len(texts) == 1, texts
        assert server.get("/api/ps", {"x-api-key": "a1"})[0] == 403  # a tenant is no operator
        assert server.get("/models", {"x-api-key": "a1"})[2] == server.get("/v1/models", {"x-api-key": "a1"})[2]
        # Another key for the same name belongs to the same tenant; the old key belongs to none.
        server.write_config(config.replace("ann=a1, bob=b1", "carl=c1, ann=a2"))
        server.signal(signal.SIGHUP)
        until(lambda: "as the configuration says" in server.log())
        assert "tenants changes" not in server.log()
        assert ask("a1")[0] == ask("b1")[0] == 401
        assert ask("a2")[1][1] > 50 and ask("c1")[1][1] == 0


def leave_at_once(server, body, after):
    """Sends a request and leaves after this many seconds."""
    stream = Stream(server, body)
    time.sleep(after)
    stream.close()


@test
def policies_clients_that_leave(shoal, models):
    """In every state: nothing is left of the request a moment later."""
    def is_clear_soon(server):
        begin = time.monotonic()
        until(server.is_clear)
        return time.monotonic() - begin
    with Shoal(shoal, "--max-batch", "1", "--max-batch-tokens", "16", "--chunk-tokens", "16", "--prefix-cache", "false",
               models=paths(models)) as server:
        assert server.text("tale", "And he", 2)
        for _ in range(5):  # decoding, and eleven that wait behind it
            stream = Stream(server, body_of("tale", "And he", 480, n=12)).begin()
            stream.close()
            assert is_clear_soon(server) < 30
        rng = random.Random(1)
        for _ in range(20):  # somewhere in the prompt
            leave_at_once(server, body_of("tale", "and the king said unto " * 60, 10), rng.random() * 0.03)
        assert is_clear_soon(server) < 30
        for _ in range(10):  # before the body is whole
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as half:
                half.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"model\":")
        assert server.text("tale", "And he", 2)


@test
def policies_leaving_while_held(shoal, models):
    """A request that waits for its model to load, and leaves: the model isn't loaded for it."""
    with Shoal(shoal, "--max-batch", "1", "--planner", "none", models=paths(models)) as server:
        sizes = [(m["memory"]["weights_bytes"] + m["memory"]["activation_bytes"]) / 2**20 for m in server.state()["data"]]
    assert max(sizes) + 2 < sum(sizes), sizes
    config = f"memory: {int(max(sizes)) + 2}MiB\nkeep_alive: 1h\nmax_batch: 1\nmodels:\n"
    config += "".join(f"  {name}:\n    path: {path}\n" for name, path in paths(models).items())
    with Shoal(shoal, config=config, wait=None) as server:
        busy = Stream(server, body_of("tale", "And he", 480, n=100)).begin()
        for _ in range(3):
            leave_at_once(server, body_of("cee", "if (x", 8), 0.3)
        time.sleep(1.5)
        busy.close()
        until(server.is_clear)
        time.sleep(1)
        assert server.status("cee") == "unloaded" and server.status("tale") == "loaded", server.log()
        assert server.text("cee", "if (x", 4)


if __name__ == "__main__":
    main()
