"""Feeds summary.py with what tests print when they pass, fail, skip, crash, hang or say nothing, and reads its counts."""
import json
import os
import subprocess
import sys
import tempfile

SUMMARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "summary.py")
RUN, OK, FAILED = "[ RUN      ] ", "[       OK ] ", "[  FAILED  ] "
SKIPPED, REASON = "[  SKIPPED ] ", "[  REASON  ] "
SKIPS = "# comment\ntest_gpu*: no device here\nkv/test_big: needs memory\n"

# name, what one binary printed, meson's result, and the counts wanted
CASES = [
    ("passes", f"{RUN}a\n{OK}a\n{RUN}b\n{OK}b\n", "OK", "2 passed, 0 failed, 0 skipped"),
    ("fails", f"{RUN}a\n{FAILED}a\n{RUN}b\n{OK}b\n", "FAIL", "1 passed, 1 failed, 0 skipped"),
    ("error_line", f"{RUN}a\n[  ERROR   ] a\n", "FAIL", "0 passed, 1 failed, 0 skipped"),
    ("listed_again", f"{RUN}a\n{FAILED}a\n{FAILED}kv: 1 test(s), listed below:\n{FAILED}a\n", "FAIL",
     "0 passed, 1 failed, 0 skipped"),
    ("listed_skip", f"{RUN}test_gpu_x\n{REASON}test_gpu_x: none\n{SKIPPED}test_gpu_x\n", "OK",
     "0 passed, 0 failed, 1 skipped"),
    ("listed_by_binary", f"{SKIPPED}test_big\n", "OK", "0 passed, 0 failed, 1 skipped"),
    ("unlisted_skip", f"{SKIPPED}test_lazy\n", "OK", "0 passed, 1 failed, 0 skipped"),
    ("crash_in_a_case", f"{RUN}a\n{OK}a\n{RUN}b\n", "FAIL", "1 passed, 1 failed, 0 skipped"),
    ("crash_at_the_end", f"{RUN}a\n{OK}a\n", "FAIL", "1 passed, 1 failed, 0 skipped"),
    ("timeout", f"{RUN}a\n{OK}a\n", "TIMEOUT", "1 passed, 1 failed, 0 skipped"),
    ("silence", "hello\n", "OK", "0 passed, 1 failed, 0 skipped"),
]


# the same of several build folders; None: no test ran in it
BUILDS = [
    ("sums", [0, 4], "2 passed, 0 failed, 1 skipped"),
    ("sums_failures", [1, 1], "2 passed, 2 failed, 0 skipped"),
    ("build_without_tests", [0, None], "2 passed, 1 failed, 0 skipped"),
]


# names that a filter finds; none for one that fits nothing
NAMES = [("kv", ["kv_pool"]), ("pool", ["kv_pool"]), ("nothing", [])]


def check_names(filter_text, wanted):
    tests = json.dumps([{"name": "kv_pool", "suite": ["shoal:kv"]}, {"name": "base_str", "suite": ["shoal:base"]}])
    done = subprocess.run([sys.executable, SUMMARY, "--names", filter_text], input=tests, capture_output=True, text=True)
    is_right = done.stdout == "".join(name + "\n" for name in wanted)
    print(f"[{'       OK ' if is_right else '  FAILED  '}] summary_names_{filter_text}")
    return is_right


def write(folder, output, result):
    os.makedirs(os.path.join(folder, "meson-logs"))
    with open(os.path.join(folder, "meson-logs", "testlog.json"), "w", encoding="utf-8") as file:
        test = {"name": "shoal:kv / kv", "stdout": output, "stderr": "words", "result": result, "returncode": 1}
        file.write(json.dumps(test) + "\n")


def check(name, cases, wanted):
    with tempfile.TemporaryDirectory() as folder:
        skips = os.path.join(folder, "skips.txt")
        builds = [os.path.join(folder, f"build-{i}") for i in range(len(cases))]
        with open(skips, "w", encoding="utf-8") as file:
            file.write(SKIPS)
        for build, case in zip(builds, cases):
            if case is not None:
                write(build, *CASES[case][1:3])
        done = subprocess.run([sys.executable, SUMMARY, skips, *builds], capture_output=True, text=True)
    is_right = done.stdout.splitlines()[-1] == wanted and (done.returncode == 0) == (" 0 failed" in wanted)
    if not is_right:
        print(f"wanted {wanted}, got {done.returncode}: {done.stdout}{done.stderr}")
    print(f"[{'       OK ' if is_right else '  FAILED  '}] summary_{name}")
    return is_right


def main():
    right = [check(case[0], [i], case[3]) for i, case in enumerate(CASES)]
    right += [check(*row) for row in BUILDS]
    right += [check_names(*row) for row in NAMES]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
