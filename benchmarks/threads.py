"""How torch's threads wait: passively, as `heval_core` tells them to; spinning, as they do untold; and one, which never waits.

Each way is a process of its own, as threads hear how to wait when torch is loaded. They take turns, alone and beside endless
loops. Seconds are of a clock: on the processor's a thread that spins is at work. The rest of the machine has to be idle, and
all takes ten minutes on two cores.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.timing import TOKENIZER, Figure
from heval_core.lm.installed import PACKAGED

ROUNDS, PASSES, BESIDE = 2, 300, (0, 1)  # beside a busy process 300 passes of spinning threads take over a minute
PASSIVELY = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
WAYS = {"passive": PASSIVELY, "spinning": {"GOMP_SPINCOUNT": "300000"}, "one thread": PASSIVELY | {"OMP_NUM_THREADS": "1"}}
# What is timed in a process, with the model `lm`.
WORK = {
    f"{PASSES} passes": f"ids = lm.ids(range(300, 360))\nfor _ in range({PASSES}): lm.forward.logits(ids)",
    "explain": "explain(lm, question='Where is it?', context=['It is in Peru.', 'It is in Oslo.'])",
}
TOKENS = dict(zip(WORK, (60, 105), strict=True))
TIMED = """
import sys, time
from heval_core import explain
from heval_core.lm.loading import load
lm = load(sys.argv[1], "cpu", "float32")
began = time.perf_counter()
{}
print(time.perf_counter() - began)
"""


def thread_figures() -> Iterator[Figure]:
    """Yield figures of tiny prompts on a demo model, and of `explain` on the real one where it is installed."""
    real = "" if PACKAGED["smollm2"].problem() else "smollm2"
    for model, work in zip((str(TOKENIZER), real), WORK, strict=True):
        for busy in BESIDE if model else ():
            taken = seconds(model, work, busy)
            detail = ", ".join(f"{way} {least:.1f} s" for way, least in taken.items())
            label = f"{work}, {'idle' if not busy else f'beside {busy} busy'}"
            for way in list(WAYS)[1:]:
                ratio = taken[way] / taken["passive"]
                yield Figure(Path(model).name, TOKENS[work], f"{label}: {way} / passive", ratio, detail=detail)


def seconds(model: str, work: str, busy: int) -> dict[str, float]:
    """Time way ▶ the least of some rounds. busy: how many endless loops run beside."""
    least = dict.fromkeys(WAYS, float("inf"))
    command = [sys.executable, "-c", TIMED.format(WORK[work]), model]
    silent = {name: value for name, value in os.environ.items() if name not in {"OMP_NUM_THREADS", *PASSIVELY}}
    with beside(busy):
        for way in [*WAYS] * ROUNDS:
            done = subprocess.run(command, env=silent | WAYS[way], stdout=subprocess.PIPE, text=True, check=True)
            least[way] = min(least[way], float(done.stdout.splitlines()[-1]))
    return least


@contextmanager
def beside(busy: int) -> Iterator[None]:
    with ExitStack() as loops:
        for _ in range(busy):
            loop = loops.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            loops.callback(loop.kill)
        yield
