"""The one policy for "out of memory": halves until it fits, one clear error where nothing does."""

import pytest
import torch

from heval_core.explainers.mechlight import MechLight
from heval_core.explaining.pipeline import Request, explain_request
from heval_core.lm import hooks
from heval_core.lm.budget import Budget, NotEnoughMemory
from heval_core.lm.heads import Heads
from heval_core.lm.loading import load
from heval_core.records import HEvalError

CPU = torch.device("cpu")


def no_memory(*_, **__):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


def working(most, done):
    """Work that memory refuses for more than so many items."""

    def work(batch):
        if len(batch) > most:
            no_memory()
        done.append(list(batch))

    return work


def test_a_batch_that_memory_refuses_is_done_again_in_halves():
    budget, done = Budget(80, CPU, growing=True), []
    budget.in_batches(range(9), 10, working(2, done), pytest.fail)
    assert done == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert (budget.tokens, budget.growing) == (20, False)


def test_where_nothing_refuses_the_batches_grow():
    budget, done = Budget(20, CPU, growing=True), []
    budget.in_batches(range(9), 10, working(99, done), pytest.fail)
    assert [len(batch) for batch in done] == [2, 4, 3]


def test_an_item_that_does_not_fit_alone_fails_alone_and_says_why():
    failed = []

    def work(batch):
        if 3 in batch:
            no_memory()

    Budget(80, CPU).in_batches(range(6), 10, work, lambda item, error: failed.append((item, error)))
    ((item, error),) = failed
    assert item == 3
    assert isinstance(error, NotEnoughMemory)
    assert str(error).startswith("cpu does not have enough memory for a prompt of 10 tokens; use a shorter one. (CUDA out of")


@pytest.mark.parametrize(("tokens", "attempts"), [(80, 5), (10, 2), (9, 1)])
def test_the_budget_is_halved_until_it_holds_less_than_one_prompt(tokens, attempts):
    budget, tried = Budget(tokens, CPU), []

    def attempt():
        tried.append(budget.tokens)
        no_memory()

    with pytest.raises(NotEnoughMemory):
        budget.within(10, attempt)
    assert tried == [tokens >> halvings for halvings in range(attempts)]


def test_another_error_costs_only_its_own_item_and_no_budget():
    budget, done, failed = Budget(80, CPU), [], []

    def work(batch):
        if 2 in batch:
            raise ValueError("two")
        done.extend(batch)

    budget.in_batches(range(5), 10, work, lambda item, error: failed.append((item, str(error))))
    assert (done, failed, budget.tokens) == ([0, 1, 3, 4], [(2, "two")], 80)


def test_generation_that_memory_refuses_is_done_again_in_halves(lm, monkeypatch):
    prompts = [tuple(range(1, 6 + index)) for index in range(6)]
    expected = lm.generation.greedy(prompts, 4)
    whole, sizes = lm.model.generate, []

    def with_little_memory(ids, **options):
        sizes.append(len(ids))
        return no_memory() if len(ids) > 2 else whole(ids, **options)

    monkeypatch.setattr(lm.model, "generate", with_little_memory)
    monkeypatch.setattr(lm.budget, "tokens", 80)
    assert lm.generation.greedy(prompts, 4) == expected
    assert max(sizes) > 2


def test_a_prompt_of_ones_own_that_does_not_fit_is_refused_in_one_line(lm, monkeypatch):
    monkeypatch.setattr(Heads, "read_all", no_memory)
    monkeypatch.setattr(lm.budget, "tokens", 4096)
    request = Request(("The capital of Kenya is Lisbon.",), "Which capital?", ("Lisbon",), "Oslo")
    with pytest.raises(HEvalError, match="cpu does not have enough memory for a prompt of"):
        explain_request(lm, request, [MechLight()])


def test_heads_that_memory_has_no_room_for_are_not_taken_for_an_unknown_architecture(model_folders, monkeypatch):
    fresh = load(str(model_folders["gpt2"]), "cpu")
    monkeypatch.setattr(hooks, "build_bridge_from_module", no_memory)
    with pytest.raises(torch.OutOfMemoryError):
        _ = fresh.hooked.bridge
