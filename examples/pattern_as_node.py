"""A pattern as one node of your own LangGraph graph, streamed from the outside.

What happens:

1. A `StateGraph(MessagesState)` has two nodes: a panel, which is a pattern, and `publish`, a
   function. The panel's goal is the last human message of the conversation.
2. The graph is streamed with `subgraphs=True`, so that the tokens of the members inside the
   panel arrive, each with the name of its speaker.
3. The panel adds one message to the conversation: its deliverable. What the members said stays
   inside.
4. `publish` reads that message and adds its own.

Run it with `python examples/pattern_as_node.py`. It needs no key: the offline model answers.
For a real model, name one: `FLOWCOMPOSE_MODEL=openai:gpt-4o python examples/pattern_as_node.py`.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# LangGraph's own signatures are partly untyped; those two rules report them at every use.

from __future__ import annotations

import os

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from flowcompose import RosterEntry, round_robin
from flowcompose.core.models import ModelLike

GOAL = "Name our release. It has 3 new patterns. It fixes 12 bugs."


def publish(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [AIMessage(f"Published: {state['messages'][-1].text}")]}


def main(model: ModelLike | None = None) -> tuple[list[str], list[AnyMessage]]:
    panel = round_robin(
        name="naming-panel",
        roster=[
            RosterEntry(name="poet", role="finds names that sound well"),
            RosterEntry(name="engineer", role="finds names that tell what is new"),
        ],
        max_rounds=1,
        model=model or os.environ.get("FLOWCOMPOSE_MODEL", "offline"),
    )
    app = (
        StateGraph(MessagesState)
        .add_node("panel", panel)
        .add_node("publish", publish)
        .add_edge(START, "panel")
        .add_edge("panel", "publish")
        .add_edge("publish", END)
        .compile()
    )
    speakers: list[str] = []
    messages: list[AnyMessage] = []
    asked: MessagesState = {"messages": [HumanMessage(GOAL)]}
    for part in app.stream(asked, stream_mode=["messages", "values"], subgraphs=True, version="v2"):
        if part["type"] == "messages":
            message, metadata = part["data"]
            speaker = metadata.get("agent_name")
            if isinstance(message, AIMessageChunk) and speaker and speaker not in speakers:
                speakers.append(speaker)
        elif part["type"] == "values" and not part["ns"]:
            messages = part["data"]["messages"]
    return speakers, messages


if __name__ == "__main__":
    heard, conversation = main()
    print("heard:", ", ".join(heard))
    for said in conversation:
        print(f"{said.type}: {said.text}")
