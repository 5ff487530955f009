"""A tool some of whose arguments are set, so that the model does not choose them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

from flowcompose.core.tools import is_terminate


class PartialTool(BaseTool):
    """Calls another tool, with the arguments that are set."""

    args_schema: Any = None
    inner: BaseTool
    values: dict[str, str] = Field(repr=False, exclude=True)

    def _run(self, /, config: RunnableConfig, **arguments: Any) -> Any:
        return self.inner.invoke({**arguments, **self.values}, config)

    async def _arun(self, /, config: RunnableConfig, **arguments: Any) -> Any:
        return await self.inner.ainvoke({**arguments, **self.values}, config)


def with_arguments(tool: BaseTool, values: Mapping[str, str]) -> BaseTool:
    """Give a tool whose model is not asked for some arguments; `terminate` stays what it is."""
    if is_terminate(tool):
        return tool
    schema = _schema_of(tool)
    left = {name: each for name, each in schema["properties"].items() if name not in values}
    required = [name for name in schema.get("required", []) if name not in values]
    return PartialTool(
        name=tool.name,
        description=tool.description,
        args_schema={**schema, "properties": left, "required": required},
        inner=tool,
        values=dict(values),
    )


def _schema_of(tool: BaseTool) -> dict[str, Any]:
    declared = tool.args_schema
    schema = declared if isinstance(declared, dict) else tool.get_input_jsonschema()
    return {"type": "object", "properties": {}, **schema}
