"""Seconds to `import flowcompose`, next to `import langgraph.graph`, each in fresh processes.

Run it with `python benchmarks/import_cost.py`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

MODULES = ("langgraph.graph", "flowcompose")
SCRIPT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module: str) -> float:
    """Import `module` in a process of its own."""
    command = [sys.executable, "-c", SCRIPT.format(module)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    """Measure both by turns and print the medians."""
    parser = argparse.ArgumentParser(description="Cost of importing the library.")
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    taken: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(repeats):
        for module, list_ in taken.items():
            list_.append(seconds(module))
    medians = {module: statistics.median(list_) for module, list_ in taken.items()}
    for module, median in medians.items():
        print(f"{module:<16} {median * 1000:>6.0f} ms")
    print(f"ratio {medians['flowcompose'] / medians['langgraph.graph']:.2f}")


if __name__ == "__main__":
    main()
