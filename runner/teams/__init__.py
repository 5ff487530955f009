"""From documents to patterns, and from a run to the answer that a Query has."""

from flowcompose.runner.teams.answer import Answer
from flowcompose.runner.teams.job import Job
from flowcompose.runner.teams.jobs import jobs_for, team_pattern

__all__ = ["Answer", "Job", "jobs_for", "team_pattern"]
