"""Selector: a model, a block or a function chooses who speaks next."""

from flowcompose.patterns.selector._pattern import selector
from flowcompose.patterns.turn_loop.selection_input import SelectionInput

__all__ = ["SelectionInput", "selector"]
