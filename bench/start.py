"""From the command to the first healthy answer, with an existing data folder, beside importing the framework alone.

Usage: python -m bench.start [--rounds 7] [--small]"""

import json
import subprocess
import sys

from bench.measure import get, median, process, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox.kernel.clock import stopwatch

LIMIT_SECONDS = 1.5


def start_to_healthy(data: str, key: str) -> float:
    port = free_port()
    begun = stopwatch()
    with process([sys.executable, "-m", "deedbox", "serve", "--json", "--data", data, "--port", str(port)]) as child:
        assert child.stdout is not None
        json.loads(child.stdout.readline())
        get(wait_for(port), "/health", key)
        return stopwatch() - begun


def import_alone() -> float:
    begun = stopwatch()
    subprocess.run([sys.executable, "-c", "import litestar, uvicorn, msgspec, uvloop"], check=True)
    return stopwatch() - begun


def main() -> None:
    options = Options(__doc__)
    options.size("rounds", 7, small=1)
    wish = options.wish()
    with temporary_folder() as folder:
        data = str(folder / "data")
        key = make_key(folder / "data", "search:read")
        ours, bare = [], []
        for _ in range(wish.rounds):
            ours.append(start_to_healthy(data, key))
            bare.append(import_alone())
    start = median(ours)
    share = start / LIMIT_SECONDS
    print(f"start to healthy, existing data folder, median of {wish.rounds}:")
    print(
        f"  deedbox serve           {start:5.2f} s   of the limit of {LIMIT_SECONDS} s = {share:.2f}  (aim at most 1)"
    )
    print(f"  importing its framework {median(bare):5.2f} s   ratio = {start / median(bare):.2f}")
    tell(wish, start=f"{start:.1f} s", limit=f"{LIMIT_SECONDS} s")


if __name__ == "__main__":
    main()
