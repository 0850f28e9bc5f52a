"""A proxy in front of PostgreSQL that cuts connections at the worst moment."""

import select
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import URL, make_url

COMMIT: Final = b"COMMIT\0"
LOSE_THE_QUESTION: Final = "lose the question"
LOSE_THE_ANSWER: Final = "lose the answer"
CUT_AT_ONCE: Final = "cut at once"
_CHUNK: Final = 65_536


class Proxy:
    """Passes bytes on between clients on a socket of its own and the server, except where its plan says otherwise.

    A plan is a list of moments, met in this order: when a client sends `text`, the connection is cut, before the
    server hears of it (LOSE_THE_QUESTION), after the server has answered (LOSE_THE_ANSWER), or so that nobody can tell
    (CUT_AT_ONCE).
    """

    def __init__(self, server_url: str, folder: Path) -> None:
        server = make_url(server_url)
        self.url = server.set(host=None, port=None, query={**server.query, "host": str(folder)}).render_as_string(
            hide_password=False
        )
        self._server = server
        self._plan: list[tuple[bytes, str]] = []
        self._refuses_afterwards = False
        self._refusing = False
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def expect(self, *plan: tuple[bytes, str], then_refuse: bool = False) -> None:
        """Set the plan. `then_refuse` lets nobody in any more once the plan is through."""
        self._plan, self._refuses_afterwards = list(plan), then_refuse

    @property
    def is_through(self) -> bool:
        """Whether everything that was planned has happened."""
        return not self._plan

    def close(self) -> None:
        self._refusing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, _connected(self._server) as server, suppress(OSError):
            while not self._refusing:
                for ready in select.select([client, server], [], [], 0.05)[0]:
                    chunk = ready.recv(_CHUNK)
                    if not chunk or self._is_cut(chunk, ready is client, server):
                        return
                    (server if ready is client else client).sendall(chunk)

    def _is_cut(self, chunk: bytes, is_question: bool, server: socket.socket) -> bool:  # noqa: FBT001
        with self._lock:
            if not is_question or not self._plan or self._plan[0][0] not in chunk:
                return False
            _, how = self._plan.pop(0)
            if how != LOSE_THE_QUESTION:
                server.sendall(chunk)
            if how == LOSE_THE_ANSWER:
                server.recv(_CHUNK)
            self._refusing = self._refuses_afterwards and not self._plan
            return True


@contextmanager
def _connected(server: URL) -> Iterator[socket.socket]:
    host = server.query.get("host", server.host or "localhost")
    assert isinstance(host, str)
    if host.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(f"{host}/.s.PGSQL.{server.port or 5432}")
    else:
        connection = socket.create_connection((host, server.port or 5432))
    with connection:
        yield connection


@contextmanager
def running_proxy(server_url: str) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="twinlog-proxy-") as folder:  # a socket's path must be short
        proxy = Proxy(server_url, Path(folder))
        try:
            yield proxy
        finally:
            proxy.close()


def commits(*how: str) -> Sequence[tuple[bytes, str]]:
    """A plan for the next COMMITs."""
    return [(COMMIT, each) for each in how]


def plain_url(url: str) -> str:
    """The URL as libpq takes it, without the name of a Python driver."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
