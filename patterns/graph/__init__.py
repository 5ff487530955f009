"""Graph: the members speak along edges."""

from flowcompose.patterns.graph._pattern import graph

__all__ = ["graph"]
