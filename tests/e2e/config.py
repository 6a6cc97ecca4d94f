"""`shoal serve` and `shoal config check` refuse the same configurations with the same sentences. Bad configurations are
made from the schema, from broken files and at random, and each is given to both.

usage: config.py SHOAL SOURCE_ROOT; CONFIG_CASES=n damages a configuration at random n times (25).
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

from serve_shared import SECONDS, TESTS, make_certificate, test
import toy

CASES = int(os.environ.get("CONFIG_CASES", 25))
# These depend on the machine, so that only the server can tell whether the value is refused.
OF_THE_MACHINE = ("has cores", "machine", "each needs one", "is to be loaded at start and needs", "listen: ")


class Both:
    """Runs a configuration through both verbs."""

    def __init__(self, shoal, root, folder):
        self.shoal, self.folder, self.path = shoal, folder, os.path.join(folder, "c.yaml")
        self.tale, self.cee = f"{root}/models/tale.gguf", f"{root}/models/cee.gguf"
        self.n_refused = self.n_taken = 0
        for name, text in (("key", "client\n"), ("boss", "boss\n"),
                           ("placement", "engines: [{device: cpu, services: [tale, cee], memory: 1GiB}]\n")):
            self.put(name, text)
        for name, text in zip(("cert.pem", "key.pem"), make_certificate(folder, "first")):
            self.put(name, text)
        make_certificate(folder, "second")

    def at(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def good(self):
        """As data, since JSON is YAML."""
        return {"api_key_file": self.at("key"), "admin_key_file": self.at("boss"), "tls_cert": self.at("cert.pem"), "tls_key": self.at("key.pem"),
                "placement": self.at("placement"), "log_engine": self.at("log"), "trace": self.at("trace"), "log_level": "info", "profile": "20ms",
                "models": {"tale": {"path": self.tale}, "cee": {"path": self.cee, "aliases": ["c"], "preload": False}}}

    def environment(self, more):
        return {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")} | (more or {})

    def serve(self, words, env):
        """The sentence with which it refuses to start; None: it listens."""
        with open(self.path, "rb") as file:
            words = [*words, *([] if b"listen" in file.read() else ["--listen", "127.0.0.1:0"])]
        process = subprocess.Popen([self.shoal, "serve", self.path, *words], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, errors="replace", env=self.environment(env))
        said = []
        for line in process.stderr:
            if "listening on" in line:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=SECONDS)
                return None
            said += [line.removeprefix("shoal: ").strip()] if line.startswith("shoal: ") else []
        assert process.wait(SECONDS) == 2 and len(said) == 1, (process.returncode, said)
        return said[0]

    def check(self, words, env):
        done = subprocess.run([self.shoal, "config", "check", self.path, *words], capture_output=True, text=True, errors="replace",
                              timeout=SECONDS, env=self.environment(env), check=False)
        said = [line.removeprefix("shoal: ") for line in done.stderr.splitlines() if line.startswith("shoal: ")]
        assert (done.returncode == 0) == (said == []) and done.returncode in (0, 1), done
        return said

    def judge(self, what, content, words=(), env=None):
        """Both print the same. Returns the sentence, or None."""
        self.put("c.yaml", content if isinstance(content, (str, bytes)) else json.dumps(content))
        refused, found = self.serve(words, env), self.check(words, env)
        if refused is not None and any(part in refused for part in OF_THE_MACHINE):
            return refused
        if refused is None:
            assert found == [], f"{what}: serve takes what config check refuses: {found}"
        else:
            assert any(line in (refused, line.partition(": ")[0] + ": " + refused) for line in found), f"{what}: serve says {refused!r}, config check {found}"
        self.n_refused += refused is not None
        self.n_taken += refused is None
        return refused


def with_both(function):
    def inside(shoal, root):
        with tempfile.TemporaryDirectory() as folder:
            both = Both(shoal, root, folder)
            function(both)
            print(f"{function.__name__}: {both.n_refused} refused, {both.n_taken} taken")
    inside.__name__ = function.__name__
    return test(inside)


def rows_of(schema, prefix=""):
    """(key, its row in the schema), with groups unfolded."""
    for name, row in schema["properties"].items():
        if row["type"] == "object" and name != "models":
            yield from rows_of(row, name + ".")
        elif name != "models":
            yield prefix + name, row


def put_at(data, key, value):
    *groups, last = key.split(".")
    for group in groups:
        data = data.setdefault(group, {})
    data[last] = value


def bad_values(row):
    if row["type"] == "array":
        return [["a\nb"], [""]]
    if row["type"] == "boolean":
        return ["yes"]
    if "maximum" in row:
        return [row["maximum"] + 1, row["minimum"] - 1 if row["minimum"] > -1 else "many"]
    return ["x\x1b[0m", "s" * 5000] if row["type"] == "string" else ["soon"]


@with_both
def config_every_key_with_bad_values(both):
    schema = json.loads(subprocess.run([both.shoal, "config", "schema"], capture_output=True, text=True, check=True).stdout)
    for is_of_model, rows in ((False, rows_of(schema)), (True, rows_of(schema["properties"]["models"]["additionalProperties"]))):
        for key, row in rows:
            for value in bad_values(row):
                data = both.good()
                put_at(data["models"]["tale"] if is_of_model else data, key, value)
                assert both.judge((key, value), data) is not None, f"{key}: {value!r} is taken"


@with_both
def config_files_that_are_broken(both):
    good = both.good()
    with open(both.tale, "rb") as file:
        model = file.read()
    assert both.judge("good", good) is None
    empty, garbage, missing = both.at("empty"), both.at("garbage"), both.at("missing")
    both.put("empty", "")
    both.put("garbage", b"\x00\xff\n\x00garbage" * 20)
    both.put("cut.gguf", model[:len(model) // 2])
    both.put("short.gguf", model[:1000])
    for name, changes in (("key", {"api_key_file": None}), ("boss", {"admin_key_file": None}), ("cert", {"tls_cert": None}), ("tls", {"tls_key": None}),
                          ("placement", {"placement": None})):
        for path in (empty, garbage, missing, both.folder):
            assert both.judge((name, path), {**good, **{key: path for key in changes}}), (name, path)
    for path in (empty, garbage, missing, both.folder, both.at("cut.gguf"), both.at("short.gguf")):
        for where in ("path", "profile"):
            data = both.good()
            data["models"]["tale"][where] = path
            assert both.judge((where, path), data), (where, path)
    for name in ("log_engine", "trace"):
        for path in (both.folder, missing + "/file"):
            assert both.judge((name, path), {**good, name: path}), (name, path)
    for cert, key in (("cert.pem", "second.key"), ("second.pem", "key.pem"), ("key.pem", "cert.pem")):
        assert both.judge((cert, key), {**good, "tls_cert": both.at(cert), "tls_key": both.at(key)})


@with_both
def config_what_several_keys_say(both):
    good = both.good()
    tale = {"path": both.tale}
    placements = ("{}", "engines: []", "engines: [{device: cpu, services: [tale, none]}]", "engines: [{device: cpu, services: [tale]}]",
                  "engines: [{device: a100}]", "engines: [{device: cpu, shares: [tale=200]}]", "engines: [{device: cpu, lanes: [1]}]",
                  "engines: [{device: cpu, count: 17}]", "engins: []")
    for text in placements:
        both.put("other", text)
        assert both.judge(text, {**good, "placement": both.at("other")}), text
    plain = {key: value for key, value in good.items() if key != "placement"}
    for more in ({"models": {}}, {"api_key": "both"}, {"admin_key": "both"}, {"tenants": ["a"]}, {"tenants": ["a=b", "c=b"]}, {"listen": "nowhere"},
                 {"listen": "127.0.0.1:99999"}, {"trace": both.at("log")}, {"policy": "best"}, {"router": "best"}, {"predictor": "oracle"},
                 {"preset": "none"}, {"planner": "none at all"}, {"kv": "none"}, {"kv_type": "q8"}, {"speculation": "yes"}, {"log_level": "loud"}, {"devices": ["cuda:x"]},
                 {"devices": ["cpu", "cpu"]}, {"devices": ["cpu:0-"]}, {"lanes": ["0"]}, {"thresholds": ["lease_tokens=0"]}, {"router_thresholds": ["x=1"]}, {"router_thresholds": ["phase=decode"]},
                 {"kv_bytes": 1}, {"cors_origin": "https://a/"}, {"cors_origin": "http://a\r\nX: y"},
                 {"models": {"tale": tale, "cee": {"path": both.cee, "aliases": ["tale"]}}}, {"models": {"a\nb": tale}}, {"models": {"tale": {}}},
                 {"models": {"tale": {**tale, "ctx": 100000}}}, {"models": {"tale": {**tale, "kv": {"min": 5, "max": 4}}}},
                 {"models": {"tale": {**tale, "kv": {"max": 4}}}}, {"models": {"tale": {**tale, "kv_type": "f8"}}},
                 {"models": {"tale": {**tale, "devices": ["cpu:7"]}}}, {"models": {"tale": {**tale, "keep_alive": "never"}}}, {"modles": {}}):
        assert both.judge(more, {**plain, **more}), more
    for more in ({"models": {"tale": tale}, "cors_origin": "*"}, {"tenants": ["a=b", "a=c"], "keyless": True}, {"kv_type": "q8_0"}):
        assert both.judge(more, {**plain, **more}) is None, more


@with_both
def config_the_environment_and_options(both):
    good = both.good()
    for env in ({"SHOAL_MAX_BATCH": "0"}, {"SHOAL_CORS_ORIGIN": "a\r\nb"}, {"SHOAL_TENANTS": " "}, {"SHOAL_API_KEY": "both"}, {"SHOAL_POLICY": "best"}):
        assert both.judge(env, good, env=env), env
    for words in (["--max-batch", "0"], ["--cors-origin", "http://a\nb"], ["--model", "tale=" + both.tale], ["--model", "x=/nowhere"], ["--policy", "best"],
                  ["--model", "a\x07=" + both.tale]):
        assert both.judge(words, good, words=words), words
    assert both.judge("no models", "log_level: info\n") == "no models: give --model NAME=PATH or a configuration"
    assert both.judge("models by options", "log_level: info\n", words=["--model", both.tale]) is None
    assert both.judge("variables", good, env={"SHOAL_MAX_BATCH": "7"}) is None
    for verb in (["serve", both.path], ["config", "check", both.path], ["version"], ["ps"]):
        done = subprocess.run([both.shoal, *verb], capture_output=True, text=True, env=both.environment({"SHOAL_MAX_BACTH": "7"}), check=False)
        assert done.returncode == 2 and done.stderr == "shoal: environment: SHOAL_MAX_BACTH is no setting, did you mean SHOAL_MAX_BATCH?\n", done


@with_both
def config_damaged_at_random(both):
    """Bytes changed, left out, doubled: mostly not a configuration any more, sometimes another one."""
    rng = random.Random(1)
    text = "\n".join(["api_key: client", f"tls_cert: {both.at('cert.pem')}", f"tls_key: {both.at('key.pem')}", "max_batch: 7", "drain: 3s", "log_json: false",
                      "slo: {ttft_ms: 100}", "devices: [cpu]", "cors_origin: http://a:80", "models:", f"  tale: {{path: {both.tale}, aliases: [a, b]}}",
                      f"  cee:\n    path: {both.cee}", "    kv: {min: 1MiB}", "    ctx: 200\n"]).encode()
    for _ in range(CASES):
        damaged = bytearray(text)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at, n = rng.randrange(len(damaged)), rng.choice([1, 1, 4, 40])
            damaged[at:at + n] = rng.choice([b"", bytes([rng.randrange(256)]), bytes(damaged[at:at + n]) * 2, b"\n", b": ", b"\t", b"{", b"0"])
        both.judge(bytes(damaged), bytes(damaged))


if __name__ == "__main__":
    toy.TESTS[:] = TESTS
    toy.run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
