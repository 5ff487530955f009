"""Texts with `{{.name}}` in them, and texts that only hold a place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MISSING: Final = "<no value>"
"""What stands for a parameter that is nowhere."""

_FIELD = re.compile(r"\{\{ {0,9}\.(\w+) {0,9}\}\}")
BODY_FIELD: Final = re.compile(r"\{\{-?\s*\.([\w.-]+?)\s*-?\}\}")
"""What is filled in of the body of a request: `{{.name}}`, `{{.input.name}}`, `{{.input}}`."""

# From the last braces that open: from each, it would read a long text once for each.
_ANY = re.compile(r"\{\{(?!\{)(?:(?!\{\{).)*?\}\}", re.DOTALL)

_PLACEHOLDERS = re.compile(
    r"""\s*(?:
        \(\$[\w.-]+\) | \(\w+\(.*\$.*\)\)   # of a test tool: ($azure.url), (base64_encode($x))
      | <[^<>]*>                            # <your-key>
      | \$\{[^{}]*\} | (?-i:\$[A-Z_][A-Z0-9_]*)   # of a shell; a password may begin with $ too
      | \{\{.*\}\}                          # of a chart
      | (?:REPLACE|CHANGE)[-_ ]?(?:ME|THIS|WITH)\b.*
      | YOUR[-_ ][\w -]*
      | x{3,} | \.{3} | T(?:O-?DO|BD)
    )?\s*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def fill(template: str, parameters: Mapping[str, str]) -> str:
    """Put values in place of `{{.name}}`; nothing else is evaluated, and no value is read again.

    Only for a text whose document declares parameters: others stay as they are.
    """
    return _FIELD.sub(lambda match: parameters.get(match.group(1), MISSING), template)


def fields_of(template: str) -> list[str]:
    """Name the fields that a template has, each once."""
    return list(dict.fromkeys(_FIELD.findall(template)))


def left_as_they_are(template: str, field: re.Pattern[str] = _FIELD) -> list[str]:
    """Give the parts in double braces that are no plain field, each once."""
    return [each for each in dict.fromkeys(_ANY.findall(template)) if not field.fullmatch(each)]


def is_placeholder(text: str) -> bool:
    """Tell whether a text stands for a value that was never put in."""
    return len(text) < 500 and _PLACEHOLDERS.fullmatch(text) is not None
