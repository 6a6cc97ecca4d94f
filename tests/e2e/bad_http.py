"""Bad HTTP and bad JSON over raw sockets: each gets one clear JSON error or a closed connection, and the server
continues.

usage: bad_http.py API_SERVE | bad_http.py --port N (a server that has a model called toy)
"""
import json
import socket
import sys
import threading
import time

import toy
from toy import raw, run, test, until

BODY = b'{"model":"toy","prompt":"hi","max_tokens":2}'
HOST = b"Host: localhost\r\n"


def head(line, *headers):
    return line + b"\r\n" + b"".join(h + b"\r\n" for h in headers) + b"\r\n"


def get(*headers, line=b"GET /livez HTTP/1.1"):
    return head(line, *headers)


def completion(*headers, body=BODY):
    return head(b"POST /v1/completions HTTP/1.1", b"Host: localhost", *headers) + body


def status_of(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


def metric(port, name):
    for line in toy.ask(port, "GET", "/metrics")[2].splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])


def refused(port, data, status=400, seconds=3.0):
    """Expects an error page in JSON with this status, and a closed connection."""
    got, closed = raw(port, data, seconds)
    assert status_of(got) == status, (status, got[:300])
    assert closed, "the connection stayed open"
    page = json.loads(got.split(b"\r\n\r\n", 1)[1])
    assert page["error"]["message"], page
    return page["error"]["message"]


def fine(port, data):
    got, _ = raw(port, data, 0.4)
    assert status_of(got) == 200, got[:300]
    return got


REFUSED = {  # name: (bytes, status)
    "duplicate_content_length": (completion(b"Content-Length: 43", b"Content-Length: 43"), 400),
    "differing_content_lengths": (completion(b"Content-Length: 5", b"Content-Length: 6"), 400),
    "content_length_list": (completion(b"Content-Length: 43, 43"), 400),
    "content_length_plus": (completion(b"Content-Length: +43"), 400),
    "content_length_minus": (completion(b"Content-Length: -1"), 400),
    "content_length_hex": (completion(b"Content-Length: 0x2b"), 400),
    "content_length_words": (completion(b"Content-Length: many"), 400),
    "content_length_empty": (completion(b"Content-Length: "), 400),
    "content_length_space_inside": (completion(b"Content-Length: 4 3"), 400),
    "content_length_overflow": (completion(b"Content-Length: 99999999999999999999999"), 413),
    "content_length_huge": (completion(b"Content-Length: 9000000000000000000"), 413),
    "transfer_encoding_junk": (completion(b"Transfer-Encoding: xchunked"), 400),
    "transfer_encoding_list": (completion(b"Transfer-Encoding: gzip, chunked"), 400),
    "transfer_encoding_twice": (completion(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 400),
    "transfer_encoding_identity": (completion(b"Transfer-Encoding: identity"), 400),
    "transfer_encoding_and_length": (completion(b"Transfer-Encoding: chunked", b"Content-Length: 43"), 400),
    "transfer_encoding_1_0": (head(b"POST /v1/completions HTTP/1.0", b"Host: localhost", b"Transfer-Encoding: chunked"), 400),
    "space_before_colon": (completion(b"Transfer-Encoding : chunked"), 400),
    "space_before_colon_length": (completion(b"Content-Length : 43"), 400),
    "no_host": (get(), 400),
    "two_hosts": (get(b"Host: a", b"Host: b"), 400),
    "host_with_space": (get(b"Host: a b"), 400),
    "host_with_slash": (get(b"Host: a/b"), 400),
    "bare_lf_between_headers": (b"GET /livez HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400),
    "bare_lf_request_line": (b"GET /livez HTTP/1.1\nHost: localhost\r\n\r\n", 400),
    "bare_cr_in_value": (get(b"Host: localhost", b"X: a\rb"), 400),
    "nul_in_value": (get(b"Host: localhost", b"X: a\0b"), 400),
    "nul_in_name": (get(b"Host: localhost", b"X\0: a"), 400),
    "nul_in_target": (get(b"Host: localhost", line=b"GET /li\0vez HTTP/1.1"), 400),
    "control_in_value": (get(b"Host: localhost", b"X: a\x01b"), 400),
    "folded_header": (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", 400),
    "empty_header_name": (get(b"Host: localhost", b": a"), 400),
    "no_colon": (get(b"Host: localhost", b"what is this"), 400),
    "space_in_name": (get(b"Host: localhost", b"X Y: a"), 400),
    "utf8_in_name": (get(b"Host: localhost", "Ü: a".encode()), 400),
    "no_version": (get(b"Host: localhost", line=b"GET /livez"), 400),
    "two_spaces": (get(b"Host: localhost", line=b"GET  /livez HTTP/1.1"), 400),
    "space_at_end": (get(b"Host: localhost", line=b"GET /livez HTTP/1.1 "), 400),
    "tab_for_space": (get(b"Host: localhost", line=b"GET\t/livez\tHTTP/1.1"), 400),
    "no_slash": (get(b"Host: localhost", line=b"GET livez HTTP/1.1"), 400),
    "high_byte_in_target": (get(b"Host: localhost", line=b"GET /li\xffvez HTTP/1.1"), 400),
    "method_with_brace": (get(b"Host: localhost", line=b"G{T /livez HTTP/1.1"), 400),
    "version_2": (get(b"Host: localhost", line=b"GET /livez HTTP/2.0"), 505),
    "version_0_9": (get(b"Host: localhost", line=b"GET /livez HTTP/0.9"), 505),
    "version_1_2": (get(b"Host: localhost", line=b"GET /livez HTTP/1.2"), 505),
    "version_lower": (get(b"Host: localhost", line=b"GET /livez http/1.1"), 400),
    "version_junk": (get(b"Host: localhost", line=b"GET /livez HTTP/1.1x"), 400),
    "http2_preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "tls_hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "too_many_headers": (get(b"Host: localhost", *[b"X-%d: y" % i for i in range(80)]), 431),
    "endless_header": (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40000, 431),
    "endless_target": (b"GET /" + b"a" * 40000, 431),
    "expectation": (completion(b"Content-Length: 43", b"Expect: 200-ok"), 417),
    "chunk_size_hex_prefix": (completion(b"Transfer-Encoding: chunked", body=b"0x3\r\nabc\r\n0\r\n\r\n"), 400),
    "chunk_size_minus": (completion(b"Transfer-Encoding: chunked", body=b"-1\r\nabc\r\n0\r\n\r\n"), 400),
    "chunk_size_plus": (completion(b"Transfer-Encoding: chunked", body=b"+3\r\nabc\r\n0\r\n\r\n"), 400),
    "chunk_size_empty": (completion(b"Transfer-Encoding: chunked", body=b"\r\nabc\r\n0\r\n\r\n"), 400),
    "chunk_size_overflow": (completion(b"Transfer-Encoding: chunked", body=b"1000000000000000000\r\n"), 400),
    "chunk_size_space": (completion(b"Transfer-Encoding: chunked", body=b"3 \r\nabc\r\n0\r\n\r\n"), 400),
    "chunk_bare_lf": (completion(b"Transfer-Encoding: chunked", body=b"3\nabc\r\n0\r\n\r\n"), 400),
    "chunk_too_long_data": (completion(b"Transfer-Encoding: chunked", body=b"3\r\nabcd\r\n0\r\n\r\n"), 400),
    "chunk_endless_extension": (completion(b"Transfer-Encoding: chunked", body=b"3;" + b"x" * 2000), 400),
    "chunk_bad_trailer": (completion(b"Transfer-Encoding: chunked", body=b"0\r\n: x\r\n\r\n"), 400),
    "body_over_limit": (completion(b"Content-Length: 900000000", body=b""), 413),
}
for name, (data, status) in REFUSED.items():
    def refuse_it(port, data=data, status=status):
        refused(port, data, status)
    refuse_it.__name__ = name
    test(refuse_it)

BAD_JSON = {
    "json_empty": b"", "json_not": b"hello", "json_array": b"[]", "json_text": b'"x"', "json_null": b"null",
    "json_cut": b'{"model":"toy","prompt":"h', "json_tail": b'{"prompt":"x"} x', "json_two": b'{"prompt":"x"}{"prompt":"x"}',
    "json_duplicate_key": b'{"prompt":"x","prompt":"y"}', "json_nul": b'{"prompt":"a\0b"}', "json_u0000": b'{"prompt":"a\\u0000b"}',
    "json_lone_surrogate": b'{"prompt":"\\ud800"}', "json_bad_utf8": b'{"prompt":"\xff"}', "json_overlong": b'{"prompt":"\xc0\xaf"}',
    "json_cesu": b'{"prompt":"\xed\xa0\xbd\xed\xb0\x9f"}', "json_control": b'{"prompt":"a\nb"}', "json_comment": b'{"prompt":"a"/**/}',
    "json_single_quotes": b"{'prompt':'a'}", "json_nan": b'{"prompt":"a","temperature":NaN}', "json_1e400": b'{"prompt":"a","temperature":1e400}',
    "json_leading_zero": b'{"prompt":"a","n":01}', "json_huge_integer": b'{"prompt":"a","seed":18446744073709551616}',
    "json_deep": b'{"prompt":' + b"[" * 100000 + b"]" * 100000 + b"}",
    "json_deep_object": b'{"a":' * 5000 + b"1" + b"}" * 5000, "json_many_values": b'{"prompt":[' + b"1," * 2200000 + b"1]}",
    "json_utf16": '{"prompt":"x"}'.encode("utf-16"), "json_bom": b'\xef\xbb\xbf{"prompt":"x"}',
}
for name, data in BAD_JSON.items():
    def refuse_json(port, data=data):
        got, _ = raw(port, completion(b"Content-Length: %d" % len(data), b"Connection: close", body=data), 10)
        assert status_of(got) == 400, got[:300]
        assert json.loads(got.split(b"\r\n\r\n", 1)[1])["error"]["type"] == "invalid_request_error"
    refuse_json.__name__ = name
    test(refuse_json)


@test
def good_requests_pass(port):
    fine(port, get(b"Host: localhost"))
    fine(port, b"\r\n" + get(b"Host: localhost"))  # an empty line before
    fine(port, [b"\r", b"\n" + get(b"Host: localhost")])
    fine(port, get(line=b"GET /livez HTTP/1.0"))
    fine(port, get(b"Host: [::1]:80", b"X-Thing:\t v \t", b"x: \xff"))
    fine(port, get(b"Host: localhost", line=b"GET http://x/livez HTTP/1.1"))
    fine(port, completion(b"Content-Length: %d" % len(BODY)))
    fine(port, completion(b"Transfer-Encoding: chunked",
                          body=b"%x;ext=1\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(BODY), BODY)))


@test
def any_split_of_the_stream(port):
    whole = completion(b"Transfer-Encoding: chunked", b"Connection: close",
                       body=b"5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:]))
    for size in (1, 2, 3, 7, 40):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
            for i in range(0, len(whole), size):
                sock.sendall(whole[i:i + size])
            got = b"".join(iter(lambda: sock.recv(65536), b""))
        assert status_of(got) == 200, (size, got[:200])


@test
def pipelined_requests_are_answered_in_order(port):
    one = completion(b"Content-Length: %d" % len(BODY))
    got, _ = raw(port, one + get(b"Host: localhost", line=b"GET /version HTTP/1.1") + get(b"Host: localhost", b"Connection: close"))
    assert got.count(b"HTTP/1.1 200") == 3, got
    assert got.index(b"text_completion") < got.index(b'"version"') < got.rindex(b'"status":"ok"')


@test
def bytes_ahead_of_an_answer_are_bounded(port):
    """While an answer is in progress, at most 64 KiB are read ahead and the rest stays with the client. The server
    still notices that the client leaves if the client's bytes fit into the socket buffers."""
    start = completion(b"Content-Length: %d" % 58, body=b'{"prompt":"[first=90000] x","model":"toy","max_tokens":20}')
    for n_most in (100 << 10, 64 << 20):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
            sock.sendall(start)
            until(lambda: metric(port, "toy_live_requests") == 1)
            sock.settimeout(0.5)
            n_sent = 0
            try:
                while n_sent < n_most:
                    n_sent += sock.send(b"x" * 8192)
            except (TimeoutError, socket.timeout):
                pass
            assert n_sent < 64 << 20, "it took everything"
            assert metric(port, 'shoal_http_memory_bytes{kind="held"}') < 4 << 20
            if n_most > n_sent:  # a FIN would wait behind the bytes
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        until(lambda: metric(port, "toy_live_requests") == 0)  # long before the answer is due


@test
def many_pipelined_requests_are_all_answered(port):
    """Any number of requests may be sent at once. All are answered, in order."""
    n, data = 5000, json.dumps({"model": "toy", "prompt": "hi", "max_tokens": 1, "pad": "p" * 100}).encode()
    one = completion(b"Content-Length: %d" % len(data), body=data)
    last = get(b"Host: localhost", b"Connection: close")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        got = []
        reader = threading.Thread(target=lambda: got.extend(iter(lambda: sock.recv(1 << 20), b"")))
        reader.start()
        sock.sendall(one * n + last)
        reader.join(60)
    got = b"".join(got)
    assert got.count(b"HTTP/1.1 200 OK\r\n") == n + 1 and got.count(b"text_completion") == n, got[-300:]
    assert got.endswith(b'{"status":"ok"}')


@test
def answers_that_nobody_reads_are_bounded(port):
    request = get(b"Host: localhost", line=b"GET /metrics HTTP/1.1")
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(5)
        sock.connect(("127.0.0.1", port))
        try:
            for _ in range(3000):
                sock.sendall(request * 1000)
            raise AssertionError("it went on and on")
        except (ConnectionResetError, BrokenPipeError, TimeoutError, socket.timeout):
            pass


@test
def expect_100_continue(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        sock.sendall(completion(b"Content-Length: %d" % len(BODY), b"Expect: 100-continue", b"Connection: close", body=b""))
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        assert b"200 OK" in b"".join(iter(lambda: sock.recv(65536), b""))


@test
def promised_bodies_take_no_room(port):
    """Heads that announce large bodies and send nothing don't stop other clients from being served."""
    socks = []
    try:
        for _ in range(80):
            socks.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            socks[-1].sendall(completion(b"Content-Length: %d" % (16 << 20), body=b"x"))
        time.sleep(0.1)
        fine(port, completion(b"Content-Length: %d" % len(BODY)))
    finally:
        for sock in socks:
            sock.close()


@test
def half_closed_client_gets_a_ready_answer(port):
    got, closed = raw(port, get(b"Host: localhost"), end=True)
    assert status_of(got) == 200 and closed, got


@test
def routes_and_methods(port):
    for line, status in ((b"GET /nothing HTTP/1.1", 404), (b"GET /v1/completions HTTP/1.1", 405), (b"BREW /livez HTTP/1.1", 405),
                         (b"POST /v1/models HTTP/1.1", 405), (b"OPTIONS * HTTP/1.1", 404), (b"GET /v1/models/no HTTP/1.1", 404),
                         (b"GET /v1/models/%zz HTTP/1.1", 404), (b"GET /v1/models/%00 HTTP/1.1", 404),
                         (b"DELETE / HTTP/1.1", 405), (b"DELETE /nothing HTTP/1.1", 404)):
        got, _ = raw(port, get(b"Host: localhost", b"Connection: close", line=line))
        if line.startswith(b"OPTIONS"):
            assert status_of(got) == 204 and b"content-length" not in got.lower(), got
            continue
        assert status_of(got) == status, (line, got[:200])
        json.loads(got.split(b"\r\n\r\n", 1)[1])
    for path, methods in ((b"/v1/completions", b"POST, OPTIONS"), (b"/v1/models", b"GET, HEAD, OPTIONS"), (b"/ping", b"GET, HEAD, POST, OPTIONS")):
        got, _ = raw(port, get(b"Host: localhost", b"Connection: close", line=b"DELETE " + path + b" HTTP/1.1"))
        assert status_of(got) == 405 and b"\r\nAllow: " + methods + b"\r\n" in got, got
    for path in (b"/v1/audio/speech", b"/v1/images/generations", b"/api/pull"):
        got, _ = raw(port, get(b"Host: localhost", b"Connection: close", line=b"POST " + path + b" HTTP/1.1"))
        assert status_of(got) == 404 and path + b" is not supported" in got, got
    got, _ = raw(port, get(b"Host: localhost", b"Connection: close", line=b"HEAD /livez HTTP/1.1"))
    assert status_of(got) == 200 and got.endswith(b"\r\n\r\n"), got
    got, _ = raw(port, get(b"Host: localhost", line=b"HEAD /models/sse HTTP/1.1") + get(b"Host: localhost", b"Connection: close"))
    assert status_of(got) == 200 and b"data:" not in got and b'"status":"ok"' in got, got  # what follows is the next answer


@test
def the_server_still_answers(port):
    assert toy.ask(port, "GET", "/livez")[0] == 200


if __name__ == "__main__":
    if sys.argv[1] == "--port":
        toy.TESTS.remove(bytes_ahead_of_an_answer_are_bounded)  # needs an answer that waits
        run(int(sys.argv[2]))
    with toy.Server(sys.argv[1]) as server:
        run(server.port)
