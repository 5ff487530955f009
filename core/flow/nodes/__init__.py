"""The nodes of a flow's graph, one module per kind of operation."""
