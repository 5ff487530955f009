"""Seconds to load a pattern's factory, next to `import langgraph.graph`, in fresh processes.

Run it with `python benchmarks/import_cost.py`. Both are read from bytecode, as an installed
package is: one that is imported from its source tree where Python may write none is compiled
anew in every process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

MODULES = {
    "langgraph.graph": "import langgraph.graph",
    "flowcompose": "from flowcompose import round_robin",  # the facade alone loads nothing
}
SCRIPT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def seconds(module: str, cache: str) -> float:
    """Import `module` in a process of its own, with bytecode kept in the folder `cache`."""
    command = [sys.executable, "-c", SCRIPT.format(MODULES[module])]
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=kept)
    return float(done.stdout)


def main() -> None:
    """Measure both by turns and print the medians."""
    parser = argparse.ArgumentParser(description="Cost of importing the library.")
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    taken: dict[str, list[float]] = {module: [] for module in MODULES}
    with tempfile.TemporaryDirectory() as cache:
        for module in MODULES:  # writes the bytecode
            seconds(module, cache)
        for _ in range(repeats):
            for module, list_ in taken.items():
                list_.append(seconds(module, cache))
    medians = {module: statistics.median(list_) for module, list_ in taken.items()}
    for module, median in medians.items():
        print(f"{module:<16} {median * 1000:>6.0f} ms")
    print(f"ratio {medians['flowcompose'] / medians['langgraph.graph']:.2f}")


if __name__ == "__main__":
    main()
