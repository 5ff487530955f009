"""Flows in which several agents work on one goal, compiled to LangGraph."""
