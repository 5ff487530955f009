"""An error in one line, for messages, tasks and events."""

from __future__ import annotations

from pydantic import ValidationError

from flowcompose.core.errors import FlowComposeError


def explain(error: BaseException) -> str:
    """Give type and text of `error`; ours speak for themselves, pydantic's are made readable."""
    if isinstance(error, FlowComposeError):
        return str(error)
    text = explain_fields(error) if isinstance(error, ValidationError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def explain_fields(error: ValidationError) -> str:
    """Say which fields do not fit, and why."""
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}"
        for each in error.errors()
    )
