"""A condition that somebody outside of the run decides: a stop button."""

from __future__ import annotations

import threading
from typing import NoReturn

from flowcompose.core.conditions._simple import Simple
from flowcompose.core.context import Context


class External(Simple):
    """A stop button. Made by `external`."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask all runs that have this condition to stop, from whatever thread or task."""
        self._event.set()

    def clear(self) -> None:
        """Take it back, so that runs go on or can be started again."""
        self._event.clear()

    @property
    def is_set(self) -> bool:
        """Whether runs are asked to stop."""
        return self._event.is_set()

    def holds(self, ctx: Context) -> bool:
        """Say whether it is set."""
        return self.is_set

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied: setting the one would not set the other."""
        msg = "external() cannot be pickled or copied: setting the copy would stop nothing"
        raise TypeError(msg)

    def __repr__(self) -> str:
        return "external()"


def external() -> External:
    """Stop when you say so, by `.set()`, from any thread or task while the run is going.

    The turn that is being taken comes to its end, and the run gives a result. To end it at once,
    cancel `arun`: that raises, and leaves a thread to resume. Two of them are never equal. After
    AutoGen's `ExternalTermination`, which resets itself; this one stays set until `.clear()`, for
    all runs that it is used in.

    Example:
        ```python
        from flowcompose import RosterEntry, round_robin
        from flowcompose.core.conditions import external

        stop = external()


        def speak(turn):
            if turn.round == 2:
                stop.set()  # in earnest: another thread or task
            return "and so on"


        panel = round_robin(
            name="panel",
            roster=[RosterEntry(name="ann", block=speak)],
            max_rounds=100,
            terminate_when=stop,
            synthesizer=False,
        )
        result = panel.run("Talk.")
        print(result.rounds, result.stop.by)
        #> 2 external()
        ```
    """
    return External()
