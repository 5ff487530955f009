"""The file that keeps runs: checkpoints of the engine, and beside them what was asked for."""
