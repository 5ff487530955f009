"""The kinds of documents, each with a model of what stands in it."""
