"""What the repository must not hold, and that the pins are complete."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[\w.]+)")
FORBIDDEN = {
    "the address of a package": re.compile(r"https?://\S+\.(?:whl|tar\.gz|tgz|jar|crate)\b"),
    "the address of a package registry": re.compile(
        r"https?://[^\s/]*(?:pypi|registry|maven|artifactory|nexus)[^\s/]*\.\w"
    ),
    "a setting that names a package registry": re.compile(r"\b(?:index[-_]url|find[-_]links|trusted[-_]host)\b"),
    "a home directory": re.compile(r"(?<![\w.])(?:/(?:home|Users)/\w|/root/\w|[A-Z]:\\Users\\)"),
}
if len(ROOT.parts) > 2:  # a path of one part, such as /build, is an ordinary word in an ignore file
    FORBIDDEN["the place of this checkout"] = re.compile(rf"(?<![\w.]){re.escape(str(ROOT))}(?![\w-])")


def list_files() -> list[Path]:
    """The files of the repository: tracked, or new and not ignored."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so what belongs to the repository is unknown")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def find_forbidden(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in FORBIDDEN.items():
            if pattern.search(line):
                yield f"{number}: {what}"


def test_no_file_names_a_registry_or_a_path_of_one_machine():
    findings = [
        f"{path.relative_to(ROOT)}:{finding}"
        for path in list_files()
        for finding in find_forbidden(path.read_bytes().decode("utf-8", errors="replace"))
    ]
    assert findings == []


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("https://", "host.example/a/b-1.0-py3-none-any.whl"),
        ("https://", "pypi.example/simple"),
        ("--index", "-url x"),
        ("cd /home", "/someone/project"),
    ],
)
def test_forbidden_text_is_found(address: str, rest: str):
    assert list(find_forbidden(address + rest))


def read_pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(pins), "every line is an exact pin: name==version"
    return {pin["name"]: pin["version"] for pin in pins if pin}


def list_direct_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [
        project["project"]["dependencies"],
        project["dependency-groups"]["dev"],
        project["build-system"]["requires"],
    ]
    return [Requirement(line) for group in groups for line in group]


def list_required_names() -> set[str]:
    """Every distribution that the project needs here, directly or through another."""
    names: set[str] = set()
    waiting = list_direct_requirements()
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        names.add(canonicalize_name(requirement.name))
        waiting += list_requirements_of(requirement)
    return names


def list_requirements_of(requirement: Requirement) -> list[Requirement]:
    try:
        lines = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:
        return []  # a build dependency: it lives in an environment of its own
    children = [Requirement(line) for line in lines]
    extras = requirement.extras or {""}
    return [
        child
        for child in children
        if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def test_constraints_pin_every_dependency():
    assert list_required_names() - read_pins().keys() == set()
