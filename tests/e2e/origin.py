"""Traces on any clock: a trace's first arrival is time zero, so that `sim`, `plan`, `report` and `bench` give the same
figures for the same traffic.

A span of zero (a list that comes at once, a lone request) has figures, all finite; a window without requests is an error with a sentence.

usage: origin.py SHOAL SOURCE_ROOT
"""
import csv
import datetime
import decimal
import json
import os
import random
import re
import subprocess
import tempfile

import stub_server
from serve_shared import SECONDS, main, test

NS = 10**9
# The run's beginning, later, seconds since 1970, before it, and milliseconds since 1970 taken for seconds.
ORIGINS_NS = [0, 100 * NS, 1700000000 * NS + 123456789, -5000 * NS + 250, 1700000000000 * NS]
LISTS = {"list": [(9 * NS, "good", 100 + i, 20 + i) for i in range(4)], "lone": [(9 * NS, "good", 100, 3)]}


def run(shoal, *args, wants=0, seconds=SECONDS):
    done = subprocess.run([shoal, *args], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == wants, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout if wants == 0 else done.stderr


def traffic():
    rng, at, rows = random.Random(3), 0, []
    for _ in range(60):
        at += int(rng.expovariate(4) * NS)
        rows.append((at, rng.choice(["good", "mute"]), rng.randrange(1, 400), rng.randrange(1, 60)))
    return rows


def number(ns, digits):
    """ns nanoseconds in units of 10^digits of them: all decimals, no exponent."""
    return format(decimal.Decimal(ns).scaleb(-digits), "f")


def stamp(ns):
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=ns // NS)).isoformat(" ") + f".{ns % NS:09}"


def as_csv(column, of):
    return lambda rows: "".join([f"{column},model,n_prompt,n_output\n"] + [f"{of(at)},{model},{i},{o}\n" for at, model, i, o in rows])


def as_jsonl(key, digits):
    # Python's json would make doubles of these
    return lambda rows: "".join(f'{{"model":"{m}","{key}":{number(at, digits)},"n_prompt":{i},"n_output":{o}}}\n' for at, m, i, o in rows)


FORMATS = {
    "seconds.csv": as_csv("arrived_s", lambda ns: number(ns, 9)),
    "milliseconds.csv": as_csv("t_ms", lambda ns: number(ns, 6)),
    "nanoseconds.csv": as_csv("start_offset_ns", lambda ns: number(ns, 0)),
    "stamps.csv": as_csv("TIMESTAMP", stamp),
    "seconds.jsonl": as_jsonl("arrived_s", 9),
    "mooncake.jsonl": as_jsonl("timestamp", 6),
}


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def on_every_clock(folder, rows):
    """(name, workload text) of the same traffic in every format and from every origin. The first is the plainest."""
    for name, text in FORMATS.items():
        for i, origin in enumerate(ORIGINS_NS):
            if name == "stamps.csv" and origin > 10**21:
                continue  # no year that a stamp has
            yield f"{name} from {origin}", "file:" + write(folder, f"{i}-{name}", text([(origin + at, *rest) for at, *rest in rows]))


def is_finite(text):
    """A page of JSON without null or NaN, or a text without either: parsed, or as it is."""
    assert not re.search(r"\b(nan|inf|null|infinity)\b", text, re.IGNORECASE), text[-3000:]
    return json.loads(text) if text.startswith(("{", "[")) else text


@test
def sim_and_report_do_not_depend_on_the_clock(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        records, series, page = (os.path.join(folder, n) for n in ("records.csv", "series.csv", "page.html"))
        first = None
        for name, workload in on_every_clock(folder, traffic()):
            text = run(shoal, "sim", "--workload", workload, "--json", "--e2e", "9s", "--csv", records, "--series", series, "--html", page)
            told = run(shoal, "report", records, "--e2e", "9s", "--json")
            seen = [text, told, *(open(p, encoding="utf-8").read() for p in (records, series, page))]
            first = first or seen
            assert seen == first, name
        assert is_finite(first[0])["completed"] == 60 and {x["rule"] for x in is_finite(first[1])[0]["attainment"]} >= {"uellm", "service"}


@test
def plan_does_not_depend_on_the_clock(shoal, models):
    def plan(*args):
        return is_finite(run(shoal, "plan", "1x4xa100", *args, "--planner", "even", "--no-price", "--json"))
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for name, workload in on_every_clock(folder, traffic()):
            seen = [plan(workload), plan(workload, "--window", "5s")]
            first = first or seen
            assert seen == first, name


@test
def report_does_not_depend_on_the_records_clock(shoal, models):
    """Records that another program wrote, as with times since 1970."""
    with tempfile.TemporaryDirectory() as folder:
        own, moved, page = (os.path.join(folder, n) for n in ("own.csv", "moved.csv", "page.html"))
        run(shoal, "sim", "--workload", "m6:rate=20", "--requests", "80", "--csv", own)
        rows, seen = list(csv.DictReader(open(own, newline="", encoding="utf-8"))), []
        for origin in ORIGINS_NS[:3]:
            with open(moved, "w", newline="", encoding="utf-8") as f:
                out = csv.DictWriter(f, rows[0].keys())
                out.writeheader()
                for row in rows:
                    times = {key: int(row[key]) + origin for key in ("arrived_ns", "first_ns", "end_ns")}
                    out.writerow({**row, **times})
            text = run(shoal, "report", moved, "--slo", "uellm", "--e2e", "5s", "--html", page)
            seen.append((re.sub("records [0-9a-f]+", "", text), re.sub("records [0-9a-f]+", "", open(page, encoding="utf-8").read())))
        assert seen[0] == seen[1] == seen[2]


@test
def bench_starts_at_once_on_any_clock(shoal, models):
    server, port = stub_server.start()
    rows = [(at // 60, model, 1 + i % 9, 1 + o % 9) for at, model, i, o in traffic()]
    calls = "app,func,end_timestamp,duration\n" + "".join(f"a,f,{1700000000 + i / 10:.1f},0.1\n" for i in range(5))
    with tempfile.TemporaryDirectory() as folder:
        records, first = os.path.join(folder, "records.csv"), None
        for name, workload in on_every_clock(folder, rows):
            run(shoal, "bench", f"127.0.0.1:{port}", "--workload", workload, "--solo", "0", "--csv", records, seconds=min(SECONDS, 60))
            seen = [(r["arrived_ns"], r["service"], r["n_wanted"]) for r in csv.DictReader(open(records, newline="", encoding="utf-8"))]
            first = first or seen
            assert seen == first and len(seen) == 60 and seen[0][0] == "0", name
        workload = f"functions:{write(folder, 'calls.csv', calls)},in=3,out=4"
        page = json.loads(run(shoal, "bench", f"127.0.0.1:{port}", "--workload", workload, "--models", "good", "--json", seconds=min(SECONDS, 60)))
        assert page["completed"] == 5
    server.shutdown()


@test
def a_span_of_zero_has_figures(shoal, models):
    server, port = stub_server.start()
    with tempfile.TemporaryDirectory() as folder:
        page, records, series = (os.path.join(folder, n) for n in ("page.html", "records.csv", "series.csv"))
        for name, rows in LISTS.items():
            for form, text in FORMATS.items():
                workload = "file:" + write(folder, name + form, text(rows))
                told = is_finite(run(shoal, "sim", "--workload", workload, "--json", "--html", page, "--csv", records, "--series", series))
                assert told["completed"] == len(rows) and 1 <= told["devices"] <= 4, told
                assert is_finite(open(page, encoding="utf-8").read()).count("<svg") == 8
                assert is_finite(open(series, encoding="utf-8").read()).count("\n") > 10
            assert len(is_finite(run(shoal, "report", records, "--json", "--html", page))) == 1
            is_finite(open(page, encoding="utf-8").read())
            is_finite(run(shoal, "report", records, "--ttft", "1s", "--tpot", "1s", "--e2e", "1s"))
            for more in (["--compare", "fcfs,default", "--seeds", "2"], ["--rates", "1,2", "--engines", "1"], ["--bus", "--engines", "2"],
                         ["--each-step", "--rate-scale", "3"]):
                is_finite(run(shoal, "sim", "--workload", workload, *more))
                is_finite(run(shoal, "sim", "--workload", workload, *more, "--json"))
            told = is_finite(run(shoal, "plan", "1x2xa100", workload, "--json", "--html", page))
            assert told["window_s"] == 1 and told["plans"][0]["not_placed"] == [], told
            is_finite(open(page, encoding="utf-8").read())
            is_finite(run(shoal, "plan", "1x2xa100", workload, "--window", "1h"))
            told = is_finite(run(shoal, "bench", f"127.0.0.1:{port}", "--workload", workload, "--json", "--html", page))
            assert told["completed"] == len(rows)
            is_finite(open(page, encoding="utf-8").read())
    server.shutdown()


@test
def a_window_without_requests_is_an_error(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, "t.csv", FORMATS["seconds.csv"](traffic()))
        empty = write(folder, "empty.csv", "id,service,why,arrived_ns,first_ns,end_ns,n_prompt,n_output\n")
        none = "no request lies between from and to: the first of the trace is at 0 s, the last at "
        for args, sentence in (
                (["sim", "--workload", f"file:{path},from=1h"], none), (["plan", "1x2xa100", f"file:{path},from=1h"], none),
                (["bench", "127.0.0.1:1", "--workload", f"file:{path},from=1h"], none),
                (["sim", "--workload", "poisson:rate=1,in=9,out=9", "--duration", "1us"], "no request comes before its end"),
                (["plan", "1x2xa100", "poisson:rate=1,in=9,out=9,seconds=1us"], "no request comes before its end"),
                (["bench", "127.0.0.1:1", "--workload", "poisson:rate=1,in=9,out=9", "--duration", "1us"], "no request comes before its end"),
                (["plan", "1x2xa100", "poisson:rate=1,in=9,out=9", "--window", "1us", "--duration", "1h"], "the window of 1e-06 s holds no request"),
                (["report", empty], "no request in it")):
            told = run(shoal, *args, wants=2)
            assert told.startswith("shoal: ") and sentence in told and told.count("\n") == 1, (args, told)


main()
