"""The command `flowcompose schema`."""

from __future__ import annotations

import json

from flowcompose.runner.manifest import json_schema
from flowcompose.runner.show import say

HELP = """Print the JSON Schema of the documents, with a description of each field.

\b
Examples:
  flowcompose schema > ark.schema.json
  flowcompose schema | jq '."$defs".TeamSpec'

Editors that know YAML complete and check documents with it.
"""


def schema() -> None:
    """Print the schema."""
    say(json.dumps(json_schema(), indent=2, ensure_ascii=False))
