"""Flows in which several agents work on one goal, compiled to LangGraph.

Name a roster and a pattern: `round_robin(...)` gives a LangGraph graph that streams with
speaker identity, checkpoints every turn, resumes after a crash, nests as a step of a larger
graph, and ends with a typed result that says why it ended.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from flowcompose.core.capability import capability
    from flowcompose.core.context import Context
    from flowcompose.core.errors import (
        DefinitionError,
        FlowComposeError,
        ManifestError,
        MaxTurnsReached,
        MemberError,
        OutputError,
        RunError,
        SelectorError,
    )
    from flowcompose.core.flow import Flow
    from flowcompose.core.generator import generator
    from flowcompose.core.handler import handler
    from flowcompose.core.models import configure_models
    from flowcompose.core.pattern import Pattern
    from flowcompose.core.resource_factory import resource
    from flowcompose.core.results import Result, Stop
    from flowcompose.core.retry import Retry
    from flowcompose.core.tools import terminate
    from flowcompose.core.turn_input import TurnInput
    from flowcompose.patterns.graph import graph
    from flowcompose.patterns.round_robin import RoundRobinFinalShape, round_robin
    from flowcompose.patterns.selector import selector
    from flowcompose.patterns.sequential import sequential
    from flowcompose.patterns.turn_loop.edges import Edge
    from flowcompose.patterns.turn_loop.policies import Visibility
    from flowcompose.patterns.turn_loop.roster import RosterEntry
    from flowcompose.resources.contributions import Contribution
    from flowcompose.resources.critiques import RefereeCritique
    from flowcompose.resources.resource import create_round_robin_contributions
    from flowcompose.resources.usage import Usage

__all__ = [  # noqa: RUF022 - in groups, for reading
    # patterns
    "round_robin",
    "sequential",
    "selector",
    "graph",
    "RosterEntry",
    "Edge",
    "Visibility",
    # flows, blocks, and what they receive
    "Flow",
    "generator",
    "handler",
    "capability",
    "terminate",
    "Context",
    "TurnInput",
    # shared state
    "resource",
    "create_round_robin_contributions",
    # what a factory returns, and what a run gives
    "Pattern",
    "Result",
    "Contribution",
    "RefereeCritique",
    "RoundRobinFinalShape",
    "Stop",
    "Usage",
    # settings
    "configure_models",
    "Retry",
    # errors
    "FlowComposeError",
    "DefinitionError",
    "ManifestError",
    "RunError",
    "MemberError",
    "SelectorError",
    "OutputError",
    "MaxTurnsReached",
]


_NAMES = {
    "flowcompose.core.capability": ("capability",),
    "flowcompose.core.context": ("Context",),
    "flowcompose.core.errors": (
        "DefinitionError",
        "FlowComposeError",
        "ManifestError",
        "MaxTurnsReached",
        "MemberError",
        "OutputError",
        "RunError",
        "SelectorError",
    ),
    "flowcompose.core.flow": ("Flow",),
    "flowcompose.core.generator": ("generator",),
    "flowcompose.core.handler": ("handler",),
    "flowcompose.core.models": ("configure_models",),
    "flowcompose.core.pattern": ("Pattern",),
    "flowcompose.core.resource_factory": ("resource",),
    "flowcompose.core.results": ("Result", "Stop"),
    "flowcompose.core.retry": ("Retry",),
    "flowcompose.core.tools": ("terminate",),
    "flowcompose.core.turn_input": ("TurnInput",),
    "flowcompose.patterns.graph": ("graph",),
    "flowcompose.patterns.round_robin": ("RoundRobinFinalShape", "round_robin"),
    "flowcompose.patterns.selector": ("selector",),
    "flowcompose.patterns.sequential": ("sequential",),
    "flowcompose.patterns.turn_loop.edges": ("Edge",),
    "flowcompose.patterns.turn_loop.policies": ("Visibility",),
    "flowcompose.patterns.turn_loop.roster": ("RosterEntry",),
    "flowcompose.resources.contributions": ("Contribution",),
    "flowcompose.resources.critiques": ("RefereeCritique",),
    "flowcompose.resources.resource": ("create_round_robin_contributions",),
    "flowcompose.resources.usage": ("Usage",),
}
"""Where names are that are loaded when they are first asked for: who only wants to hear Ctrl-C
before all of it is loaded, as the command line does, need not wait for it."""

_PACKAGES = ("core", "patterns", "resources")
"""What is at hand as an attribute after `import flowcompose`, as of any package that is loaded."""

_WHERE = {name: module for module, names in _NAMES.items() for name in names}


if not typing.TYPE_CHECKING:  # to a checker, any name would be one of ours

    def __getattr__(name: str) -> object:
        """Load a name late, so that who does not use it does not pay for it."""
        if name in _WHERE:
            globals()[name] = value = getattr(importlib.import_module(_WHERE[name]), name)
            return value
        if name in _PACKAGES:
            importlib.import_module(
                _WHERE["round_robin"]
            )  # and with it what the packages are made of
            return importlib.import_module(f"flowcompose.{name}")
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    """Name what can be asked for, loaded or not."""
    return sorted({*globals(), *__all__})
