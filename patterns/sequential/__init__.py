"""Sequential: one member after the other, once or again and again."""

from flowcompose.patterns.sequential._pattern import sequential

__all__ = ["sequential"]
