"""A mail server that takes everything, for benchmarks: cheap, in a process of its own.

    python benchmarks/sink.py --answer 20

It prints its port. Each answer comes `--answer` milliseconds after the command; `XCOUNT` answers
with how many mails were taken so far.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

END = b"\r\n.\r\n"


class Sink:
    def __init__(self, answer: float) -> None:
        self.answer = answer
        self.taken = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer.write(b"220 sink\r\n")
        try:
            while line := await reader.readline():
                verb = line[:4].upper()
                if verb == b"DATA":
                    await self.say(writer, "354 go on")
                    await reader.readuntil(END)
                    self.taken += 1
                    await self.say(writer, f"250 2.0.0 queued as {self.taken:010X}")
                elif verb == b"XCOU":
                    writer.write(f"250 {self.taken}\r\n".encode())
                elif verb == b"QUIT":
                    writer.write(b"221 bye\r\n")
                    break
                else:
                    await self.say(writer, "250 ok")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async def say(self, writer: asyncio.StreamWriter, text: str) -> None:
        if self.answer:
            await asyncio.sleep(self.answer)
        writer.write(f"{text}\r\n".encode())


async def serve(answer: float) -> None:
    server = await asyncio.start_server(Sink(answer).talk, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def sink(answer: float = 0) -> Iterator[int]:
    """Run a sink that answers after so many milliseconds; yield its port."""
    command = [sys.executable, str(Path(__file__)), "--answer", str(answer)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        try:
            yield int(running.stdout.readline())
        finally:
            running.kill()


def taken(port: int) -> int:
    """Return how many mails a sink has taken."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        file = connection.makefile("rb")
        file.readline()
        connection.sendall(b"XCOUNT\r\n")
        return int(file.readline().split()[1])


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--answer", type=float, default=0)
    asyncio.run(serve(asked.parse_args().answer / 1e3))
