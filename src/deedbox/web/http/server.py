"""uvicorn, set up so that it stops without cutting a request short."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn
from litestar import Litestar
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.settings import Settings
from deedbox.web import limits
from deedbox.web.http.bounded_protocol import BoundedHttp
from deedbox.web.http.connections import Connections
from deedbox.web.http.guard import Guard
from deedbox.web.http.head import App


def _application(guard: Guard, settings: Settings, proxies: list[str]) -> App:
    """The guard; with traces behind spans, and those outside of what puts a forwarded address in the peer's place."""
    traces = guard.deedbox.traces
    if traces is None:
        return guard
    from deedbox.web.http.traced import Traced

    inner: Any = ProxyHeadersMiddleware(cast(Any, guard), proxies) if proxies else guard
    return Traced(inner, traces, settings.trusted_proxies)


class Server(uvicorn.Server):
    def __init__(self, guard: Guard, settings: Settings, ready: Callable[[], None]) -> None:
        proxies = [str(network) for network in settings.trusted_proxies]
        super().__init__(
            uvicorn.Config(
                _application(guard, settings, proxies),
                http=type("Http", (BoundedHttp,), {"guard": guard, "kept": Connections(settings)}),
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=bool(proxies) and guard.deedbox.traces is None,
                forwarded_allow_ips=proxies,
                timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=shared_limits.DRAIN_SECONDS,
            )
        )
        self._guard = guard
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
            # In a thread and once the server is ready: it takes half a second, which neither the start nor a request
            # should wait for.
            description = cast(Litestar, self._guard.app).state.description
            threading.Thread(target=description.encoded, name="openapi", daemon=True).start()

    def stop(self) -> None:
        """Drains: requests under way are finished, new ones get 503. A second call does not wait."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._guard.draining = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Ours are set by the command: uvicorn's would end the process before the installation is closed.
        yield
