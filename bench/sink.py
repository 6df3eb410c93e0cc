"""A webhook receiver in a process of its own: 200 as fast as it can, 500 under /500, silence under /stall."""

import asyncio
import json
import sys
import time

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_BROKEN = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"


class Sink:
    def __init__(self) -> None:
        self.arrived: dict[str, float] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1]
        headers = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:] if line)
        await reader.readexactly(int(headers.get(b"content-length", b"0")))
        if path == b"/report":
            report = json.dumps(self.arrived).encode()
            self.arrived = {}
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(report), report))
        elif path.startswith(b"/stall"):
            await asyncio.sleep(3600)
        elif path.startswith(b"/500"):
            writer.write(_BROKEN)
        else:
            self.arrived[headers[b"x-service-event-id"].decode().upper()] = time.monotonic()
            writer.write(_OK)
        await writer.drain()
        return True


async def receive() -> None:
    server = await asyncio.start_server(Sink().serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    asyncio.run(receive())
