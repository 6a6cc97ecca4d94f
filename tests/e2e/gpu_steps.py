"""The programs of bench/gpu.sh on the emulated GPU: drawn models are read, and steps of them are measured.

usage: gpu_steps.py GPU_WEIGHTS GPU_STEPS SHOAL REPORT [PLUGIN]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

WEIGHTS, STEPS, SHOAL, REPORT = sys.argv[1:5]
PLUGIN = sys.argv[5] if len(sys.argv) > 5 else None


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def drawn_models_are_read(folder):
    """Whole files and shared ones hold the same tensors; a shared one is smaller. Each file of a seed is the same."""
    for shape in ("tiny", "tiny-opt"):
        for kind in ("BF16", "F16", "Q8_0", "Q4_0", "Q4_K"):
            path, shared = (os.path.join(folder, name) for name in ("whole.gguf", "shared.gguf"))
            assert run(WEIGHTS, shape, kind, path).returncode == 0
            assert run(WEIGHTS, shape, kind, shared, "shared").returncode == 0
            shown = [json.loads(run(SHOAL, "show", p, "--json").stdout) for p in (path, shared)]
            assert shown[0]["parameters"] == shown[1]["parameters"] > 0, shown
            assert os.path.getsize(shared) < os.path.getsize(path)
    with open(path, "rb") as f:
        before = f.read()
    assert run(WEIGHTS, shape, kind, path).returncode == 0
    with open(path, "rb") as f:
        assert f.read() == before


def faults_are_sentences(folder):
    assert run(WEIGHTS, "9b", "BF16", "x").returncode == 2
    assert run(WEIGHTS, "7b", "Q9", "x").returncode == 2
    got = run(WEIGHTS, "tiny", "BF16", os.path.join(folder, "no", "x.gguf"))
    assert got.returncode == 1 and "No such file" in got.stderr, got
    got = run(STEPS, "cpu", "x.gguf")
    assert got.returncode == 1 and "cpu is no GPU" in got.stderr, got


def steps_are_measured(folder):
    own = os.path.join(folder, "gpu_steps")
    shutil.copy2(STEPS, own)
    shutil.copy2(PLUGIN, os.path.join(folder, "libshoal_cuda.so"))
    path, result = os.path.join(folder, "tiny-Q4_K.gguf"), os.path.join(folder, "roofline.jsonl")
    assert run(WEIGHTS, "tiny", "Q4_K", path, "shared").returncode == 0
    copies, steps = run(own, "cuda:0", "copy", "1"), run(own, "cuda:0", path, "quick")
    assert copies.returncode == 0 and steps.returncode == 0, (copies, steps)
    rows = lines(copies.stdout) + lines(steps.stdout)
    assert [r["what"] for r in rows] == ["copy"] * 3 + ["load"] + ["decode"] * 3 + ["prompt"], rows
    assert all(r["ms"] > 0 for r in rows if r["what"] != "load"), rows
    with open(result, "w", encoding="utf-8") as f:
        f.write(copies.stdout + steps.stdout)
    report = run(sys.executable, REPORT, result)
    assert report.returncode == 0 and "of a contiguous cache's time" in report.stdout, report


def main():
    os.environ.pop("LD_LIBRARY_PATH", None)  # a test runner may add the folder of the plug-in
    n_failed = 0
    for test in (drawn_models_are_read, faults_are_sentences, steps_are_measured):
        print(f"[ RUN      ] {test.__name__}")
        if test is steps_are_measured and PLUGIN is None:
            print(f"[  REASON  ] {test.__name__}: there is no C++ compiler\n[  SKIPPED ] {test.__name__}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f"[       OK ] {test.__name__}", flush=True)
            except (AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
                print(f"{type(error).__name__}: {error}\n[  FAILED  ] {test.__name__}", flush=True)
                n_failed += 1
    return n_failed > 0


sys.exit(main())
