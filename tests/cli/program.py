"""Runs command lines and reads what they print."""

from pathlib import Path
from typing import Any

import orjson
from typer.testing import CliRunner, Result

from twinlog.cli.main import app


class Cli:
    """The program, with the environment of its runner."""

    def __init__(self, runner: CliRunner) -> None:
        self._runner = runner

    def __call__(self, *words: str | Path, stdin: str | bytes = "", as_json: bool = False) -> Result:
        """Run it, whatever the outcome."""
        line = [*map(str, words), *(["--json"] if as_json else [])]
        return self._runner.invoke(app, line, input=stdin)

    def done(self, *words: str | Path, stdin: str | bytes = "", as_json: bool = False) -> str:
        """Run it; it must succeed and have nothing to complain about."""
        result = self(*words, stdin=stdin, as_json=as_json)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def objects(self, *words: str | Path, stdin: str | bytes = "") -> list[dict[str, Any]]:
        """Run it with --json; it must succeed."""
        return [orjson.loads(line) for line in self.done(*words, stdin=stdin, as_json=True).splitlines()]

    def object(self, *words: str | Path, stdin: str | bytes = "") -> dict[str, Any]:
        """Run it with --json; it must succeed and print one object."""
        (found,) = self.objects(*words, stdin=stdin)
        return found

    def failure(self, *words: str | Path, stdin: str | bytes = "", exit_code: int = 1) -> dict[str, Any]:
        """Run it with --json; it must fail with this exit code and say why on standard error only."""
        result = self(*words, stdin=stdin, as_json=True)
        assert (result.exit_code, result.stdout) == (exit_code, ""), result.output
        error: dict[str, Any] = orjson.loads(result.stderr)
        return error
