"""The cap on turns. It is asked only when somebody would speak next."""

from __future__ import annotations

from flowcompose.core.results import Stop


def cap_reached(turn: int, wanted: int, cap: int | None) -> Stop | None:
    """Say why the next turns do not take place, if they do not fit under the cap.

    Args:
        turn: The last turn that was taken.
        wanted: How many turns the next step takes: more than one if members speak at once.
        cap: Turns that a run may take; None for any number.
    """
    if cap is None or turn + wanted <= cap:
        return None
    turns = f"{cap} turn{'s' if cap > 1 else ''}"
    left = cap - turn
    detail = f"{turns}; the next step takes {wanted}, {left} left" if left else turns
    return Stop(reason="max_turns", detail=detail)
