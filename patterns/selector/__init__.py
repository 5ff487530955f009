"""Selector: a model, a block or a function chooses who speaks next."""

from flowcompose.patterns.selector._pattern import selector

__all__ = ["selector"]
