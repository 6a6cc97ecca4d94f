"""shoal bench against the real server, and against one that misbehaves: every fault is named.

usage: bench.py SHOAL MODELS_FOLDER
"""
import csv
import json
import os
import subprocess
import tempfile

import stub_server
from serve_shared import SECONDS, Shoal, main, paths, test


def bench(shoal, port, *args, wants=0):
    done = subprocess.run([shoal, "bench", f"127.0.0.1:{port}", *args], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == wants, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def as_json(shoal, port, *args, wants=0):
    return json.loads(bench(shoal, port, "--json", *args, wants=wants))


def poisson(model, rate, prompt, output):
    return ["--workload", f"poisson:service={model},rate={rate},in={prompt},out={output}"]


@test
def bench_real_server(shoal, models):
    with Shoal(shoal, models=paths(models)) as s, tempfile.TemporaryDirectory() as folder:
        for form in ("text", "ids"):
            path = os.path.join(folder, form + ".csv")
            page = as_json(shoal, s.port, *poisson("tale", 40, 30, 12), *poisson("cee", 20, 20, 8), "--requests", "60",
                           "--prompt", form, "--check", "--csv", path)
            assert page["completed"] == 60 and page["failed"] == 0 and page["wrong"] == [] and page["differing_answers"] == 0
            assert {x["name"] for x in page["services"]} == {"tale", "cee"}
            for service in page["services"]:
                wanted = 12 if service["name"] == "tale" else 8
                assert service["total_output_tokens"] == wanted * service["completed"], service
                assert service["mean_ttft_ms"] > 0 and service["normalized_latency"] > 0 and service["solo_s"] > 0
            rows = list(csv.DictReader(open(path, newline="", encoding="utf-8")))
            assert len(rows) == 60 and all(r["why"] == "stop" and r["http_status"] == "200" for r in rows)
            assert all(int(r["arrived_ns"]) < int(r["first_ns"]) <= int(r["end_ns"]) for r in rows)
            if form == "ids":
                assert all(int(r["n_prompt"]) == (30 if r["service"] == "tale" else 20) for r in rows)
        closed = as_json(shoal, s.port, *poisson("tale", 1, 30, 12), "--requests", "40", "--concurrency", "8", "--prompt", "ids")
        assert closed["max_concurrency"] == 8 and closed["completed"] == 40


@test
def bench_and_sim_are_of_one_form(shoal, models):
    """A profile, the real run and the simulated run of the same requests. The report reads both."""
    with tempfile.TemporaryDirectory() as folder, Shoal(shoal, models=paths(models)) as s:
        profile, real, sim = (os.path.join(folder, n) for n in ("tale.json", "real.csv", "sim.csv"))
        subprocess.run([shoal, "profile", f"{models}/tale.gguf", "--time", "500ms", "--batch", "4", "--prompt", "64", "-o", profile],
                       capture_output=True, check=True, timeout=SECONDS)
        args = [*poisson("tale", 20, 30, 12), "--requests", "40"]
        bench(shoal, s.port, *args, "--prompt", "ids", "--csv", real)
        told = subprocess.run([shoal, "sim", *args, "--engines", "1", "--memory", "1GiB", "--profile", f"tale={profile}", "--csv", sim],
                              capture_output=True, text=True, check=True, timeout=SECONDS).stdout
        assert "profile " in told
        rows = [list(csv.DictReader(open(path, newline="", encoding="utf-8"))) for path in (real, sim)]
        for a, b in zip(*rows):
            assert all(a[k] == b[k] for k in ("id", "service", "arrived_ns", "n_prompt", "n_output", "n_wanted")), (a, b)
            assert (a["why"], b["why"]) == ("stop", "length"), (a, b)
        assert len(rows[0]) == len(rows[1]) == 40
        both = subprocess.run([shoal, "report", real, sim, "--json"], capture_output=True, text=True, check=True, timeout=SECONDS)
        assert [x["completed"] for x in json.loads(both.stdout)] == [40, 40]


@test
def bench_unknown_model(shoal, models):
    with Shoal(shoal, models=paths(models)) as s:
        page = as_json(shoal, s.port, *poisson("nobody", 50, 9, 4), "--requests", "5", "--prompt", "ids", wants=1)
        assert page["failed"] == 5 and "nobody" in page["wrong"][0]["what"], page["wrong"]


@test
def bench_names_what_is_wrong(shoal, models):
    server, port = stub_server.start()
    expected = {"cut": "", "short": "9 tokens instead of 10", "long": "11 tokens instead of 10", "empty": "an empty answer",
                "unfinished": "no finish_reason", "undone": "the stream ended without [DONE]",
                "error": "the server said: lost my thread", "html": "the stream ended without [DONE]",
                "status500": "the server said: out of ideas", "busy": "the server said: not now",
                "shouting": "a line of the stream that is no field of server-sent events"}
    whys = {"cut": "cut", "undone": "cut", "html": "cut", "error": "failed", "status500": "failed", "busy": "refused"}
    with tempfile.TemporaryDirectory() as folder:
        for model, sentence in expected.items():
            path = os.path.join(folder, model + ".jsonl")
            page = as_json(shoal, port, *poisson(model, 200, 7, 10), "--requests", "4", "--solo", "0", "--csv", path, wants=1)
            assert page["failed"] == 4 and page["completed"] == 0, (model, page)
            assert len(page["wrong"]) == 1 and page["wrong"][0]["times"] == 4, (model, page["wrong"])
            assert sentence in page["wrong"][0]["what"], (model, page["wrong"])
            rows = [json.loads(line) for line in open(path, encoding="utf-8")]
            assert len(rows) == 4 and all(r["why"] == whys.get(model, "wrong") for r in rows), (model, rows)
    server.shutdown()


@test
def bench_chats(shoal, models):
    """The chat endpoint: of the stub in the dialect of vLLM and llama-server, and of the real server, in a closed
    loop."""
    server, port = stub_server.start()
    chat = ["--endpoint", "chat"]
    page = as_json(shoal, port, *poisson("good", 200, 7, 10), "--requests", "20", "--check", *chat)
    assert page["completed"] == 20 and page["total_input_tokens"] == 160, page  # a token of the template each
    for model, what in (("short", "9 tokens instead of 10"), ("empty", "an empty answer"), ("busy", "not now"), ("undone", "[DONE]")):
        page = as_json(shoal, port, *poisson(model, 200, 7, 10), "--requests", "3", "--solo", "0", *chat, wants=1)
        assert page["failed"] == 3 and what in page["wrong"][0]["what"], (model, page["wrong"])
    server.shutdown()
    with Shoal(shoal, models=paths(models)) as s:
        page = as_json(shoal, s.port, *poisson("tale", 40, 30, 12), *poisson("cee", 20, 20, 8), "--requests", "40", *chat, "--check",
                       "--concurrency", "6")
        assert page["completed"] == 40 and page["wrong"] == [] and page["max_concurrency"] == 6
        assert page["total_input_tokens"] > sum(x["completed"] * (30 if x["name"] == "tale" else 20) for x in page["services"])


@test
def bench_judges_by_each_papers_rule(shoal, models):
    server, port = stub_server.start()
    with tempfile.TemporaryDirectory() as folder:
        page_path, records = os.path.join(folder, "p.html"), os.path.join(folder, "r.csv")
        args = [*poisson("good", 100, 7, 10), "--requests", "30", "--ttft", "1s", "--tpot", "1ns", "--e2e", "1h", "--slo", "aladdin"]
        page = as_json(shoal, port, *args, "--html", page_path, "--csv", records)
        rules = {x["rule"]: x["attained"] for x in page["attainment"]}
        assert set(rules) == {"seallm-solo", "seallm-mean", "muxserve", "aladdin", "uellm", "service"}, rules
        # No answer has a token in a nanosecond, every one comes in an hour, and the stub is never five times as slow.
        assert rules["aladdin"] == rules["service"] == page["slo_attainment"] == page["request_goodput"] == 0 and rules["uellm"] == 1
        assert rules["seallm-solo"] > 0.5 and rules["muxserve"] > 0.5
        assert open(page_path, encoding="utf-8").read().count("<svg") == 8
        rows = list(csv.DictReader(open(records, newline="", encoding="utf-8")))
        solo = sum(int(r["end_ns"]) - int(r["arrived_ns"]) <= 5 * int(r["solo_ns"]) for r in rows) / 30
        assert abs(rules["seallm-solo"] - solo) < 1e-9
    server.shutdown()


def outputs_of(*lengths):
    """A trace of two services, ten seconds between requests."""
    rows = "".join(f"{10 * i},{'good' if i % 3 else 'mute'},7,{n}\n" for i, n in enumerate(lengths))
    return "arrived_s,model,n_prompt,n_output\n" + rows


@test
def bench_tells_no_length(shoal, models):
    """Requests of one model look equal to a predictor of lengths: max_tokens is the same for all of them."""
    server, port = stub_server.start()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.csv")
        with open(path, "w", encoding="utf-8") as f:
            f.write(outputs_of(*range(1, 31)))
        trace = ["--workload", f"file:{path}", "--concurrency", "4", "--solo", "0"]
        for chat in ([], ["--endpoint", "chat"]):
            for more, wanted in (([], {"good": 30, "mute": 28}), (["--max-tokens", "77"], {"good": 77, "mute": 77})):
                stub_server.Handler.bodies.clear()
                page = as_json(shoal, port, *trace, *more, *chat)
                assert page["completed"] == 30 and page["total_output_tokens"] == sum(range(1, 31)), page
                assert {(b["model"], b["max_tokens"]) for b in stub_server.Handler.bodies} == set(wanted.items())
                assert sorted(b["min_tokens"] for b in stub_server.Handler.bodies) == list(range(30))
        stub_server.Handler.bodies.clear()
        page = as_json(shoal, port, *trace, "--models", "plain", "--end", "max_tokens")  # what older servers know
        assert page["completed"] == 30 and page["total_output_tokens"] == sum(range(1, 31)), page
        assert sorted(b["max_tokens"] for b in stub_server.Handler.bodies) == list(range(1, 31))
        assert not any("min_tokens" in b or "logit_bias" in b for b in stub_server.Handler.bodies)
        page = as_json(shoal, port, *trace, "--models", "plain", wants=1)  # it says so when a server does not know them
        assert page["completed"] == 1 and [(x["times"], "--end max_tokens" in x["what"]) for x in page["wrong"]] == [(29, True)], page["wrong"]
        for words, sentence in ((["--max-tokens", "29"], "request 29 is to have 30 tokens: --max-tokens 29 is too few"),
                                (["--end", "somehow"], "--end is stop or max_tokens"),
                                (["--max-tokens", "40", "--stops"], "--max-tokens is for --end stop without --stops"),
                                (["--max-tokens", "40", "--end", "max_tokens"], "--max-tokens is for --end stop without --stops")):
            done = subprocess.run([shoal, "bench", f"127.0.0.1:{port}", *trace, *words], capture_output=True, text=True, timeout=SECONDS)
            assert done.returncode == 2 and sentence in done.stderr, (words, done.stderr)
    server.shutdown()


@test
def bench_predictions_err_as_in_the_simulator(shoal, models):
    """The same requests one by one: the server's predictor is as inaccurate as the simulator's, since the requests
    do not tell it the lengths."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.csv")
        with open(path, "w", encoding="utf-8") as f:
            f.write("arrived_s,model,n_prompt,n_output\n" + "".join(f"{10 * i},tale,9,{140 if i % 3 == 0 else 4}\n" for i in range(30)))
        done = subprocess.run([shoal, "sim", "--workload", f"file:{path}", "--engines", "1", "--predictor", "mean", "--json"], capture_output=True,
                              text=True, check=True, timeout=SECONDS)
        told, = json.loads(done.stdout)["predicted_lengths"]
        off = {}
        for end in ("stop", "max_tokens"):
            with Shoal(shoal, "--predictor", "mean", models={"tale": paths(models)["tale"]}) as s:
                bench(shoal, s.port, "--workload", f"file:{path}", "--concurrency", "1", "--solo", "0", "--prompt", "ids", "--end", end)
                text = s.get("/metrics")[2]
            line, = [x for x in text.splitlines() if x.startswith("shoal_length_error_tokens{")]
            off[end] = float(line.split()[-1])
    assert abs(off["stop"] - told["error_tokens"]) < 1e-4 * told["error_tokens"], (off, told)
    assert off["max_tokens"] < 0.8 * off["stop"], off  # what telling the length would hide


@test
def bench_good_answers_of_the_stub(shoal, models):
    server, port = stub_server.start()
    page = as_json(shoal, port, *poisson("good", 200, 7, 10), "--requests", "20", "--check")
    assert page["completed"] == 20 and page["total_input_tokens"] == 140 and page["inexact_prompts"] == 0
    server.shutdown()


@test
def bench_answers_that_change_are_wrong(shoal, models):
    server, port = stub_server.start()
    args = (*poisson("fickle", 200, 7, 10), "--requests", "10")
    assert as_json(shoal, port, *args)["completed"] == 10
    page = as_json(shoal, port, *args, "--check", wants=1)
    assert page["differing_answers"] == 3 and page["wrong_alone"] == 3 and page["wrong"][0]["what"] == "another answer than alone", page
    server.shutdown()


@test
def bench_tokens_without_text(shoal, models):
    server, port = stub_server.start()
    for more in ([], ["--endpoint", "chat"]):
        page = as_json(shoal, port, *poisson("mute", 200, 7, 10), "--requests", "20", "--check", *more)
        assert page["completed"] == 20 and page["total_output_tokens"] == 200 and page["mean_ttft_ms"] > 0, page
    server.shutdown()


@test
def bench_nobody_there(shoal, models):
    for solo in ("0", "3"):
        done = subprocess.run([shoal, "bench", "127.0.0.1:1", *poisson("a", 1, 7, 10), "--requests", "300", "--solo", solo], capture_output=True,
                              text=True, timeout=SECONDS)
        assert done.returncode == 2 and done.stdout == "", done
        assert done.stderr == "shoal: no connection to http://127.0.0.1:1/v1/completions can be made: Couldn't connect to server\n", done


@test
def bench_server_dies(shoal, models):
    """Earlier measurements are reported, as fewer than were wanted."""
    server, port = stub_server.start()
    page = as_json(shoal, port, *poisson("mortal", 100, 7, 10), "--requests", "3000", "--solo", "0", wants=1)
    assert page["ended_early"] and page["completed"] == 19 and 16 <= page["failed"] < 500, page
    server, port = stub_server.start()
    stub_server.Handler.asked.clear()
    out = bench(shoal, port, *poisson("mortal", 100, 7, 10), "--requests", "3000", "--solo", "1", wants=1)
    assert "of 3000 requests the server was gone" in out, out


@test
def bench_wrong_options(shoal, models):
    for args in (["--prompt", "song"], ["--cacert", "/nowhere"], ["--cacert", "/dev/null", "--insecure"], ["--endpoint", "door"], ["--endpoint", "chat", "--prompt", "ids"], ["--slo", "hope"], ["--workload", "nonsense=3"], [], ["--requests", "0"]):
        done = subprocess.run([shoal, "bench", "127.0.0.1:1", *args], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2 and done.stderr.startswith("shoal: "), (args, done)
    done = subprocess.run([shoal, "bench", "127.0.0.1:1", *poisson("tale", 9, 9, 9), "--slo", "uellm", "--ttft", "1s"], capture_output=True, text=True,
                          timeout=SECONDS)
    assert done.returncode == 2 and "compares with e2e" in done.stderr, done


if __name__ == "__main__":
    main()
