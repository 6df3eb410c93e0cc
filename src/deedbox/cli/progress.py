"""The progress of long work, on stderr if that is a terminal."""

import sys


def show_stage(stage: str, done: int, total: int) -> None:
    """The line of one stage of the work."""
    show(done, total, stage)


def show(done: int, total: int, stage: str = "") -> None:
    """One line that is written over until the work is done."""
    if not sys.stderr.isatty():
        return
    share = done / total if total else 1.0
    bar = "█" * int(share * 30)
    end = "\n" if done >= total else ""
    print(f"\r{stage and f'{stage:15} '}{bar:30} {share:4.0%}", end=end, file=sys.stderr, flush=True)
