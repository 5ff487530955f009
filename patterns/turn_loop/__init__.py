"""The loop under every pattern: a roster, a schedule and a way to stop, made a graph."""
