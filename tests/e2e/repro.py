"""shoal repro from the command line: every claim runs and has the verdict of docs/REPRO.md; claims are judged from
records, and other policies give other verdicts.

usage: repro.py SHOAL SOURCE_ROOT; REPRO_WHOLE=1 runs the claims whole and not in their short form
"""
import csv
import functools
import json
import os
import re
import subprocess
import tempfile

from serve_shared import SECONDS, main, test

# Record files are synced to the disk; one in memory is quicker.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def repro(shoal, *args, wants=0):
    done = subprocess.run([shoal, "repro", *args], capture_output=True, text=True, timeout=5 * SECONDS)
    assert done.returncode == wants, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout if wants == 0 else done.stderr


@test
def repro_lists_its_claims(shoal, models):
    names = [line.split()[0] for line in repro(shoal).splitlines()]
    assert len(names) == len(set(names)) and "muxserve-fig9a" in names
    assert "no claim" in repro(shoal, "nothing", wants=2)
    rows = [json.loads(line) for line in repro(shoal, "--json").splitlines()]
    assert [row["claim"] for row in rows] == names
    with open(os.path.join(models, "docs", "REPRO.md"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    for row in rows:
        line = f"| `{row['claim']}` | {row['paper']}, {row['section']} | {row['compares']} | {row['settings']} |"
        assert line in lines, line


@test
def repro_is_judged_from_records(shoal, models):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        page = json.loads(repro(shoal, "muxserve-fig9a", "--json", "--seeds", "2", "--out", folder))
        files = sorted(os.listdir(folder))
        rows = list(csv.DictReader(open(os.path.join(folder, files[0]), newline="", encoding="utf-8")))
    assert len(files) == 24 and len(rows) > 1000, files
    assert page["verdict"] in ("holds", "holds in part", "does not hold") and len(page["rows"]) >= 3


WHOLE = os.environ.get("REPRO_WHOLE") == "1"
SHORT = ["--quick", "--seeds", "1"]


@functools.cache
def page_of(shoal, claim, *args):
    """The JSON of a claim's run; each is run once."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        page = json.loads(repro(shoal, claim, "--json", "--out", folder, *args))
        page["has_records"] = any(name.endswith(".csv") for name in os.listdir(folder))
    return page


def verdict_of(page):
    assert page["differs"] or not page["claim"].startswith(("seallm-", "muxserve-")), page["claim"]
    judged = [row["holds"] for row in page["rows"] if "holds" in row]
    wanted = "holds" if all(judged) else "holds in part" if any(judged) else "does not hold"
    assert judged and page["verdict"] == wanted, page
    return f"{wanted}, {sum(judged)} of {len(judged)}"


@test
def repro_verdicts_are_those_of_the_document(shoal, models):
    """All claims. A simulation is the same on every machine; claims about time (seallm-fig14, aladdin-fig13, -groups) have room."""
    with open(os.path.join(models, "docs", "REPRO.md"), encoding="utf-8") as f:
        told = {name: (whole, short) for name, whole, short in re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]* of \d+) \| ([^|]* of \d+) \| [^|]* \|$", f.read(), re.M)}
    names = [line.split()[0] for line in repro(shoal).splitlines()]
    assert list(told) == names, set(told) ^ set(names)
    verdicts = {name: verdict_of(page_of(shoal, name, *([] if WHOLE else SHORT))) for name in names}
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict != told[name][0 if WHOLE else 1]}
    stale = {name for name in wrong if WHOLE and told[name][0].startswith("before the change: ")}
    for name in sorted(stale):
        print(f"not compared, since docs/REPRO.md has the verdict of before: {name}: {wrong.pop(name)}", flush=True)
    assert not wrong, wrong


@test
def repro_example_of_seallm_is_exact_and_swaps(shoal, models):
    def holds(*args):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            page = json.loads(repro(shoal, "seallm-fig2", "--json", "--seeds", "1", "--out", folder, *args))
        return [row["holds"] for row in page["rows"] if "holds" in row][:3]  # the paper's own; the last is of our default
    assert all(holds()) and not any(holds("--swap", "db-turn,rr"))


@test
def repro_swapped_policies_change_the_verdict(shoal, models):
    def holds(*args):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            page = json.loads(repro(shoal, "muxserve-fig9a", "--json", "--seeds", "2", "--out", folder, *args))
        return [row["holds"] for row in page["rows"] if "holds" in row]
    straight, swapped = holds(), holds("--swap", "adbs,mux-fcfs")
    assert straight != swapped, (straight, swapped)


@test
def repro_every_paper_is_judged_by_its_policies(shoal, models):
    """Two policies swapped: some verdict of the claim changes, since all are computed from the run."""
    def holds(claim, *args):
        page = page_of(shoal, claim, *SHORT, *args)
        assert page["differs"] or claim == "aladdin-fig3", claim
        assert page["has_records"], f"{claim} wrote no records"
        return {row["what"]: row["holds"] for row in page["rows"] if "holds" in row}
    for claim, pair in (("aladdin-fig3", "fcfs/best-fit,fcfs/jsq"), ("uellm-fig3", "cohort/slo-odbs,cohort/fifo"),
                        ("uellm-fig4", "cohort/slo-odbs,cohort/fifo"), ("scls-fig11", "cohort/scls,cohort/fifo"),
                        ("scls-fig14", "cohort/scls,sls/rr"), ("scls-fig15", "cohort/pm,cohort/so"), ("seallm-fig8", "db-turn,fcfs"),
                        ("seallm-fig8a", "on,off"), ("seallm-devices", "db-turn,fcfs"), ("seallm-table2", "db-turn,temporal"),
                        ("seallm-fig7", "db-turn,temporal"), ("scls-fig12-ds", "cohort/scls,sls/rr"), ("scls-fig18", "cohort/scls,sls/rr"),
                        ("muxserve-fig9b", "adbs,mux-fcfs")):
        assert holds(claim) != holds(claim, "--swap", pair), (claim, pair)


@test
def repro_scls_and_its_baseline_are_told_apart(shoal, models):
    def holds(*args):
        return {row["what"]: row["holds"] for row in page_of(shoal, "scls-fig5", *SHORT, *args)["rows"] if "holds" in row}
    straight, swapped = holds(), holds("--swap", "cohort/scls,sls/rr")
    for what in ("throughput: scls above sls", "pad tokens: scls below sls", "invalid tokens: scls below sls"):
        assert straight[what] and not swapped[what], (what, straight, swapped)


main()
