"""shoal repro from the command line: claims are listed, judged from records, and other policies give other verdicts.

usage: repro.py SHOAL SOURCE_ROOT
"""
import csv
import json
import os
import subprocess
import tempfile

from serve_shared import SECONDS, main, test

# Record files are synced to the disk; one in memory is quicker.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def repro(shoal, *args, wants=0):
    done = subprocess.run([shoal, "repro", *args], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == wants, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout if wants == 0 else done.stderr


@test
def repro_lists_its_claims(shoal, models):
    names = [line.split()[0] for line in repro(shoal).splitlines()]
    assert len(names) == len(set(names)) and "muxserve-fig9a" in names
    assert "no claim" in repro(shoal, "nothing", wants=2)


@test
def repro_is_judged_from_records(shoal, models):
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        page = json.loads(repro(shoal, "muxserve-fig9a", "--json", "--seeds", "2", "--out", folder))
        files = sorted(os.listdir(folder))
        rows = list(csv.DictReader(open(os.path.join(folder, files[0]), newline="", encoding="utf-8")))
    assert len(files) == 18 and len(rows) > 1000, files
    assert page["verdict"] in ("holds", "holds in part", "does not hold") and len(page["rows"]) >= 3


@test
def repro_runs_the_claims_of_seallm_and_muxserve(shoal, models):
    for paper in ("seallm", "muxserve"):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            pages = [json.loads(line) for line in repro(shoal, paper, "--quick", "--seeds", "1", "--json", "--out", folder).splitlines()]
        assert len(pages) == sum(line.startswith(paper + "-") for line in repro(shoal).splitlines())
        for page in pages:
            assert any("holds" in row for row in page["rows"]) and page["differs"], page["claim"]


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
    """Two policies swapped: some verdict of the claim changes, since all is computed from what ran."""
    def holds(claim, *args):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            page = json.loads(repro(shoal, claim, "--json", "--quick", "--seeds", "1", "--out", folder, *args))
            assert page["differs"] or claim == "aladdin-fig3", claim
            assert os.listdir(folder), f"{claim} wrote no records"
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
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            page = json.loads(repro(shoal, "scls-fig5", "--json", "--quick", "--seeds", "1", "--out", folder, *args))
        return {row["what"]: row["holds"] for row in page["rows"] if "holds" in row}
    straight, swapped = holds(), holds("--swap", "cohort/scls,sls/rr")
    for what in ("throughput: scls above sls", "pad tokens: scls below sls", "invalid tokens: scls below sls"):
        assert straight[what] and not swapped[what], (what, straight, swapped)


main()
