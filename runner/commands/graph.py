"""The command `flowcompose graph`."""

from __future__ import annotations

import typer

from flowcompose.core.errors import DefinitionError
from flowcompose.runner.asked import Asked
from flowcompose.runner.commands.concluding import alone_on_stdout, conclude
from flowcompose.runner.commands.options import Compat, CompatOption, Paths, Query, Team
from flowcompose.runner.manifest import Document, Manifest, TeamSpec
from flowcompose.runner.objects import find_object
from flowcompose.runner.runs.documents import load_documents
from flowcompose.runner.runs.telling import Told
from flowcompose.runner.show import say
from flowcompose.runner.teams import team_pattern
from flowcompose.runner.unusable import UnusableError

HELP = """Draw a team, or a pattern in Python, as Mermaid text.

\b
Examples:
  flowcompose graph team.yaml                  what the only Query asks, or the only team
  flowcompose graph samples/ --team panel > panel.mmd
  flowcompose graph review.py:panel

Nothing is run. GitHub, GitLab and https://mermaid.live show the text as a drawing.
"""


def graph(
    paths: Paths, query: Query = None, team: Team = None, compat: CompatOption = Compat.AUTO
) -> None:
    """Print the diagram."""

    def work() -> Told:
        asked = Asked(paths=tuple(paths), query=query, team=team, compat=compat.value)
        with alone_on_stdout(True) as output:
            say(_mermaid(asked).rstrip("\n"), output)
        return Told(0, {})

    raise typer.Exit(conclude(work, wants_json=False))


def _mermaid(asked: Asked) -> str:
    reference = asked.reference
    try:
        return _of_documents(asked) if reference is None else find_object(reference).mermaid()
    except DefinitionError as error:
        raise UnusableError.of(error) from None


def _of_documents(asked: Asked) -> str:
    manifest = load_documents(asked.paths, asked.compat)
    return team_pattern(manifest, asked.team or _chosen(manifest, asked.query)).mermaid()


def _chosen(manifest: Manifest, query: str | None) -> str:
    """Choose what was not named: what the only Query asks, else the only team on top.

    Raises:
        UnusableError: There is a choice; it names what can be chosen.
    """
    queries = [each for each in manifest.of_kind("Query") if query in (None, each.name)]
    if query is not None and not queries:
        raise UnusableError(f"there is no Query {query!r}")
    if len(queries) == 1:
        names = [t.name for t in manifest.targets_of(queries[0]) if t.type in ("team", "agent")]
    else:
        names = _on_top(manifest)
    if len(names) == 1:
        return names[0]
    there = [each.name for kind in ("Team", "Agent") for each in manifest.of_kind(kind)]
    raise UnusableError(f"say what to draw: --team NAME; there is: {', '.join(there) or 'none'}")


def _on_top(manifest: Manifest) -> list[str]:
    """Name the teams that are no member of another."""
    teams = manifest.of_kind("Team")
    inside = {name for team in teams for name in _members(team)}
    return [team.name for team in teams if team.name not in inside]


def _members(team: Document) -> list[str]:
    return [each.name for each in team.spec.members] if isinstance(team.spec, TeamSpec) else []
