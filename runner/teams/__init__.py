"""From documents to patterns, and from a run to the answer that a Query has."""

from flowcompose.runner.teams.answer import Answer
from flowcompose.runner.teams.job import Job, python_job

__all__ = ["Answer", "Job", "python_job"]
