"""How a run is shown while it goes on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from flowcompose.runner.render import Renderer, make_renderer
from flowcompose.runner.render.silent import SilentRenderer
from flowcompose.runner.show import complain


@dataclass(frozen=True, kw_only=True)
class Manner:
    """What its user wants to see."""

    json: bool = False
    plain: bool = False
    quiet: bool = False
    events: Path | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the transcript is."""
        return not (self.json or self.quiet)

    @property
    def needs_tokens(self) -> bool:
        """Whether anybody wants the texts piece by piece."""
        return self.is_shown or self.events is not None

    def renderer(self, cap: int | None = None) -> Renderer | SilentRenderer:
        """Give what shows a run of so many turns at most."""
        if not self.is_shown:
            return SilentRenderer()
        return make_renderer(sys.stdout, plain=self.plain, cap=cap)

    def tell(self, said: str) -> None:
        """Tell something apart from the output."""
        if not self.quiet:
            self.complain(said)

    def complain(self, said: str) -> None:
        """Tell something that must be known, apart from the output."""
        complain(said)
