"""Counts what the tests printed: reads meson's logs, prints failures and skips, ends with one line of counts.

usage: summary.py skips.txt BUILD...           (the build folders in which tests ran)
       summary.py --names FILTER < tests.json      (names of the tests whose name or suite contains FILTER)

Every test binary or script prints cmocka's lines on stdout:
  [ RUN      ] name      [       OK ] name      [  FAILED  ] name      [  SKIPPED ] name      [  REASON  ] name: why
A binary that dies, runs out of time, or prints no result counts as one failure of its own, as does a folder where no test ran.
"""
import fnmatch
import json
import os
import re
import sys

LINE = re.compile(r"^\[ *(RUN|OK|FAILED|ERROR|SKIPPED|REASON) *\] (.*)$")


def names(filter_text):
    """The tests that match the filter, once each."""
    chosen = []
    for test in json.load(sys.stdin):
        words = [test["name"]] + [suite.split(":")[-1] for suite in test["suite"]]
        if any(filter_text in word for word in words) and test["name"] not in chosen:
            chosen.append(test["name"])
    for name in chosen:
        print(name)
    return 0


def read_skips(path):
    rows = []
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition(":")
            rows.append((pattern.strip(), reason.strip()))
    return rows


def read_cases(output):
    """Name -> state ("run" for a case that began and never ended), and name -> reason of a skip."""
    states, reasons = {}, {}
    for line in output.splitlines():
        match = LINE.match(line.rstrip())
        if not match:
            continue
        word, rest = match.groups()
        if word == "REASON":
            name, _, why = rest.partition(": ")
            reasons[name] = why
        elif ": " in rest and "test(s), listed below" in rest or rest.startswith("---"):
            continue  # cmocka's own summary and messages
        elif word == "RUN":
            states.setdefault(rest, "run")
        elif states.get(rest) != "failed":
            states[rest] = {"OK": "passed", "SKIPPED": "skipped"}.get(word, "failed")
    return states, reasons


def show(test, title):
    print(f"--- {title}")
    for stream in ("stdout", "stderr"):
        text = (test.get(stream) or "").rstrip()
        if text:
            lines = text.splitlines()
            if len(lines) > 150:
                lines = lines[:50] + [f"... {len(lines) - 150} lines ..."] + lines[-100:]
            print("\n".join(lines))
    print(f"--- end of {title}")


class Count:
    def __init__(self, skips):
        self.skips = skips
        self.passed, self.failed, self.skipped = 0, [], 0

    def add_skip(self, binary, name, why):
        full = f"{binary}/{name}"
        for pattern, _ in self.skips:
            if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(full, pattern):
                self.skipped += 1
                print(f"skipped {full}: {why or 'no reason given'}")
                return
        self.failed.append(f"{full} (skipped, which tests/skips.txt does not allow: {why or 'no reason given'})")

    def add_binary(self, test):
        binary = test["name"].split(" / ")[-1]
        states, reasons = read_cases(test.get("stdout") or "")
        n_failed_before = len(self.failed)
        result = test["result"]
        for name, state in states.items():
            if state == "passed":
                self.passed += 1
            elif state == "skipped":
                self.add_skip(binary, name, reasons.get(name))
            elif state == "run":
                self.failed.append(f"{binary}/{name} (did not end)")
            else:
                self.failed.append(f"{binary}/{name}")
        is_bad = result not in ("OK", "SKIP", "EXPECTEDFAIL")
        if is_bad and len(self.failed) == n_failed_before:
            self.failed.append(f"{binary} ({result.lower()}, exit status {test.get('returncode')})")
        elif not is_bad and not states:
            if result == "SKIP":
                self.add_skip(binary, binary, reasons.get(binary))
            else:
                self.failed.append(f"{binary} (printed no result)")
        if len(self.failed) > n_failed_before:
            show(test, binary)

    def add_build(self, folder):
        log = os.path.join(folder, "meson-logs", "testlog.json")
        n_failed_before = len(self.failed)
        if os.path.exists(log):
            for line in open(log, encoding="utf-8", errors="replace"):
                if line.strip():
                    self.add_binary(json.loads(line))
        else:
            self.failed.append("no test ran")
        for i in range(n_failed_before, len(self.failed)):
            self.failed[i] = f"{folder}: {self.failed[i]}"


def main():
    if sys.argv[1] == "--names":
        return names(sys.argv[2])
    count = Count(read_skips(sys.argv[1]))
    for folder in sys.argv[2:]:
        count.add_build(folder)
    for name in count.failed:
        print(f"FAILED {name}")
    print(f"{count.passed} passed, {len(count.failed)} failed, {count.skipped} skipped")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
