"""What `flowcompose run` and `resume` do: from what was asked for to what is told of it."""
