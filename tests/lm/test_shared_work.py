"""Shared work is done once and charged to everyone; time is what the test says."""

import pytest

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.shared_work import Clock, SharedWork
from heval_core.plugins import catalogue
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


def test_what_is_done_once_per_model_is_charged_to_nobody():
    time = Time()
    shared = SharedWork(time)
    clock = Clock(shared)
    time.passes(1)
    assert shared.once_per_model(lambda: time.passes(20) or "copy") == "copy"
    shared.once("relevance", lambda: (shared.once_per_model(lambda: time.passes(30)), time.passes(2)))
    assert clock.stop() == 3


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
    """Of every explainer: the forward pass and each reading of heads take their time, whoever asks for them first."""
    target = Target.next_token(*clean.logits[0].topk(2).indices.tolist())
    time = Time()
    plain = {lm.forward: "clean", lm.heads: "read_all"}
    assert lm.hidden_attention.refusal is None  # it is tried once a model, by whoever asks first

    def timed(seconds, done):
        def do(*given):
            time.passes(seconds)
            return done(*given)

        return do

    def seconds_of(explainer, fresh):
        return explainer.explain(fresh, [target])[0].seconds

    explainers = catalogue.explainers().values()
    for seconds, (part, name) in zip((100.0, 7.0), plain.items(), strict=True):
        setattr(part, name, timed(seconds, getattr(part, name)))
    try:
        alone = {explainer.key: seconds_of(explainer, CleanPass(lm, clean.prompts, time)) for explainer in explainers}
        shared = CleanPass(lm, clean.prompts, time)
        found = {explainer.key: seconds_of(explainer, shared) for explainer in explainers}
    finally:
        for part, name in plain.items():
            delattr(part, name)
    assert found == alone
    assert {key for key, seconds in alone.items() if seconds == 107} >= {"alti", "at2", "attn", "cdla", "fuse3", "mechlight"}
    assert {alone["fa"], alone["document"], alone["origin"]} == {100}
