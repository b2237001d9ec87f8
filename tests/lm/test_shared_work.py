"""Shared work is done once and charged to everyone; time is what the test says."""

from __future__ import annotations

import pytest

from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.mechlight import MechLight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.shared_work import Clock, SharedWork
from heval_core.records import Target


class Time:
    """Stands still unless it is told to pass."""

    now = 0.0

    def __call__(self):
        return self.now

    def passes(self, seconds):
        self.now += seconds


def test_shared_work_is_done_once_and_charged_in_full_to_everyone_with_what_it_uses():
    time = Time()
    shared = SharedWork(time)
    done = []

    def work(name, seconds, *others):
        def do():
            done.append(name)
            time.passes(seconds / 2)
            for other in others:
                other()
            time.passes(seconds / 2)
            return name

        return lambda: shared.once(name, do)

    forward = work("forward", 10)
    heads = work("heads", 4, forward)

    def charged(own, *uses, size=1):
        clock = Clock(shared, size)
        time.passes(own)
        for use in uses:
            use()
            use()
        return clock.stop()

    assert charged(1, heads) == 15  # the first does the work
    assert charged(1, heads) == 15  # the second is charged as if it had
    assert charged(2, forward) == 12
    assert charged(3) == 3
    assert charged(2, forward, heads, size=4) == 4
    assert done == ["heads", "forward"]


def test_work_that_fails_is_not_kept_and_charged_to_nobody():
    time = Time()
    shared = SharedWork(time)

    def fails():
        time.passes(5)
        raise MemoryError

    with pytest.raises(MemoryError):
        shared.once("forward", fails)
    clock = Clock(shared)
    assert shared.once("forward", lambda: time.passes(2)) is None
    assert clock.stop() == 2


def test_an_explainers_seconds_do_not_depend_on_who_ran_before(lm, clean):
    time = Time()
    slow = 100.0

    def first_and_second(*explainers):
        fresh = CleanPass(lm, clean.prompts, time)
        plain = lm.forward.clean

        def timed(ids):
            time.passes(slow)
            return plain(ids)

        lm.forward.clean = timed
        try:
            return [explainer.explain(fresh, [target])[0].seconds for explainer in explainers]
        finally:
            del lm.forward.clean

    target = Target.next_token(*clean.logits[0].topk(2).indices.tolist())
    assert first_and_second(FeatureAblation(), MechLight()) == [slow, slow]
    assert first_and_second(MechLight(), FeatureAblation()) == [slow, slow]
