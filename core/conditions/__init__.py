"""Ready-made stop conditions.

A condition looks at what members said in the whole run so far, never at the goal. All are
stateless: one object serves any number of runs. They combine with `|`, `&` and `~`, among
themselves and with plain functions `(ctx) -> bool`, and the result's `stop.by` names the
part that fired.

The idea, and most of the names, are those of AutoGen's termination conditions. There a
condition counts, and must be reset between runs; here it reads the transcript.
"""

from flowcompose.core.condition import Condition, Predicate, as_condition
from flowcompose.core.conditions._contributions import max_messages, source_match, tool_call
from flowcompose.core.conditions._external import External, external
from flowcompose.core.conditions._limits import timeout, token_usage
from flowcompose.core.conditions._words import repetition, text_mention

__all__ = [
    "Condition",
    "External",
    "Predicate",
    "as_condition",
    "external",
    "max_messages",
    "repetition",
    "source_match",
    "text_mention",
    "timeout",
    "token_usage",
    "tool_call",
]
