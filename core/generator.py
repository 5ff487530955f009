"""A model call as a block: prompt, tools, and an answer that may have to fit a schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel

from flowcompose.core.capability import Capability
from flowcompose.core.context import Context
from flowcompose.core.conversation import Conversation
from flowcompose.core.definition import Problems
from flowcompose.core.exchange import Exchange
from flowcompose.core.functions import async_in_sync, with_context
from flowcompose.core.generator_checks import all_resources, all_tools, problems_of_generator
from flowcompose.core.models import CHAT, ModelLike, resolve_model
from flowcompose.core.prompt import Prompt, Text
from flowcompose.core.resource_use import ResourceMap, ResourcesLike
from flowcompose.core.retry import Retry
from flowcompose.core.toolbox import Toolbox
from flowcompose.core.tools import ToolLike, as_tool
from flowcompose.core.turn_input import TurnInput
from flowcompose.core.untyped import engine, items_of, mapping_of
from flowcompose.resources.structured_data import to_json

if TYPE_CHECKING:  # some 25 ms, which only those pay who make a model
    from langchain_core.language_models import BaseChatModel

Closing = str | Sequence[BaseMessage]
User = Closing | Callable[..., Closing]


class Generator(Runnable[Any, Any]):
    """A model call as a block. Made by `generator`; a LangChain Runnable as well."""

    async_only = False

    def __init__(
        self,
        name: str,
        *,
        prompt: Text | None,
        user: User,
        model: ModelLike | None,
        output_schema: type[BaseModel] | None,
        tools: Sequence[ToolLike],
        uses: Sequence[Capability],
        context: Text | None,
        retry: Retry | None,
        stream: bool,
        default_model: str = CHAT,
        resources: ResourcesLike = (),
    ) -> None:
        self.name: str = name  # pyright: ignore[reportIncompatibleVariableOverride] - never None here
        self.schema = output_schema
        self.model = model or next((each.model for each in uses if each.model), None)
        """Its own model; None where that of its pattern is asked."""
        self._default_model = default_model
        self.prompt = Prompt(
            prompt, *(u.instructions for u in uses), context, *(u.context for u in uses)
        )
        """What the system message is made of."""
        self.user = None if user is _messages_of else user
        """The message that follows, as it was given; None where that is the input itself."""
        self._closing = _closing_writer(user)
        self.retry = retry
        """As it was given."""
        self._stream = stream and output_schema is None
        toolbox = Toolbox([as_tool(tool) for tool in all_tools(tools, uses)])
        self._exchange = Exchange(name, toolbox, output_schema, (retry or Retry()).reasks)
        # Conflicts among them are found with the pattern or flow, which knows them all.
        self.resources: ResourceMap = all_resources(resources, toolbox.tools, uses)

    @property
    def tools(self) -> Sequence[BaseTool]:
        """What its model may call, the tools of its capabilities included."""
        return self._exchange.toolbox.tools

    @property
    def async_tools(self) -> tuple[str, ...]:
        """The tools that only work with `arun`."""
        return self._exchange.toolbox.async_tools

    def run(self, value: Any, ctx: Context) -> Any:
        """Ask the model; gives the text, or an object of the output schema."""
        if self.async_tools:
            raise async_in_sync(f"tool {self.async_tools[0]!r} of {self.name!r}", None)
        model = self.model_for(ctx)
        steps = self._exchange.steps(model, self.messages_for(value, ctx))
        return self.conversation_in(ctx, model).run(steps)

    async def arun(self, value: Any, ctx: Context) -> Any:
        """Ask the model on the async path."""
        model = self.model_for(ctx)
        steps = self._exchange.steps(model, self.messages_for(value, ctx))
        return await self.conversation_in(ctx, model).arun(steps)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Use the generator on its own, or in a LangChain chain."""
        ctx = Context.outside(config, self.resources)
        with ctx.ledger.kept():
            return self.run(input, ctx)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Use the generator on its own, or in a LangChain chain, on the async path."""
        ctx = Context.outside(config, self.resources)
        async with ctx.ledger.akept():
            return await self.arun(input, ctx)

    def as_tool(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride] - of a generator nothing else can be chosen
        self, *, name: str | None = None, description: str | None = None
    ) -> BaseTool:
        """Give a LangChain tool that asks this generator's model; the caller gives `input`.

        Args:
            name: What the calling model calls it by; by default the generator's name as a slug.
            description: What the calling model goes by; a generator has none of its own.

        Raises:
            DefinitionError: There is no description.
        """
        from flowcompose.core.block_tool import block_tool

        return block_tool(self, name, description)

    def model_for(self, ctx: Context) -> BaseChatModel:
        """Give the model that a call in this context would ask.

        Raises:
            DefinitionError: None is configured.
        """
        return resolve_model(self.model or ctx.panel.model or self._default_model)

    def conversation_in(self, ctx: Context, model: BaseChatModel) -> Conversation:
        """Give the means to ask `model` in this context, with the patience of this block."""
        config = ctx.config
        if not self._stream:
            config = config.copy()
            config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM]
        # A client that retries on its own is left to it, unless the user says how often.
        patient = getattr(model, "max_retries", 0) != 0
        retry = self.retry or (Retry(attempts=1) if patient else Retry())
        return Conversation(ctx, config, retry)

    def messages_for(self, value: Any, ctx: Context) -> list[BaseMessage]:
        """Write the request for one call."""
        system = self.prompt.write(value, ctx)
        opening: list[BaseMessage] = [SystemMessage(system)] if system else []
        return opening + self._closing(value, ctx)


def _closing_writer(user: User) -> Callable[[Any, Context], list[BaseMessage]]:
    """Give what writes the messages after the system message."""
    written = with_context(user) if callable(user) else None

    def write(value: Any, ctx: Context) -> list[BaseMessage]:
        closing = written(value, ctx) if written else user
        return [HumanMessage(closing)] if isinstance(closing, str) else list(engine(closing))

    return write


def _as_text(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if (mapping := mapping_of(value)) is not None:
        return json.dumps(to_json(mapping), ensure_ascii=False)
    return value if isinstance(value, str) else str(value)


def generator(
    name: str,
    prompt: Text | None = None,
    *,
    user: User | None = None,
    model: ModelLike | None = None,
    output_schema: type[BaseModel] | None = None,
    tools: Sequence[ToolLike] = (),
    uses: Sequence[Capability] = (),
    context: Text | None = None,
    retry: Retry | None = None,
    resources: ResourcesLike = (),
) -> Generator:
    """Make a model call into a block: a roster member, a referee, a synthesizer.

    Choose it over a plain function when a model is to be asked, and over a roster entry with
    a role when the member needs a prompt, a model, tools or a structured answer of its own.

    Args:
        name: Shown in errors and traces.
        prompt: The system message: text, or a function of the input (and ctx), or several.
        user: The message that follows: text, or a function of the input (and ctx) that gives
            text or messages. None sends the input itself; of a `TurnInput`, its `.messages`.
        model: A chat model or a name; None takes the pattern's, then `"intent/chat"`.
        output_schema: A pydantic model that the answer must fit. Such answers do not stream.
        tools: What the model may call: LangChain tools, functions with a docstring, blocks.
        uses: Capabilities to install.
        context: A further section of the system message.
        retry: How often to ask again. None for the default, and for no attempts besides those
            of a client that has retries of its own.
        resources: What its prompts and tools use: a list of resources, or a mapping of the key
            for `ctx.resources` to the resource.

    Returns:
        The block. It gives the answer's text, or an object of `output_schema`; where its model
        ends the team with the tool `terminate`, the text of the response.

    Raises:
        DefinitionError: An argument is not of its kind; all problems are listed.

    Example:
        ```python
        from flowcompose import generator

        haiku = generator("haiku", "You answer in haiku.", model="offline")
        print(haiku.invoke("Autumn, please.").split()[0])
        #> [offline]
        ```
    """
    problems = Problems(f"generator {name!r}")
    problems.extend(
        problems_of_generator(prompt, context, model, output_schema, tools, uses, resources)
    )
    problems.raise_if_any()
    return Generator(
        name,
        prompt=prompt,
        user=user if user is not None else _messages_of,
        model=model,
        output_schema=output_schema,
        tools=tools,
        uses=uses,
        context=context,
        retry=retry,
        stream=True,
        resources=resources,
    )


def _messages_of(value: Any) -> Closing:
    if isinstance(value, TurnInput):
        return value.messages
    messages = (mapping_of(value) or {}).get("messages", items_of(value))
    return _as_text(value) if messages is None else convert_to_messages(messages)
