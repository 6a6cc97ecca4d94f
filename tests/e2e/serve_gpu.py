"""GPUs behind a plug-in: one sentence where it is missing or another build's, and a server on a GPU (an emulated one).

usage: serve_gpu.py SHOAL MODELS_FOLDER [PLUGIN NVML]      (PLUGIN: libshoal_cuda.so over the emulated GPU, NVML: a library that
stands for NVIDIA's; without them that part is skipped)
"""
import contextlib
import json
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


@test
def auto_takes_cpus_where_there_is_no_plugin(shoal, models):
    with program(shoal) as own, Shoal(own, "--devices", "auto", models={"tale": paths(models)["tale"]}) as s:
        engines = s.state()["engines"]
        assert [e["kind"] for e in engines] == ["cpu"] * len(engines), engines
        said = [line for line in s.log().splitlines() if "devices auto" in line]
        assert len(said) == 1 and "engines run on CPUs: the CUDA plug-in does not load" in said[0], said


if len(sys.argv) > 3:
    PLUGIN, NVML = (os.path.abspath(path) for path in sys.argv[3:5])

    @test
    def auto_takes_every_gpu(shoal, models):
        """And /models, ps and /metrics say what it is, with the figures of NVML."""
        with program(shoal, PLUGIN) as own, \
                Shoal(own, "--devices", "auto", "--profile", "0", "--memory", "256MiB", models={"tale": paths(models)["tale"]},
                      env={"LD_LIBRARY_PATH": os.path.dirname(NVML)}) as s:
            engine, = s.state()["engines"]
            assert engine["device"] == "cuda:0" and engine["kind"] == "cuda" and engine["gpu"] == "emulated GPU", engine
            assert engine["gpu_memory_bytes"] == 3 << 30 and engine["gpu_memory_used_bytes"] == 1 << 30, engine
            assert (engine["gpu_power_watts"], engine["gpu_utilisation"]) == (123.456, 0.42), engine
            assert "gpu_celsius" not in engine, engine  # the library says that this GPU does not tell it
            table = s.verb("ps")[1]
            assert "emulated GPU, 3.0 GiB, 1.0 GiB used, busy 42%, 123 W" in table, table
            metrics = s.get("/metrics")[2]
            labels = '{engine="0",device="cuda:0"} '
            for line in ["shoal_gpu_memory_total_bytes" + labels + "3221225472", "shoal_gpu_power_watts" + labels + "123.456",
                         'shoal_engine_device_info{engine="0",device="cuda:0",kind="cuda",name="emulated GPU"} 1']:
                assert line in metrics, (line, metrics)
            assert "\nshoal_gpu_celsius{" not in metrics

    @test
    def without_nvml_its_figures_are_left_out(shoal, models):
        with program(shoal, PLUGIN) as own, \
                Shoal(own, "--devices", "cuda:0", "--profile", "0", "--memory", "256MiB", models={"tale": paths(models)["tale"]}) as s:
            assert "gpu_power_watts" not in s.state()["engines"][0]
            assert "shoal_gpu_" not in s.get("/metrics")[2]
            said = [line for line in s.log().splitlines() if "NVML" in line]
            assert len(said) == 1 and "libnvidia-ml.so.1 is not on this machine" in said[0], said

    @test
    def auto_takes_cpus_where_there_is_no_gpu(shoal, models):
        with program(shoal, PLUGIN) as own, Shoal(own, "--devices", "auto", models={"tale": paths(models)["tale"]},
                                                  env={"EMULATED_GPUS": "0"}) as s:
            assert s.state()["engines"][0]["kind"] == "cpu"
            assert "devices auto: engines run on CPUs: this machine has no GPU" in s.log()

    @test
    def config_check_and_show_know_gpus(shoal, models):
        tale = paths(models)["tale"]
        with program(shoal, PLUGIN) as own:
            def run(*words):
                return subprocess.run([own, *words], capture_output=True, text=True, timeout=60)
            checked = run("config", "check", "--devices", "auto", "--model", "tale=" + tale)
            assert checked.returncode == 0 and "cuda:0: emulated GPU, 3.0 GiB" in checked.stdout, checked
            checked = run("config", "check", "--devices", "cuda:7", "--model", "tale=" + tale)
            assert "cuda:7: this machine has no such GPU" in checked.stdout, checked
            shown = run("show", tale, "--device", "cuda:0")
            assert shown.returncode == 0 and "cuda:0, emulated GPU, 3.0 GiB" in shown.stdout, shown
            refused = run("show", tale, "--device", "cuda:3")
            assert refused.returncode == 1 and "there is no GPU 3" in refused.stderr, refused

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
            for path, body in (("/v1/embeddings", {"input": "Once"}), ("/api/embed", {"input": "Once"}),
                               ("/v1/score", {"text_1": "Once", "text_2": "upon"})):
                status, _, page = gpu.post(path, {"model": "tale", **body})
                assert status == 400 and "makes no embeddings: let tale be served by a CPU" in json.dumps(page), (status, page)
        with Shoal(shoal, models=tale) as cpu:
            here = cpu.text("tale", "Once upon a time", 6)
        assert there == here, (there, here)

    @test
    def a_profile_measures_halves_side_by_side(shoal, models):
        """The times mean nothing here, but every pair of prompts and decodes is measured on two partitions."""
        with program(shoal, PLUGIN) as own:
            done = subprocess.run([own, "profile", paths(models)["tale"], "--device", "cuda:0", "--time", "100ms", "--batch", "2",
                                   "--prompt", "16"], capture_output=True, text=True, timeout=250)
            assert done.returncode == 0, done
            beside = json.loads(done.stdout)["beside"]
            assert beside["rounds"] > 0 and min(beside["prefill"] + beside["decode"]) >= 1, beside

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
