"""Patterns that were built in Python, written as documents."""

from flowcompose.runner.export.documents import Draft
from flowcompose.runner.export.exporting import Export, export_pattern
from flowcompose.runner.export.findings import Finding

__all__ = ["Draft", "Export", "Finding", "export_pattern"]
