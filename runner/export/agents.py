"""Agent documents: of default members, generators and models; and places held for the rest."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from pydantic.errors import PydanticUserError

from flowcompose.core.blocks import Block, FunctionBlock, RunnableBlock
from flowcompose.core.generator import Generator
from flowcompose.core.graph_block import GraphBlock
from flowcompose.core.models import CHAT, ModelLike, is_chat_model
from flowcompose.core.tools import is_terminate
from flowcompose.core.wire_schema import wire_schema
from flowcompose.patterns.turn_loop.panel_block import PanelGenerator
from flowcompose.patterns.turn_loop.roster import Member
from flowcompose.runner.export.book import Book
from flowcompose.runner.export.models import REPLACE_ME, Models
from flowcompose.runner.export.shared import Shared
from flowcompose.runner.export.texts import Texts, listed, paragraphs

TERMINATE = {"type": "built-in", "name": "terminate"}


@dataclass(frozen=True)
class AgentWriter:
    """Writes what an Agent says for the blocks of one pattern."""

    book: Book
    models: Models
    shared: Shared
    """What the pattern gives to all of its members."""

    def member(self, member: Member) -> dict[str, Any]:
        """Say what the Agent of a member says."""
        where, block = f"{self.shared.where}: member {member.name!r}", member.block
        role = member.role or (block.role if isinstance(block, PanelGenerator) else None)
        if isinstance(block, PanelGenerator) and block.agent_name is None:
            self.book.lose(where, "a default block that is no member's", "write what it is to do")
        spec = self.block(where, block, role or member.description)
        about = member.description or role
        return {"description": about, **spec} if about else spec

    def block(self, where: str, block: Block, role: str | None = None) -> dict[str, Any]:
        """Say what the Agent of a block says.

        Args:
            where: How the block is called in findings.
            block: What answers.
            role: What a default member is told to be.
        """
        if isinstance(block, PanelGenerator):
            return self._generator(where, block, self._panel_prompt(where, block, role))
        if isinstance(block, Generator):
            return self._generator(where, block, self._own_prompt(where, block))
        if isinstance(block, RunnableBlock) and is_chat_model(block.runnable):
            return {"modelRef": self.models.ref(where, block.runnable)}
        return self._placeholder(where, block)

    def _generator(self, where: str, block: Generator, prompt: str) -> dict[str, Any]:
        if block.retry is not None and block.retry is not self.shared.written.retry:
            self.book.lose(where, "retry", "its model is asked again as the runner does it")
        spec: dict[str, Any] = {"prompt": prompt} if prompt else {}
        spec["modelRef"] = self._model(where, block.model)
        if tools := self._tools(where, block):
            spec["tools"] = tools
        if schema := self._schema(where, block):
            spec["outputSchema"] = schema
        return spec

    def _panel_prompt(self, where: str, block: PanelGenerator, role: str | None) -> str:
        extra = Texts.in_prompt(block.extra)
        self._lose_functions(where, extra)
        name = block.agent_name
        opening = f"You are {name}, {role}" if role else f"You are {name}"
        told = "" if name is None else f"{opening.rstrip('.')}."
        return paragraphs([told, *self.shared.texts.texts, *extra.texts])

    def _own_prompt(self, where: str, block: Generator) -> str:
        own = Texts.in_prompt(block.prompt)
        self._lose_functions(where, own)
        if block.user is not None:
            instead = "it gets what was said before and the user's input, as every Agent"
            self.book.lose(where, "a `user` message of its own", instead)
        if own.functions and not own.texts:
            return f"{REPLACE_ME}: {', '.join(own.functions)} wrote this prompt."
        return paragraphs(own.texts)

    def _lose_functions(self, where: str, texts: Texts) -> None:
        if texts.functions:
            what = f"functions write parts of its prompt ({listed(texts.functions)})"
            self.book.lose(where, what, "left out")

    def _model(self, where: str, own: ModelLike | None) -> dict[str, str]:
        shared = self.shared
        if own is None or any(own is each for each in shared.models):
            where = shared.where
        return self.models.ref(where, own or shared.plan.panel.model or CHAT)

    def _tools(self, where: str, block: Generator) -> list[dict[str, str]]:
        python = [each.name for each in block.tools if not is_terminate(each)]
        if python and python == self.shared.tools:
            where = self.shared.where
        if python:
            what = f"tools of Python ({listed(python)})"
            self.book.lose(where, what, "left out; a Tool document may take the place of each")
        return [dict(TERMINATE) for each in block.tools if is_terminate(each)]

    def _schema(self, where: str, block: Generator) -> dict[str, Any] | None:
        if block.schema is None:
            return None
        try:
            return wire_schema(block.schema)[0]
        except PydanticUserError:
            what = f"{block.schema.__name__} cannot be written as a JSON Schema"
            self.book.lose(where, what, "it answers in words")
            return None

    def _placeholder(self, where: str, block: Block) -> dict[str, Any]:
        what = described(block)
        self.book.lose(where, f"{what}, which is Python", "an Agent with a prompt to be written")
        doc = inspect.getdoc(block.function) if isinstance(block, FunctionBlock) else None
        prompt = paragraphs([f"{REPLACE_ME}: {what} stood here.", doc or ""])
        return {"prompt": prompt, "modelRef": self._model(where, None)}


def described(block: Block) -> str:
    """Say what a block is that no document can be."""
    if isinstance(block, FunctionBlock):
        return f"the function {block.name!r}"
    if isinstance(block, GraphBlock):
        return f"the {'graph' if block.program is None else 'flow'} {block.name!r}"
    kind = type(block.runnable if isinstance(block, RunnableBlock) else block).__name__
    return f"{block.name!r}, a {kind}"
