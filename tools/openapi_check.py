#!/usr/bin/env python3
"""Runs schemathesis over GET /openapi.json of a server, for ./dev check openapi: no answer is 5xx, and
every answer has a status, a type and a body that the document allows.

    openapi_check.py SHOAL MODEL SCHEMATHESIS"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method"


def main():
    program, model, schemathesis = sys.argv[1:4]
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--model", f"tiny={model}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in server.stdout:
            if match := re.search(r"\(port (\d+)\)", line):
                break
        threading.Thread(target=server.stdout.read, daemon=True).start()
        url = f"http://127.0.0.1:{match[1]}"
        document = json.load(urllib.request.urlopen(f"{url}/openapi.json"))
        del document["paths"]["/models/sse"]  # whose answer has no end
        with tempfile.TemporaryDirectory() as folder:  # it also keeps a cache there
            path = os.path.join(folder, "openapi.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(document, f)
            code = subprocess.run([os.path.abspath(schemathesis), "run", path, "--url", url, "--checks", CHECKS, "--max-examples",
                                   "40", "--request-timeout", "60", "--seed", "7"], cwd=folder).returncode
        code = code or server.poll()  # the server lives
    finally:
        server.terminate()
        server.wait()
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
