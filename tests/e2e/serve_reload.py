"""SIGHUP: a reload accepts the same files as a start, applies a file as a whole or not at all, and never gives access
by accident.

usage: serve_reload.py SHOAL MODELS_FOLDER
"""
import http.client
import os
import signal
import ssl
import subprocess
import tempfile

from serve_shared import SECONDS, Shoal, body_of, free_port, main, make_certificate, test, until

DONE = "are as the configuration says"
FAILED = "nothing changed: "
SHUT = [("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/models"), ("POST", "/sleep")]  # the last two are an operator's


def reload(server):
    """The sentence why nothing changed; "" when everything was applied."""
    n = server.log().count(DONE) + server.log().count(FAILED)
    server.signal(signal.SIGHUP)
    until(lambda: server.log().count(DONE) + server.log().count(FAILED) > n, pause=0.005)
    last = [line for line in server.log().splitlines() if DONE in line or FAILED in line][-1]
    return last.partition(FAILED)[2]


def statuses(server, key=None):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return [server.get(path, headers)[0] if method == "GET" else server.post(path, {}, headers)[0] for method, path in SHUT]


def is_shut(server):
    return statuses(server) == [401] * 4


def start_refuses(shoal, config_path):
    """The sentence of a `shoal serve` with this configuration."""
    done = subprocess.run([shoal, "serve", config_path, "--listen", f"127.0.0.1:{free_port()}"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done
    return done.stderr.removeprefix("shoal: ").rstrip("\n")


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


@test
def reload_of_a_cut_file_opens_nothing(shoal, models):
    """The file cut after each of its bytes: some of the parts are configurations, and none gives a stranger access."""
    text = (f"# keys first, as people write them\napi_key: client\nadmin_key: boss\ntenants: [one=first, two=second]\n"
            f"models:\n  tale:\n    path: {models}/tale.gguf\n")
    with Shoal(shoal, config=text, wait=None) as server:
        assert is_shut(server)
        n_refused = 0
        for cut in range(len(text) + 1):
            server.write_config(text[:cut])
            n_refused += reload(server) != ""
            if cut % 8 == 0 or cut == len(text):
                assert is_shut(server), text[:cut]
        assert n_refused >= len(text) - 12, n_refused  # what is whole but for its path's end, or its last newline
        assert statuses(server, "boss") == [200] * 4 and statuses(server, "client")[:2] == [200] * 2
        server.post("/wake_up", {}, {"Authorization": "Bearer boss"})


@test
def reload_refuses_what_start_refuses(shoal, models):
    """Both use the same sentence."""
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        good = f"api_key_file: {key}\nadmin_key: boss\nmodels:\n  tale: {{path: {models}/tale.gguf}}\n"
        write(key, "client\n")
        with Shoal(shoal, config=good, wait=None) as server:
            path = server.config_path

            def refuses(sentence):
                said = reload(server)
                assert sentence in said and said == start_refuses(shoal, path), (sentence, said)
                assert is_shut(server) and statuses(server, "client")[:2] == [200] * 2, sentence

            for content, sentence in (("", "no models: "), ("# nothing\n", "no models: "), ("---\n...\n", "no models: "),
                                      (b"\xff\xfe", ""), ("{}", "no models: "), ("\x00", ""), (" " * (1 << 20) + "\n", "larger than"),
                                      (good + "policy: best\n", 'no policy "best"'), (good + "keyles: true\n", 'unknown key "keyles"'),
                                      (good + "tenants: [a]\n", "not NAME=KEY"), (good + "tenants: [a=b, c=b]\n", "the same key"),
                                      (good + 'cors_origin: "http://a\\r\\nX: y"\n', "cors_origin has a control character"),
                                      (good + "log_level: loud\n", "log_level"), (good + "api_key: ''\n", "api_key is empty"),
                                      (good + "api_key: both\n", "both api_key and api_key_file"), (good + "tls_key: /x\n", "come together"),
                                      (good.replace("admin_key: boss", "admin_key_file: /nowhere"), "/nowhere: No such file"),
                                      (good.replace(key, folder), "Is a directory"), (good + "api_key_file: x\n", "repeated key")):
                write(path, content)
                if "Is a directory" in sentence:  # a reload is stricter: it reads regular files only
                    assert "is not a regular file" in reload(server) and is_shut(server)
                else:
                    refuses(sentence)
            server.write_config(good)
            for content, sentence in ((b"", "is empty"), (b"\n", "is empty"), (b"\0\0\0\0", "U+0000"), (b" \n", "a space"),
                                      (b"n\xc3\xa9w\n", "outside ASCII"), (b"k" * 5000, "larger than")):
                write(key, content)
                refuses(sentence)
            os.unlink(key)
            refuses("No such file")
            for make in (os.mkfifo, os.mkdir):
                make(key)
                assert "is not a regular file" in reload(server) and is_shut(server)
                os.unlink(key) if make is os.mkfifo else os.rmdir(key)
            write(key, "new\n")
            assert reload(server) == "" and is_shut(server)
            assert statuses(server, "client") == [401] * 4 and statuses(server, "new")[:2] == [200] * 2


@test
def reload_loses_no_key_by_accident(shoal, models):
    rest = f"models:\n  tale: {{path: {models}/tale.gguf}}\n"
    with Shoal(shoal, config="api_key: client\nadmin_key: boss\n" + rest, wait=None) as server:
        for keys, sentence in (("admin_key: boss\n", "api_key and tenants are gone"), ("", "are gone"), ("api_key: client\n", "admin_key is gone"),
                               ("keyless: false\n", "are gone")):
            server.write_config(keys + rest)
            said = reload(server)
            assert sentence in said and "keyless: true" in said, said
            assert is_shut(server) and statuses(server, "client")[:2] == [200] * 2
        server.write_config("tenants: [one=first]\nadmin_key: boss\n" + rest)  # another kind of key is a key
        assert reload(server) == "" and is_shut(server)
        assert statuses(server, "first")[:2] == [200] * 2 and statuses(server, "client") == [401] * 4
        server.write_config("tenants: []\nadmin_key: boss\n" + rest)
        assert "are gone" in reload(server) and is_shut(server)
        server.write_config("keyless: true\n" + rest)
        assert reload(server) == "" and statuses(server)[:2] == [200] * 2


@test
def reload_applies_nothing_by_halves(shoal, models):
    """A new key beside a setting that needs a restart: neither is applied, and the message names the setting."""
    rest = f"  tale: {{path: {models}/tale.gguf}}\n"
    good = "api_key: old\n"
    with Shoal(shoal, config=good + "models:\n" + rest, wait=None) as server:
        for more, of_model, names in (("max_batch: 7\n", rest, "max_batch"), ("cors_origin: http://a\nstrict: true\n", rest, "cors_origin, strict"),
                                      ("", rest.replace("}", ", rate: 3}"), "model tale: rate"), ("devices: [cpu]\n", rest, "devices")):
            server.write_config("api_key: new\nlog_level: debug\n" + more + "models:\n" + of_model)
            said = reload(server)
            assert said.startswith(names + ": ") and "with a restart only" in said, said
            assert statuses(server, "old")[:2] == [200] * 2 and statuses(server, "new")[:2] == [401] * 2
        assert " debug " not in server.log()
        server.write_config("api_key: new\nlog_level: debug\nmodels:\n" + rest)
        assert reload(server) == "" and statuses(server, "new")[:2] == [200] * 2
        server.post("/v1/completions", body_of("tale", "x", 2), {"Authorization": "Bearer new"})
        until(lambda: " debug " in server.log())


class TlsShoal(Shoal):
    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=SECONDS)
        connection.connect()
        return connection

    def get(self, path, headers=None, timeout=SECONDS):
        connection = self.connect()
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, {}, text

    def certificate(self):
        connection = self.connect()
        der = connection.sock.getpeercert(binary_form=True)
        connection.close()
        return der


@test
def reload_of_certificates(shoal, models):
    with tempfile.TemporaryDirectory() as folder:
        first, second = make_certificate(folder, "first"), make_certificate(folder, "second")
        locked = make_certificate(folder, "locked", "-passout", "pass:secret")
        cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        good = f"tls_cert: {cert}\ntls_key: {key}\nmodels:\n  tale: {{path: {models}/tale.gguf}}\n"

        def put(pair):
            write(cert, pair[0])
            write(key, pair[1])
        put(first)
        with TlsShoal(shoal, config=good, wait=None) as server:
            one = server.certificate()
            kept = server.connect()
            for pair, sentence in (((first[0], second[1]), "belongs to"), (("", first[1]), "holds no certificate"), ((first[0], ""), "holds no private key"),
                                   ((first[0][:300], first[1]), "holds no certificate"), ((first[0], first[1][:100]), "holds no private key"),
                                   (locked, "holds no private key, in PEM and not encrypted"), (("nonsense", "nonsense"), "holds no certificate")):
                put(pair)
                said = reload(server)
                assert sentence in said and said == start_refuses(shoal, server.config_path), (sentence, said)
                assert server.certificate() == one
            os.unlink(cert)
            assert "No such file" in reload(server) and server.certificate() == one
            put(second)
            server.write_config(good.partition("models:")[1] + good.partition("models:")[2])
            assert reload(server).startswith("tls_cert: this changes with a restart only") and server.certificate() == one
            server.write_config(good)
            assert reload(server) == ""
            two = server.certificate()
            assert two != one and ssl.PEM_cert_to_DER_cert(second[0]) == two
            kept.request("GET", "/livez")  # begun under the first certificate
            assert kept.getresponse().status == 200
            kept.close()


if __name__ == "__main__":
    main()
