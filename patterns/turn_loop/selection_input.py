"""What a selector block receives."""

from __future__ import annotations

from dataclasses import dataclass

from flowcompose.core.turn_input import TurnInput


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionInput(TurnInput):
    """What a selector block receives: what a member would, and who may speak.

    Args:
        candidates: Who may be chosen.
        feedback: What was wrong with the last choice, when it is asked again.
        stop_word: What to answer if nobody is to speak any more; None where that is no choice.
    """

    candidates: tuple[str, ...] = ()
    feedback: str = ""
    stop_word: str | None = None

    @property
    def is_question(self) -> bool:
        """It is not what the goal says."""
        return True

    @property
    def asked(self) -> str:
        """What is asked, as the last message puts it."""
        names = ", ".join(self.candidates)
        stop = f", or {self.stop_word} if nobody needs to speak any more" if self.stop_word else ""
        question = f"Who speaks next? Answer with one name of: {names}{stop}. Only the name."
        return f"{self.feedback} {question}".strip()
