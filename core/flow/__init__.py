"""Flows: blocks in sequence, with taps, branches and loops, as one LangGraph graph."""

from flowcompose.core.flow.flow import Flow
from flowcompose.core.flow.rescued import Rescued

__all__ = ["Flow", "Rescued"]
