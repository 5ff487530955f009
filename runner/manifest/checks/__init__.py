"""Checking documents together, as ARK would admit them and beyond."""

from __future__ import annotations

from flowcompose.runner.manifest.eras import Era
from flowcompose.runner.manifest.findings import Findings
from flowcompose.runner.manifest.loaded import Loaded


def check(loaded: Loaded, era: Era, findings: Findings) -> None:
    """Note all that is wrong with documents."""
