"""Patterns and flows in Python, named as `module:object` or `file.py:object`."""

from flowcompose.runner.objects.finding import find_object, kind_of
from flowcompose.runner.objects.reference import Reference, reference_in

__all__ = ["Reference", "find_object", "kind_of", "reference_in"]
