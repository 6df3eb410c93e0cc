"""Threads that decode kinds that no one has decoded before, all at once."""

import subprocess
import sys

_KINDS = 40

_FIRST_MEETINGS = f"""
import gc, sys, threading, weakref
from typing import Annotated, Literal
import msgspec
from deedbox.kernel.decoders import decoder

class Kept:
    pass

def litter():
    while True:  # makes the collector run, and so lets another thread in wherever it does
        kept = Kept()
        kept.itself = kept
        weakref.finalize(kept, id, 0)

def kind(number):
    made = {{"name": f"Kind{{number}}", "namespace": {{"__module__": "__main__"}}}}
    fields = [
        ("letter", Annotated[str, msgspec.Meta(max_length=9)], ""),
        ("choice", Literal[1, 2], 1),
        ("others", f"list[Kind{{number}}]", []),
        ("last", int, 0),
    ]
    found = globals()[f"Kind{{number}}"] = msgspec.defstruct(fields=fields, **made)
    return found

def meet():
    for each in kinds:
        together.wait()
        decoder(each).decode('{{"last": 1, "others": [{{"last": 2}}]}}')

kinds, together = [kind(number) for number in range({_KINDS})], threading.Barrier(4)
sys.setswitchinterval(1e-6)
gc.set_threshold(5)
threading.Thread(target=litter, daemon=True).start()
threads = [threading.Thread(target=meet) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all decoded", flush=True)
"""


def test_threads_that_meet_a_kind_for_the_first_time_at_once_all_decode_it() -> None:
    ran = subprocess.run([sys.executable, "-c", _FIRST_MEETINGS], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "all decoded"), ran.stderr
