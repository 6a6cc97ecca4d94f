"""The story in README.md is, word for word, the model's own: greedy, from "Once upon a time".

usage: story.py SHOAL SOURCE_ROOT. The model (stories260K) lies beside the repository; without it the test is skipped.
"""
import os
import re
import subprocess
import sys

SHOAL, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MODEL = os.path.join(ROOT, "..", "shared", "data", "tiny-models", "stories260Ktok512.gguf")
NAME = "story_of_the_readme"


def main():
    print(f"[ RUN      ] {NAME}", flush=True)
    if not os.path.exists(MODEL):
        print(f"[  REASON  ] {NAME}: no ../shared beside the repository\n[  SKIPPED ] {NAME}")
        return 0
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    command = re.search(r'shoal run \S*stories260K\S* "([^"]+)" --max-tokens (\d+)', readme)
    quote = re.search(r"^> Once upon a time.*?(?=\n(?!>))", readme, re.M | re.S)
    assert command and quote, "README.md has no story"
    wanted = re.sub(r"^> ?", "", quote.group(0), flags=re.M)
    done = subprocess.run([SHOAL, "run", MODEL, command.group(1), "--max-tokens", command.group(2)], capture_output=True,
                          text=True, timeout=240)
    told = command.group(1) + done.stdout
    is_right = done.returncode == 0 and " ".join(told.split()) == " ".join(wanted.split())
    if not is_right:
        print(f"told:\n{told}\nREADME:\n{wanted}\n{done.stderr}")
    print(f"[{'       OK ' if is_right else '  FAILED  '}] {NAME}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
