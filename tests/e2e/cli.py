"""The command line from outside: every verb, its help, and one sentence for each fault.

usage: cli.py SHOAL SOURCE_ROOT; TEST_FILTER=part of a name runs only some.
"""
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

SHOAL, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TALE, CEE = os.path.join(ROOT, "models", "tale.gguf"), os.path.join(ROOT, "models", "cee.gguf")
VERBS = ["serve", "node", "gateway", "manager", "cluster", "deploy", "undeploy", "drain", "cordon", "uncordon", "pause", "unpause", "pin", "unpin", "top", "fetch", "run", "profile", "ps", "ls", "load", "unload", "show", "config", "demo", "completion", "version"]
SECONDS = 120
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def shoal(*args, **env):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")} | env
    return subprocess.run([SHOAL, *args], capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=ROOT)


def succeed(*args, **env):
    done = shoal(*args, **env)
    assert done.returncode == 0, f"{args}: {done.returncode}: {done.stderr}"
    return done.stdout


def refuse(sentence, *args, **env):
    """A wrong command line ends with a code above 0 (no signal), one sentence, and nothing on stdout."""
    done = shoal(*args, **env)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
    assert done.returncode in (1, 2), f"{args}: {done.returncode}"
    assert done.stdout == "", done.stdout
    assert len(lines) == 1 and sentence in lines[0], f"{args}: wanted {sentence!r}, got {done.stderr!r}"


@test
def profile_measures_writes_and_is_read_back():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tale.json")
        for budget in ("300ms", "3s", "30s"):  # slow builds measure few points in little time
            done = shoal("profile", TALE, "--time", budget, "--batch", "8", "--prompt", "64", "-o", path)
            assert done.returncode == 0 or "more time gives more" in done.stderr, done.stderr
            profile = json.load(open(path)) if done.returncode == 0 else {"groups": []}
            n_points = [group[kind]["n"] for group in profile["groups"] for kind in ("prefill", "decode")]
            if n_points and min(n_points) > 3:
                break
        hash_line = [line for line in done.stdout.splitlines() if line.startswith("hash")]
        assert profile["model"] and profile["shoal_profile"] == 1 and len(hash_line) == 1
        assert profile["peak_bytes"] > profile["weights_bytes"] > 0 and profile["kv_bytes_per_token"] > 0
        cores = [group["cores"] for group in profile["groups"]]
        assert cores == sorted(set(cores)) and cores[0] == 1 and profile["groups"][-1]["share"] == 1
        for group in profile["groups"]:
            assert group["perf_ps"]["c3"][0] > 0 and group["prefill"]["n"] > 3 and group["decode"]["n"] > 3
            assert group["held_out"] > 1 and len(group["samples"]) > 4 * group["held_out"] - 4
        scenario = os.path.join(folder, "s.yaml")
        with open(scenario, "w") as file:
            file.write(f"workload: 'azure-conv:rate=1,service=a'\nrequests: 50\n"
                       f"services: {{a: {{profile: {path}, profile-cores: 1}}}}\nengines: [{{memory: 1GiB}}]\n")
        assert f"a (profile {hash_line[0].split()[1]})" in succeed("sim", scenario)
        config = os.path.join(folder, "c.yaml")
        with open(config, "w") as file:
            file.write(f"models: {{tale: {{path: {TALE}, profile: {path}, preload: true}}}}\n")
        with open(os.path.join(folder, "other.yaml"), "w") as file:
            file.write(f"models: {{cee: {{path: {CEE}, profile: {path}, preload: true}}}}\n")
        refuse("was measured on another model file than", "serve", os.path.join(folder, "other.yaml"))
        server = subprocess.Popen([SHOAL, "serve", config, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        try:
            seen = ""
            for line in server.stderr:
                seen += line
                if "profile" in line:
                    break
            assert hash_line[0].split()[1] in seen, seen
        finally:
            server.terminate()
            server.communicate(timeout=SECONDS)


@test
def profile_says_what_is_wrong():
    refuse("--time", "profile", TALE, "--time", "soon")
    refuse("--batch", "profile", TALE, "--batch", "0")
    refuse("nowhere", "profile", "nowhere.gguf")


@test
def cli_help_lists_every_verb():
    for word in ("--help", "-h", "help"):
        text = succeed(word)
        for verb in VERBS:
            assert f"  {verb} " in text, verb
    assert shoal().returncode == 2
    for verb in VERBS:
        text = succeed(verb, "--help")
        assert text.startswith(f"Usage: shoal {verb}") and succeed(verb, "-h") == succeed("help", verb) == text, text
    assert succeed("help", "bench", "kernels") == succeed("bench", "kernels", "--help") != succeed("help", "bench")
    refuse('there is no verb "serv", did you mean serve?', "help", "serv")
    for option in ("--listen", "--model", "--preset", "--policy", "--kv-bytes", "--devices"):
        assert option + "=" in succeed("serve", "--help"), option


@test
def cli_version():
    assert succeed("version").startswith("shoal ")
    assert succeed("--version").startswith("shoal ")
    version = json.loads(succeed("version", "--json"))
    assert version["version"][0].isdigit() and version["isa"] in ("generic", "avx2", "avx512", "zen4", "amx"), version


@test
def cli_show():
    text = succeed("show", TALE)
    for word in ("architecture     llama", "MiB in memory", "activations", "bytes a token (f16)"):
        assert word in text, word
    for path, architecture in ((TALE, "llama"), (CEE, "gpt2")):
        shown = json.loads(succeed("show", path, "--json"))
        assert shown["architecture"] == architecture and shown["parameters"] > 1e6
        assert shown["file_bytes"] <= os.path.getsize(path)
        assert shown["weights_bytes"] > 0 and shown["activation_bytes"] > 0 and shown["kv_bytes_per_token"] > 0


@test
def cli_show_refuses_what_is_no_model():
    refuse("No such file or directory", "show", "/nonexistent.gguf")
    refuse("not a GGUF file", "show", os.path.join(ROOT, "dev"))
    with tempfile.TemporaryDirectory() as folder:
        refuse("config.json", "show", folder)
        cut = os.path.join(folder, "cut.gguf")
        with open(TALE, "rb") as whole, open(cut, "wb") as half:
            half.write(whole.read(os.path.getsize(TALE) // 2))
        refuse("cut.gguf", "show", cut)
        empty = os.path.join(folder, "empty.gguf")
        open(empty, "wb").close()
        refuse("empty.gguf", "show", empty)


def with_template(folder, name, template):
    """The model tale with another chat template, which a comment makes as long as its own."""
    path, own = os.path.join(folder, name), b"{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
    with open(TALE, "rb") as file:
        content = file.read()
    assert content.count(own) == 1 and len(template) + 4 <= len(own)
    with open(path, "wb") as file:
        file.write(content.replace(own, (template + "{#").encode().ljust(len(own) - 2) + b"#}"))
    return path


@test
def cli_templates_that_cannot_be_used():
    """show, config check, the start and clients name them. Completions work, and a setting may replace them."""
    fault = "chat template, line 2: the tag 'include' is not supported"
    with tempfile.TemporaryDirectory() as folder:
        bad = with_template(folder, "bad.gguf", "{{ bos_token }}\n{% include 'x' %}")
        parts = with_template(folder, "parts.gguf", "{% for p in messages[0].content %}<{{ p.text }}>{% endfor %}")
        assert f"chat template    cannot be used: {fault}\n" in succeed("show", bad)
        shown = json.loads(succeed("show", bad, "--json"))
        assert shown["chat_template"] is True and fault in shown["chat_template_fault"] and shown["chat_templates"] == ["default"]
        assert "chat template    yes\n" in succeed("show", parts) and "chat_template_fault" not in succeed("show", parts, "--json")
        address, path = f"127.0.0.1:{free_port()}", os.path.join(folder, "c.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"listen: {address}\ntemplate_time: 2026-01-31\nmodels:\n  bad: {{path: {bad}}}\n  parts: {{path: {parts}}}\n"
                       f"  set: {{path: {bad}, chat_template: \"{{{{ strftime_now('%d %B') }}}}{{{{ messages[0].content }}}}\"}}\n")
        done = shoal("config", "check", path)
        assert done.returncode == 0 and f"model bad serves no chats, only completions: {fault}\n" in done.stderr, done
        server = subprocess.Popen([SHOAL, "serve", path], stderr=subprocess.PIPE, text=True)
        try:
            said = ""
            while "listening on" not in said:
                line = server.stderr.readline()
                assert line, said
                said += line
            assert f"model bad serves no chats, only completions: {fault}" in said and "model set serves" not in said, said
            status, page = post(address, "/v1/chat/completions", model="bad", messages=[{"role": "user", "content": "Hi"}])
            assert status == 400 and page["error"]["message"] == (
                f'the chat template of the model "bad" cannot be used: {fault}; /v1/completions still works'), page
            assert post(address, "/v1/completions", model="bad", prompt="The king", max_tokens=2)[0] == 200
            for model, prompt in (("parts", "<Hi>"), ("set", "31 JanuaryHi")):
                status, page = post(address, "/v1/chat/completions", model=model, messages=[{"role": "user", "content": "Hi"}], max_tokens=2)
                whole = post(address, "/v1/completions", model=model, prompt=prompt, max_tokens=2, add_special_tokens=False)[1]
                assert status == 200 and page["usage"]["prompt_tokens"] == whole["usage"]["prompt_tokens"], (page, whole)
            lost = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "so?"}]
            status, page = post(address, "/v1/chat/completions", model="parts", messages=lost)
            assert status == 400 and "does not show the text of messages[1] (role user)" in page["error"]["message"], page
        finally:
            server.terminate()
            server.communicate(timeout=SECONDS)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"models:\n  tale: {{path: {TALE}, chat_template: /none.jinja}}\n")
        for words in (("config", "check", path), ("serve", path)):
            refuse("chat_template: /none.jinja", *words)


@test
def cli_config():
    assert "2 models" in succeed("config", "check", os.path.join(ROOT, "examples", "shoal.yaml"))
    schema = json.loads(succeed("config", "schema"))
    assert schema["properties"]["models"]["additionalProperties"]["required"] == ["path"]
    assert "| `kv_bytes` |" in succeed("config", "keys")
    assert "| `fcfs` | the model with the earliest prompt" in succeed("config", "policies")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("listen: 127.0.0.1:1\npolicies: rr\n")
        refuse('bad.yaml:2:1: unknown key "policies"', "config", "check", path)
        refuse('bad.yaml:2:1: unknown key "policies"', "serve", path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"models:\n\ta: {{path: {TALE}}}\n")
        refuse("bad.yaml:2:1: a tab: lines of YAML begin with spaces only", "config", "check", path)
        refuse("bad.yaml:2:1: a tab: lines of YAML begin with spaces only", "serve", path)
    refuse("No such file or directory", "config", "check", "/nonexistent.yaml")
    refuse("expected check FILE, schema, keys or policies", "config", "chequer")
    refuse("expected check FILE, or schema, or keys, or policies", "config")


@test
def cli_config_checks_files():
    """Every file that a configuration names: for each missing or broken one there is a sentence of its own."""
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        with open(TALE, "rb") as whole, open(at("cut.gguf"), "wb") as half:
            half.write(whole.read(os.path.getsize(TALE) // 2))
        with open(at("text.gguf"), "w", encoding="utf-8") as file:
            file.write("no model\n")
        with open(at("bad.json"), "w", encoding="utf-8") as file:
            file.write("{}\n")
        with open(at("c.yaml"), "w", encoding="utf-8") as file:
            file.write(f"api_key_file: {at('key')}\nmodels:\n  good: {{path: {TALE}}}\n  gone: {{path: {at('gone.gguf')}}}\n"
                       f"  cut: {{path: {at('cut.gguf')}}}\n  text: {{path: {at('text.gguf')}}}\n"
                       f"  timed: {{path: {TALE}, profile: {at('bad.json')}}}\n")
        done = shoal("config", "check", at("c.yaml"))
        lines = done.stderr.splitlines()
        assert done.returncode == 1 and done.stdout == "" and len(lines) == 5, done
        for line, words in zip(lines, (("key", "No such file"), ("model gone:", "gone.gguf", "No such file"), ("model cut:", "cut.gguf"),
                                       ("model text:", "not a GGUF file"), ("model timed:", "bad.json"))):
            assert line.startswith("shoal: ") and all(word in line for word in words), (words, line)
        os.mkfifo(at("pipe"))  # which is never filled
        with open(at("c.yaml"), "w", encoding="utf-8") as file:
            file.write(f"tls_cert: {at('pipe')}\ntls_key: {at('pipe')}\nmodels:\n  good: {{path: {TALE}}}\n")
        done = shoal("config", "check", at("c.yaml"))
        assert done.returncode == 1 and done.stderr == f"shoal: {at('pipe')} is not a regular file\n", done
        with open(at("c.yaml"), "w", encoding="utf-8") as file:
            file.write(f"models:\n  good: {{path: {TALE}}}\n")
        assert "fine, 1 model\n" in succeed("config", "check", at("c.yaml"))


@test
def cli_run_repeats_itself():
    words = ["run", TALE, "The king said", "--max-tokens", "8", "--seed", "1", "--temperature", "0.8"]
    first, second = succeed(*words), succeed(*words)
    assert first and first == second, (first, second)
    assert succeed("run", CEE, "static int ", "--max-tokens", "8", "--raw")


@test
def cli_run_reads_its_prompt():
    words, prompt = ("run", CEE, "--max-tokens", "6", "--raw"), "static int find(void)\n{\n"
    expected = succeed(*words, prompt)

    def piped(text, code=0):
        done = subprocess.run([SHOAL, *words, "-"], input=text, capture_output=True, timeout=SECONDS, check=False)
        assert done.returncode == code, done
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    assert piped(prompt.encode() + b"\n") == piped(prompt.encode() + b"\r\n") == expected  # the line end that closes it is none of it
    assert piped(prompt.encode()) == succeed(*words, prompt.removesuffix("\n"))
    with open(os.path.join(ROOT, "dev"), "rb") as file:  # behind "<"
        done = subprocess.run([SHOAL, *words, "-"], stdin=file, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 1 and "the prompt is longer than the model's context of 512 tokens" in done.stderr, done
    assert piped(b"a\0b", 2) == "shoal: the prompt holds a zero byte, so it is no text\n"
    assert piped(b"a" * (17 << 20), 2) == "shoal: the prompt is longer than 16 MiB\n"
    assert piped(b"\n") == piped(b"") == succeed(*words, "")


@test
def cli_completes():
    def complete(*words):
        script = 'source <("$0" completion bash); COMP_WORDS=(shoal "$@"); COMP_CWORD=$#; _shoal "$0"; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, SHOAL, *words], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout.split()

    assert set(VERBS) <= set(complete("")) and complete("unl") == ["unload"]
    assert complete("run", "--max-t") == ["--max-tokens="] and complete("run", "--ra") == ["--raw"]
    assert "--listen=" in complete("serve", "--") and "--html=" in complete("sim", "--")
    assert complete("swim", "--") == [] and complete("load", "t") == []
    refuse("completion for bash only", "completion", "fish")


@test
def cli_refuses_wrong_words():
    refuse('there is no verb "dance"; see shoal --help', "dance")
    refuse('there is no verb "serv", did you mean serve?', "serv")
    refuse("unrecognized option '--swim'", "serve", "--swim")
    refuse("expected MODEL PROMPT", "run", TALE)
    refuse("unrecognized option '--listen=", "run", TALE, "x", "--listen=127.0.0.1:1")
    page = succeed("run", "--help")
    assert "--kv-type" in page and "--max-tokens" in page and "--listen" not in page and "--model" not in page, page
    refuse("one argument too many", "version", "now")
    refuse("No such file or directory", "run", "/nonexistent.gguf", "x")
    refuse("not a GGUF file", "run", os.path.join(ROOT, "dev"), "x")
    refuse("--max-tokens", "run", TALE, "x", "--max-tokens", "none")
    for words in (("sim", "--workload", "sea16", "--csv"), ("bench", "127.0.0.1:1", "--html"), ("plan", "1x1xa100", "--out")):
        refuse(f"{words[-1]}: /nowhere/x: No such file or directory", *words, "/nowhere/x")  # before the work, not after it
    refuse("/nowhere/x: No such file or directory", "profile", TALE, "-o", "/nowhere/x")


@test
def cli_serve_refuses_bad_settings():
    refuse("no models: give --model NAME=PATH or a configuration", "serve")
    refuse("tale.gguf is no configuration: a model comes behind --model", "serve", TALE)
    refuse("is no configuration: a model comes behind --model", "serve", ROOT)
    tls = ("serve", "--model", TALE, "--tls-cert")
    refuse("/nowhere: No such file or directory", *tls, "/nowhere", "--tls-key", "/nowhere")
    page = os.path.join(ROOT, "README.md")
    refuse(f"tls_cert: {page} holds no certificate in PEM", *tls, page, "--tls-key", page)
    refuse('max_batch is "none", expected a whole number', "serve", "--max-batch", "none")
    refuse("environment SHOAL_MAX_BATCH", "serve", "--model", TALE, SHOAL_MAX_BATCH="none")
    refuse('there is no policy "none"', "serve", "--model", TALE, "--policy", "none")
    refuse('there is no preset "none"', "serve", "--model", TALE, "--preset", "none")
    refuse("two models are named a", "serve", "--model", "a=" + TALE, "--model", "a=" + CEE)
    refuse("No such file or directory", "serve", "--model", "a=/nonexistent.gguf")
    refuse("device gpu", "serve", "--model", TALE, "--devices", "gpu")
    for listen in ("nowhere", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:http"):
        refuse("is not ADDRESS:PORT, with a port from 0 to 65535", "serve", "--model", TALE, "--listen", listen)
    refuse("memory: 1073741824 MiB are wanted for 1 engine, and this machine has ", "serve", "--model", TALE, "--memory", "1024TiB")
    refuse("model =x: the model's name is empty (NAME=PATH)", "serve", "--model", "=x")
    refuse("kv_bytes is 1, and model a needs ", "serve", "--model", "a=" + TALE, "--kv-bytes", "1")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def post(address, path, **body):
    request = urllib.request.Request(f"http://{address}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@test
def cli_serve_warns_of_an_open_door():
    for listen, key, is_open in ((f"127.0.0.1:{free_port()}", [], False), (f"0.0.0.0:{free_port()}", [], True), (f":{free_port()}", [], True),
                                 (f"0.0.0.0:{free_port()}", ["--api-key", "k"], False)):
        server = subprocess.Popen([SHOAL, "serve", "--listen", listen, "--model", "tale=" + TALE, *key], stderr=subprocess.PIPE, text=True)
        said = ""
        try:
            while "is ready after" not in said:
                line = server.stderr.readline()
                assert line, said
                said += line
        finally:
            server.terminate()
            server.communicate(timeout=SECONDS)
        assert ("no key is set" in said) == is_open, (listen, said)


@test
def cli_asks_a_running_server():
    address = f"127.0.0.1:{free_port()}"
    words = [SHOAL, "serve", "--listen", address, "--model", "tale=" + TALE, "--log-level", "error", "--admin-key", "k"]
    server = subprocess.Popen(words)
    try:
        end = time.monotonic() + SECONDS
        while '"loaded"' not in shoal("ps", "--json", SHOAL_LISTEN=address, SHOAL_ADMIN_KEY="k").stdout:
            assert time.monotonic() < end and server.poll() is None, "the server does not get ready"
            time.sleep(0.1)
        env = {"SHOAL_LISTEN": address, "SHOAL_ADMIN_KEY": "k"}
        rows = [line.split() for line in succeed("ps", **env).splitlines()]
        assert rows[0][0] == "NAME" and rows[1][:2] == ["tale", "loaded"] and rows[1][2].startswith("cpu:") and float(rows[1][3]) > 1, rows
        assert succeed("ls", "--server", f"http://{address}/v1/", "--key", "k") == succeed("ls", "--server", address, "--key", "k")
        assert succeed("ls", "--server", address, "--key", "k").splitlines()[1].split()[:2] == ["tale", "loaded"]
        assert succeed("unload", "tale", **env) == "tale: is unloaded\n"
        assert succeed("load", "tale", **env) == "tale: is loaded\n"
        assert json.loads(succeed("load", "tale", "--json", **env))
        refuse('the model "swim" does not exist here', "load", "swim", **env)
        refuse("key", "load", "tale", SHOAL_LISTEN=address)
    finally:
        server.terminate()
        assert server.wait(SECONDS) == 0
    refuse("is shoal serve running?", "ps", SHOAL_LISTEN=address)


@test
def cli_reaches_a_server_over_tls():
    port, workload = free_port(), ("--workload", "poisson:service=tale,rate=50,in=9,out=4", "--requests", "5", "--solo", "1", "--json")
    with tempfile.TemporaryDirectory() as folder:
        cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", key, "-out", cert], check=True, capture_output=True)
        server = subprocess.Popen([SHOAL, "serve", "--listen", f"127.0.0.1:{port}", "--model", "tale=" + TALE, "--log-level", "error", "--tls-cert", cert,
                                   "--tls-key", key, "--profile", "20ms"])
        try:
            plain, secure = f"127.0.0.1:{port}", f"https://127.0.0.1:{port}"
            end = time.monotonic() + SECONDS
            while '"loaded"' not in shoal("ps", "--json", "--server", secure, "--insecure").stdout:
                assert time.monotonic() < end and server.poll() is None, "the server does not get ready"
                time.sleep(0.1)
            for trust in (["--cacert", cert], ["--insecure"]):
                for address in (plain, secure):  # an address without a scheme is https with these
                    assert succeed("ls", "--server", address, *trust).splitlines()[1].split()[:2] == ["tale", "loaded"]
                    assert succeed("ps", "--server", address, *trust).splitlines()[1].split()[:2] == ["tale", "loaded"]
                    assert succeed("unload", "tale", "--server", address, *trust) == "tale: is unloaded\n"
                    assert succeed("load", "tale", "--server", address, *trust) == "tale: is loaded\n"
                    page = json.loads(succeed("bench", address, *trust, *workload))
                    assert page["completed"] == 5 and page["wrong"] == [] and page["inexact_prompts"] < 5, page  # /tokenize answers, too
                assert succeed("ls", *trust, SHOAL_LISTEN=plain).splitlines()[1].split()[0] == "tale"
            for words in (("ls", "--server", secure), ("load", "tale", "--server", secure), ("bench", secure, *workload)):
                refuse("--cacert FILE names what to trust, --insecure trusts any certificate", *words)
            for words in (("ps", "--server"), ("bench", *workload)):
                refuse("--insecure is for https://, but the server is http://", *words, "http://" + plain, "--insecure")
                refuse("--cacert: there is no file /nowhere", *words, plain, "--cacert", "/nowhere")
            refuse("if it speaks TLS, write https://", "ls", "--server", plain)
        finally:
            server.terminate()
            assert server.wait(SECONDS) == 0
    with socket.socket() as listening:  # a server without TLS is told apart
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        def answer():
            while True:
                with listening.accept()[0] as connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        threading.Thread(target=answer, daemon=True).start()
        for words in (("ls", "--server"), ("bench", *workload, "--prompt", "ids")):
            refuse("if it speaks no TLS, write http://", *words, f"https://127.0.0.1:{listening.getsockname()[1]}", "--insecure")


class Models(http.server.BaseHTTPRequestHandler):
    """A server with `page` as its GET /models."""
    page = {}

    def log_message(self, *args):
        pass

    def do_GET(self):
        body = json.dumps(self.page).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@test
def cli_ps_fits_a_terminal():
    def part(**fields):
        return {"status": {"value": "loaded"}, "device": "cpu:0", "memory": {"weights_bytes": 7 << 30, "kv_used_bytes": 3 << 20}, **fields}

    huge = {"weights_bytes": 1e18, "kv_used_bytes": 1e18, "activation_bytes": 1e18, "kv_cached_bytes": 1e18}
    names = ["tale", "a-model-with-a-long-name-of-more-than-twenty-bytes", "\u00e9" * 40, ""]
    models = [{"id": name, "status": {"value": "loaded"}, "engines": [part(), part(device="cpu:0-15,32-47", kv_share=1, kv_r=12345.678, memory=huge,
               requests_running=1234567, requests_waiting=7654321)]} for name in names]
    models += [{"id": name, "status": {"value": "failed", "reason": "m.gguf: tensor blk.3 has 3 dimensions, " * 5 + "x" * 200},
                "devices": [f"cpu:{i}" for i in range(90)], "engines": []} for name in names]
    engines = [{"device": "cpu:0-15", "engine": 3, "memory_bytes": 1e15, "kv_pool_bytes": 1e15, "kv_free_bytes": 1e15, "kv_table_bytes": 1e12, "healthy": False}]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_address[1]}"
    for page in ({"data": models, "engines": engines}, {"data": []}, {}, {"data": [{}, 3, {"engines": [None]}], "engines": [{}]}):
        Models.page = page
        text = succeed("ps", "--server", address)
        assert all(len(line) <= 80 for line in text.splitlines()), text
        assert text.splitlines()[0].split() == ["NAME", "STATUS", "DEVICE", "WEIGHTS", "KV", "PART", "R", "RUN", "WAIT"]
        wide = succeed("ps", "--wide", "--server", address).splitlines()
        assert wide[0].split()[-3:] == ["EXCEED", "PADS", "INVALID"]
    Models.page = {"data": models, "engines": engines}
    text = succeed("ps", "--server", address)
    assert "".join(text.split()).count("m.gguf:tensorblk.3has3dimensions," * 5 + "x" * 200) == 4, text  # reasons are told whole
    assert "it is not healthy" in " ".join(text.split()) and text.splitlines()[1].split()[3:5] == ["7168.0", "3.0"], text
    server.shutdown()


@test
def cli_demo():
    text = succeed("demo", "--models", os.path.join(ROOT, "models"))
    for word in ("[tale: ", "[cee: ", "TTFT", "the server stopped cleanly"):
        assert word in text, text


def main():
    n_failed = 0
    for function in TESTS:
        if os.environ.get("TEST_FILTER", "") not in function.__name__:
            continue
        print(f"[ RUN      ] {function.__name__}", flush=True)
        try:
            function()
            print(f"[       OK ] {function.__name__}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired, KeyError, ValueError, IndexError) as error:
            print(f"{type(error).__name__}: {error}\n[  FAILED  ] {function.__name__}", flush=True)
            n_failed += 1
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
