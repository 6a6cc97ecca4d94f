"""Links between processes that a test can cut, delay and lose packets on, and cables that change bytes: TCP proxies on the loopback, in threads.

A cut link stalls: nothing is refused or closed, and what was sent arrives when it heals, as TCP has it after lost packets. A lost packet
holds what follows it up for 200 ms, which is Linux's least retransmission timeout.
"""
import asyncio
import contextlib
import os
import random
import socket
import threading
import time

PACKET_BYTES, RETRANSMIT_S, HELD_CHUNKS = 1448, 0.2, 64
TO, FROM, BOTH = "to", "from", "both"  # of the server


def children():
    """The pids of this process's children."""
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            yield from map(int, file.read().split())


def pid_of(port):
    """The child whose connection has this local port, or None."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1] == f"0100007F:{port:04X}"}
    for pid in children():
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") in sockets:
                        return pid
    return None


class Connection:
    def __init__(self, links, target, client_port):
        self.links, self.target, self.client_port, self.pid = links, target, client_port, None

    def rules(self, way):
        """The faults that hold for it now."""
        if self.links.faults and self.pid is None:
            self.pid = pid_of(self.client_port)
        return [f for f in self.links.faults if f["way"] in (way, BOTH) and (f["pids"] is None or self.pid in f["pids"])
                and (f["targets"] is None or self.target in f["targets"])]

    async def read(self, reader, queue, way):
        due = 0.0
        data = b"x"
        while data:
            try:
                data = await reader.read(65536)
            except OSError:
                data = b""
            rules, late = self.rules(way), 0.0
            for rule in rules:
                lost = random.random() < 1 - (1 - rule["loss"]) ** (len(data) // PACKET_BYTES + 1)
                late += rule["delay"] + RETRANSMIT_S * lost
                self.links.n_lost += lost
            due = max(due, time.monotonic() + late)  # in order
            await queue.put((due, data))

    async def write(self, queue, writer, way):
        data = b"x"
        try:
            while data:
                due, data = await queue.get()
                if due > time.monotonic():
                    await asyncio.sleep(due - time.monotonic())
                while any(rule["cut"] for rule in self.rules(way)):
                    self.links.n_held += 1
                    await asyncio.sleep(0.01)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def run(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        there, back = asyncio.Queue(HELD_CHUNKS), asyncio.Queue(HELD_CHUNKS)
        try:
            await asyncio.gather(self.read(reader, there, TO), self.write(there, to_writer, TO),
                                 self.read(to_reader, back, FROM), self.write(back, writer, FROM), return_exceptions=True)
        finally:
            writer.close()
            to_writer.close()


class Links:
    def __init__(self):
        self.faults, self.servers, self.tasks, self.loop = [], [], set(), asyncio.new_event_loop()
        self.n_lost = 0  # packets
        self.n_held = 0  # looks at data that a cut link holds
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def serve(self, target):
        async def accept(reader, writer):
            task = asyncio.current_task()
            self.tasks.add(task)
            with contextlib.suppress(asyncio.CancelledError):
                await Connection(self, target, writer.get_extra_info("peername")[1]).run(reader, writer)
            self.tasks.discard(task)
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.servers.append(server)
        return server.sockets[0].getsockname()[1]

    def open(self, target):
        """The port of a proxy to this one."""
        return asyncio.run_coroutine_threadsafe(self.serve(target), self.loop).result(10)

    @contextlib.contextmanager
    def fault(self, pids=None, targets=None, way=BOTH, cut=False, delay=0.0, loss=0.0):
        """While it lasts, connections of these processes (None: all) to these servers' ports are cut, delayed or lossy."""
        rule = {"pids": pids and set(pids), "targets": targets and set(targets), "way": way, "cut": cut, "delay": delay, "loss": loss}
        self.faults.append(rule)
        try:
            yield
        finally:
            self.faults.remove(rule)

    async def end(self):
        for server in self.servers:
            server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


class Cable:
    """A port that leads to a server's. change(before, data) gets each piece from the server and how many bytes came before it on the connection.
    Its result goes on in place of the piece; at None the connection ends."""

    def __init__(self, port, change):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.to, self.change, self.n_bytes = self.listener.getsockname()[1], port, change, 0
        self.place = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, far = self.listener.accept()[0], socket.create_connection(("127.0.0.1", self.to))
                threading.Thread(target=self.carry, args=(near, far, lambda _, data: data), daemon=True).start()
                threading.Thread(target=self.carry, args=(far, near, self.count), daemon=True).start()

    def count(self, before, data):
        data = self.change(before, data)
        self.n_bytes += len(data or b"")
        return data

    @staticmethod
    def carry(source, sink, change):
        n = 0
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                before, n = n, n + len(data)
                if (data := change(before, data)) is None:
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
