"""Processes for tests: each runs one function, and only those started here are ever killed.

They are forked from a server process that has imported twinlog and has never opened a database, so that starting
dozens of them is cheap and none inherits a connection, a cache or a lock.
"""

import faulthandler
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, Self

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["pytest", "twinlog", "duckdb_engine", "sqlalchemy.dialects.postgresql.psycopg", "tests.support.builders"]
)
_TIME_LIMIT_S: Final = 240.0


def soak_seeds() -> Sequence[int]:
    """One seed in an ordinary run, `make soak SEEDS=N` asks for more."""
    return range(int(os.environ.get("TWINLOG_SOAK_SEEDS", "1")))


@contextmanager
def bounded(seconds: int = 200) -> Iterator[None]:
    """Fail a test that hangs, so that it does not take the others with it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals cannot help here
        return

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


class Link:
    """A child's end of the connection to the test."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, message: object) -> None:
        self._connection.send(("message", message))

    def receive(self) -> Any:
        return self._connection.recv()

    def has_message(self) -> bool:
        """Whether `receive` would not have to wait."""
        return self._connection.poll()

    def meet(self) -> None:
        """Wait until all children are here (see `let_them_meet`)."""
        self.send("here")
        self.receive()


class Child:
    """A process that runs `function(link, *arguments)`. Ends itself when its time is up, even if the test is gone."""

    def __init__(
        self, function: Callable[..., object], *arguments: object, time_limit_s: float = _TIME_LIMIT_S
    ) -> None:
        self._name = function.__name__
        self._deadline = time.monotonic() + time_limit_s
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_run, args=(theirs, function, arguments, time_limit_s), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, message: object) -> None:
        self._connection.send(message)

    def receive(self) -> Any:
        """The child's next message; fails the test if it has ended instead."""
        kind, content = self._next()
        assert kind == "message", f"{self._name} has ended instead of sending a message: {content}"
        return content

    def messages(self) -> Iterator[Any]:
        """The child's messages until it ends, by itself or killed."""
        while True:
            try:
                kind, content = self._next()
            except EOFError:
                return
            assert kind != "failed", f"{self._name} has failed:\n{content}"
            if kind == "done":
                return
            yield content

    def result(self) -> Any:
        """What the function returned; an exception in it fails the test."""
        kind, content = self._next()
        assert kind == "done", f"{self._name} has failed:\n{content}"
        return content

    def is_running(self) -> bool:
        return self._process.is_alive() and not self._connection.poll()

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        self._process.kill()

    def exit_code(self) -> int:
        """Wait for the end; the negative number of a signal if that was one."""
        self._process.join(max(0.0, self._deadline - time.monotonic()))
        code = self._process.exitcode
        assert code is not None, f"{self._name} is still running when its time is up"
        return code

    def _next(self) -> tuple[str, Any]:
        assert self._connection.poll(max(0.0, self._deadline - time.monotonic())), f"{self._name} says nothing any more"
        message: tuple[str, Any] = self._connection.recv()
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.is_alive():
            self._process.join(0.0 if kind else 10.0)
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


@contextmanager
def running(children: Sequence[Child]) -> Iterator[Sequence[Child]]:
    """Children that are gone when the block ends, whatever happens in it."""
    try:
        yield children
    except BaseException as error:
        for child in children:
            child.__exit__(type(error), error, error.__traceback__)
        raise
    for child in children:
        child.__exit__(None, None, None)


def let_them_meet(children: Sequence[Child]) -> None:
    """Wait until every child is at its next `meet`, then let all of them go on at once."""
    for child in children:
        assert child.receive() == "here"
    for child in children:
        child.send("go")


def run_alone(function: Callable[..., object], *arguments: object) -> Any:
    """The result of a function in a fresh process."""
    with Child(function, *arguments) as child:
        return child.result()


def die() -> None:
    """End this process as a crash would: nothing is flushed, closed or rolled back."""
    os.kill(os.getpid(), signal.SIGKILL)


def _run(connection: Connection, function: Callable[..., object], arguments: Sequence[object], limit_s: float) -> None:
    faulthandler.dump_traceback_later(limit_s, exit=True)
    try:
        outcome: tuple[str, object] = ("done", function(Link(connection), *arguments))
    except BaseException:  # noqa: BLE001 - whatever it is, the test must see it
        outcome = ("failed", traceback.format_exc())
    connection.send(outcome)
