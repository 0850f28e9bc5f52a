"""`twinlog demo`: the main job on the embedded default, narrated and checked."""

import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from twinlog.cli.demo_exhibits import Scene
from twinlog.cli.demo_story import Story
from twinlog.cli.documents import CheckDocument, DemoDocument, SceneDocument
from twinlog.cli.failures import ExitCode, WrongUse
from twinlog.cli.options import AsJson
from twinlog.cli.output import Output

_TEXT_WIDTH: Final = 88
_INDENT: Final = 4
_PAUSE_S: Final = 0.4
_DATABASE: Final = "demo.db"


def demo(
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", file_okay=False, help="Keep the catalog in this folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what twinlog does: two tables on an SQLite catalog are created, committed to, read and checked."""
    output = Output(as_json=as_json)
    started = time.monotonic()
    with _folder(directory) as folder:
        url = f"sqlite:///{folder / _DATABASE}"
        with closing(Story(url, root=str(folder))) as story:
            scenes = []
            for number, scene in enumerate(story.scenes(), start=1):
                _tell(output, number, scene)
                scenes.append(scene)
            num_versions = story.count_versions()
    document = DemoDocument(
        ok=all(check.holds for scene in scenes for check in scene.checks),
        catalog=url if directory else None,
        published=False,
        elapsed_s=round(time.monotonic() - started, 3),
        scenes=tuple(map(_document, scenes)),
    )
    output.answer(document, _verdict(document), *_epilogue(document, num_versions, _text_width(output)))
    if not document.ok:
        raise typer.Exit(ExitCode.FAILURE)


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is None:
        with tempfile.TemporaryDirectory(prefix="twinlog-demo-") as temporary:
            yield Path(temporary)
        return
    folder = given.absolute()
    if (folder / _DATABASE).exists():
        raise WrongUse(
            f"{folder / _DATABASE} exists already, and the demo starts from nothing",
            hint="remove it, or choose another folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(f"cannot create {folder}: {error.strerror}", hint="choose another folder") from error
    yield folder


def _tell(output: Output, number: int, scene: Scene) -> None:
    output.note(Text(f"\n{number:>2}  {scene.title}", style="bold cyan"))
    output.note(_indented(textwrap.fill(scene.story, _text_width(output))))
    for exhibit in scene.exhibits:
        output.note("")
        output.note(_indented(exhibit))
    output.note("")
    for check in scene.checks:
        mark = ("ok  ", "green") if check.holds else ("WRONG  ", "bold red")
        output.note(_indented(Text.assemble(mark, check.expectation)))
    if output.is_terminal:
        time.sleep(_PAUSE_S)


def _verdict(document: DemoDocument) -> Text:
    num_checks = sum(len(scene.checks) for scene in document.scenes)
    if document.ok:
        return Text(f"\nAll {num_checks} checks hold ({document.elapsed_s:.1f} s).", style="bold green")
    num_wrong = sum(not check.ok for scene in document.scenes for check in scene.checks)
    return Text(f"\n{num_wrong} of {num_checks} checks do not hold: this twinlog is broken.", style="bold red")


def _epilogue(document: DemoDocument, num_versions: int, width: int) -> Iterator[RenderableType]:
    yield textwrap.fill(
        f"All of this happened in SQL. The {num_versions} versions wait to be published as _delta_log files, but "
        "publishing is not part of this version of twinlog. Nor were Parquet files written: the data files above are "
        "made up, the log that describes them is real.",
        width,
    )
    if document.catalog:
        yield Text(f"\nLook around:\n  export TWINLOG_CATALOG={document.catalog}", style="bold")
        yield "  twinlog table show orders\n  twinlog log orders\n  twinlog files orders --version 3"


def _document(scene: Scene) -> SceneDocument:
    checks = (CheckDocument(expectation=check.expectation, ok=check.holds) for check in scene.checks)
    return SceneDocument(title=scene.title, checks=tuple(checks))


def _text_width(output: Output) -> int:
    return max(_INDENT, min(_TEXT_WIDTH, output.console.width - _INDENT))


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, _INDENT), expand=False)
