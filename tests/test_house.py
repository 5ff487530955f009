"""How the house is built: folders and links, who imports whom, what is public, what is shipped."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import flowcompose
from flowcompose.core import errors, events

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("resources", "core", "patterns", "runner")
"""Lowest first: a layer imports itself and those before it."""

SOURCES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
MODULES = ["flowcompose"] + [
    found.name for found in pkgutil.walk_packages(flowcompose.__path__, "flowcompose.")
]


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_package_is_a_link_to_its_root_folder(layer: str) -> None:
    link = ROOT / "src" / "flowcompose" / layer
    assert link.is_symlink()
    assert link.resolve() == ROOT / layer
    assert not link.readlink().is_absolute()


def test_imports_go_downwards_only() -> None:
    assert {_shown(path): found for path in SOURCES if (found := _upwards(path))} == {}


def test_imports_are_absolute_and_name_the_package() -> None:
    bare = {"", *LAYERS}
    found = [(_shown(path), name) for path in SOURCES for name in _imports(path)]
    assert [each for each in found if each[1].split(".")[0] in bare] == []


def test_every_name_in_all_can_be_imported() -> None:
    for module in map(importlib.import_module, MODULES):
        names: list[str] = getattr(module, "__all__", [])
        assert [name for name in names if not hasattr(module, name)] == []
        assert len(names) == len(set(names))


def test_the_facade_lists_every_public_name_that_it_binds() -> None:
    assert all(getattr(flowcompose, name) for name in flowcompose.__all__)  # one is loaded late
    bound = {
        name
        for name, value in vars(flowcompose).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert bound == set(flowcompose.__all__)


def test_the_facade_exports_every_error() -> None:
    assert _error_names() <= set(flowcompose.__all__)


def test_the_error_tree_in_the_docs_names_every_error() -> None:
    page = (ROOT / "docs" / "errors.md").read_text()
    tree = re.findall(r"^[ |+-]*(\w+)\b", page[page.index("```text") :], flags=re.MULTILINE)
    assert _error_names() <= set(tree)


@pytest.mark.parametrize("pattern", ["round_robin", "sequential", "selector", "graph"])
def test_the_options_table_names_every_argument_with_its_default(pattern: str) -> None:
    page = (ROOT / "docs" / "patterns" / f"{pattern}.md").read_text()
    parameters = inspect.signature(getattr(flowcompose, pattern)).parameters.values()
    rows = [f"| `{each.name}` | {_default(each)} |" for each in parameters]
    assert [row for row in rows if row not in page] == []


def test_the_events_table_names_every_event_with_its_fields() -> None:
    page = (ROOT / "docs" / "events.md").read_text()
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if "|" in line}
    common = inspect.signature(events.Event).parameters
    for name in set(events.__all__) - {"Event"}:
        own = set(inspect.signature(getattr(events, name)).parameters) - set(common)
        missing = [key for key in own if f"`{key}`" not in rows[name]]
        assert (name, missing) == (name, [])


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(flowcompose.__path__[0]) / "py.typed").exists()


def test_no_lock_file_is_tracked() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    locks = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "package-lock.json")
    assert [name for name in listed if Path(name).name in locks] == []


def test_importing_the_package_loads_no_provider_and_no_terminal() -> None:
    heavy = {"langchain_openai", "openai", "typer", "rich"}
    # LangGraph itself loads httpx, which loads rich where it is installed.
    code = (
        "import sys, langgraph.graph; before = set(sys.modules); import flowcompose; "
        f"print(({heavy} & set(sys.modules)) - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_the_wheel_holds_the_packages_and_nothing_at_the_top_level(tmp_path: Path) -> None:
    wheel = next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path))))
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        f"flowcompose/{path.relative_to(ROOT).as_posix()}"
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert expected | {"flowcompose/__init__.py", "flowcompose/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {
        "flowcompose",
        f"flowcompose-{version('flowcompose')}.dist-info",
    }
    drafts = [name for name in names if name.startswith("flowcompose/runner/demo/")]
    assert [name for name in drafts if not name.endswith(".py")]


def _error_names() -> set[str]:
    return {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }


def _upwards(path: Path) -> list[str]:
    """What a file imports from above it. The facade stands right below the runner."""
    layer = path.relative_to(ROOT).parts[0]
    allowed = (*LAYERS[: LAYERS.index(layer) + 1], *([""] if layer == LAYERS[-1] else []))
    ours = [name for name in _imports(path) if name.split(".")[0] == "flowcompose"]
    return [name for name in ours if _layer(name) not in allowed]


def _layer(name: str) -> str:
    """The layer of a module of ours; empty for the facade and its names."""
    second = name.split(".")[1:2]
    return second[0] if second and second[0] in LAYERS else ""


def _imports(path: Path) -> Iterator[str]:
    """The modules that a file imports anywhere in it, under TYPE_CHECKING too.

    A relative import begins with a dot; `from a import b` counts as `a.b`, for b may be a module.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


def _default(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(default, str):
        return f'`"{default}"`'
    return (
        f"`{type(default).__name__}()`" if default == flowcompose.Visibility() else f"`{default}`"
    )
