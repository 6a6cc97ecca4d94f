"""GPUs behind a plug-in: one sentence where it is missing or another build's, and a server on a GPU (an emulated one).

usage: serve_gpu.py SHOAL MODELS_FOLDER [PLUGIN]      (PLUGIN: libshoal_cuda.so over the emulated GPU; without it that part is
skipped)
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

from serve_shared import Shoal, main, paths, test

os.environ.pop("LD_LIBRARY_PATH", None)  # a test runner may add the folder of the plug-in


@contextlib.contextmanager
def program(shoal, plugin=None):
    """A copy of the program in a folder of its own, beside a plug-in."""
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "shoal")
        shutil.copy2(shoal, own)
        if plugin:
            shutil.copy2(plugin, os.path.join(folder, "libshoal_cuda.so"))
        yield own


def refusal(shoal, models, device):
    words = [shoal, "serve", "--devices", device, "--listen", "127.0.0.1:0", "--model", "tale=" + paths(models)["tale"]]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0, run
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1]


@test
def a_missing_plugin_is_one_sentence(shoal, models):
    with program(shoal) as own:
        text = refusal(own, models, "cuda:0")
        assert text.startswith("shoal: device cuda:0: the CUDA plug-in does not load: libshoal_cuda.so: "), text


@test
def a_file_that_is_no_plugin_is_refused(shoal, models):
    with program(shoal) as own:
        with open(os.path.join(os.path.dirname(own), "libshoal_cuda.so"), "w", encoding="utf-8") as f:
            f.write("this is text")
        text = refusal(own, models, "cuda:0")
        assert "the CUDA plug-in does not load" in text, text


if len(sys.argv) > 3:
    PLUGIN = os.path.abspath(sys.argv[3])

    @test
    def a_gpu_that_is_not_there_is_refused(shoal, models):
        with program(shoal, PLUGIN) as own:
            text = refusal(own, models, "cuda:3")
            assert text == "shoal: device cuda:3: there is no GPU 3, only 1 is there", text

    @test
    def a_gpu_serves_what_the_cpu_does(shoal, models):
        """Greedy tokens of the same model, a CPU's and an emulated GPU's, with one engine on each."""
        tale = {"tale": paths(models)["tale"]}
        with program(shoal, PLUGIN) as own, \
                Shoal(own, "--devices", "cuda:0", "--profile", "0", "--memory", "256MiB", models=tale) as gpu:
            there = gpu.text("tale", "Once upon a time", 6)
        with Shoal(shoal, models=tale) as cpu:
            here = cpu.text("tale", "Once upon a time", 6)
        assert there == here, (there, here)

    @test
    def lanes_of_a_gpu_serve_two_models(shoal, models):
        """ADBS plans for two partitions of the GPU, in which the models' passes run."""
        two = {name: paths(models)["tale"] for name in ("first", "second")}
        with program(shoal, PLUGIN) as own, \
                Shoal(own, "--devices", "cuda:0", "--policy", "adbs", "--profile", "0", "--memory", "256MiB", models=two) as gpu:
            there = [gpu.text(name, "Once upon", 3) for name in two]
        with Shoal(shoal, models=two) as cpu:
            assert there == [cpu.text(name, "Once upon", 3) for name in two], there

main()
