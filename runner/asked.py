"""What was asked for, as far as it must be known to go on with a run later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from flowcompose.runner.keys import HIDDEN, known_keys, without_secrets
from flowcompose.runner.objects import Reference, reference_in
from flowcompose.runner.secrets import Redactor
from flowcompose.runner.unusable import UnusableError


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What to run."""

    paths: tuple[str, ...]
    query: str | None = None
    team: str | None = None
    input: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    compat: str = "auto"
    timeout: float | None = None
    """Seconds; None as the Query says, 0 for any time."""
    folder: str = field(default_factory=os.getcwd)
    """Where it was asked."""
    had_key: bool = False
    """Whether there was a key, which is not kept."""

    @property
    def reference(self) -> Reference | None:
        """The object of Python that is to be run, if it is one.

        Raises:
            UnusableError: It is named among other paths.
        """
        found = [each for path in self.paths if (each := reference_in(path))]
        if found and len(self.paths) > 1:
            raise UnusableError(f"{found[0]}: an object of Python is run alone; give one path")
        return found[0] if found else None

    def kept(self) -> dict[str, Any]:
        """Give what may be written to a file: it holds no key."""
        reference = self.reference
        absolute = [str(reference.absolute())] if reference else map(os.path.abspath, self.paths)
        return {
            **asdict(self),
            "paths": list(absolute),
            "api_key": None,
            "had_key": self.had_key or self.api_key is not None,
            "base_url": self.base_url and without_secrets(self.base_url),
            "input": self.input and Redactor(self.keys).clean(self.input),
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Self:
        """Read what was kept; what a later version added is not known here."""
        known = {key: value for key, value in kept.items() if key in cls.__dataclass_fields__}
        known["paths"] = tuple(known["paths"])
        return cls(**known)

    def again(
        self, *, model: str | None, base_url: str | None, api_key: str | None, timeout: float | None
    ) -> Self:
        """Lay new options over those of the run that is resumed.

        Raises:
            UnusableError: One was a secret, was not kept, and is not given.
        """
        if base_url is None and self.base_url and HIDDEN in self.base_url:
            problem = f"the --base-url of the run ({self.base_url}) held a secret"
            raise UnusableError(f"{problem}, which is not kept: give --base-url again")
        if api_key is None and self.had_key and not os.environ.get("OPENAI_API_KEY"):
            problem = "the --api-key of the run is not kept: give it again"
            raise UnusableError(f"{problem}, or set OPENAI_API_KEY")
        return replace(
            self,
            model=model or self.model,
            base_url=base_url or self.base_url,
            api_key=api_key,
            timeout=self.timeout if timeout is None else timeout,
        )

    @property
    def keys(self) -> list[str]:
        """What must not be shown, whatever the documents say."""
        return known_keys(self.api_key, self.base_url)

    @property
    def label(self) -> str:
        """What is run, in few words."""
        reference = self.reference
        if reference is not None:
            return str(reference if reference.file is None else _short(reference))
        return self.query or self.team or ", ".join(Path(path).name for path in self.paths)


def _short(reference: Reference) -> Reference:
    assert reference.file is not None  # asked before
    return replace(reference, file=Path(reference.file.name))
