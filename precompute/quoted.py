"""Reads answers that people wrote, and keeps what each explainer and control says of their parts: a shard of each, for a few
answers."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from heval_core import catalogue, quoted
from heval_core.datasets.quotesum import PEOPLE, Quoted
from heval_core.generated import columns_of
from heval_core.lm import embedding
from heval_core.lm.model import LanguageModel
from heval_core.records import TECHNIQUE, TEXT_CONTROLS, Cost
from heval_core.store.kinds import QUOTED
from heval_core.store.shards import FORMAT
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, Row, Task, hashed, named, together, total

# Sentences and spans of an answer, in QuoteSum on average.
PARTS = 6


@dataclass(frozen=True)
class QuotedTask(Task):
    """places: the answers' numbers in the fixed order."""

    places: tuple[int, ...]

    @property
    def what(self) -> str:
        return f"answers {self.places[0]}-{self.places[-1] + 1}"

    def cost(self, tokens: float) -> Cost:
        """A clean pass each, which explainers share; one that explains whole sentences runs for each part of an answer."""
        keys = [shard.explainer for shard in self.shards if shard.explainer not in TEXT_CONTROLS]
        again = [key for key in keys if columns_of(catalogue.method(key)) == "sentence"]
        parts = [(1, together(keys, tokens)), (PARTS - 1, together(again, tokens))]
        return total([(len(self.places) * times, cost) for times, cost in parts])

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        result = Result({key: [] for key in self.keys}, [])
        for place in self.places:
            answer = questions.facts[place]
            assert isinstance(answer, Quoted)
            try:
                reading = quoted.read(ready, answer)
            except Exception as error:  # whatever one answer does, the others are read
                result.failures.append(Failure("", answer.id, named(error)))
            else:
                for shard in self.shards:
                    try:
                        result.rows[shard.key] += self._rows(shard.explainer, reading, answer)
                    except Exception as error:  # as above
                        result.failures.append(Failure(shard.explainer, answer.id, named(error)))
        return result

    def _rows(self, key: str, reading: quoted.Reading, answer: Quoted) -> Iterator[Row]:
        shard = self.shards[0]
        question = hashlib.sha256(answer.question.encode()).hexdigest()[:16]
        whose = {name: getattr(shard, name) for name in ("model", "revision", "dataset")}
        for row in quoted.rows(reading, key, answer):
            yield whose | {"answer_id": answer.id, "question_id": question, "explainer": key} | row


def quoted_tasks(pair: Pair) -> list[QuotedTask]:
    """None where the dataset has no answers that people wrote."""
    grid, facts = pair.grid, pair.questions.facts
    if PEOPLE not in grid.regimes:
        return []
    able = [key for key in grid.explainers if quoted.explains(catalogue.method(key))]
    controls = [key for key in TEXT_CONTROLS if key != "minilm" or embedding.is_here()]
    identities = {key: pair.identity_of(catalogue.method(key)) for key in able}
    identities |= {key: catalogue.identity("annotator", catalogue.find("annotator", key)) for key in controls}
    depends = [FORMAT, QUOTED.name, pair.model.identity.key, pair.model.identity.revision, pair.settings]
    tasks = []
    size = grid.shard_size
    assert size is not None
    for first in range(0, len(facts), size):
        places = tuple(range(first, min(first + size, len(facts))))
        shared = [*depends, pair.questions.dataset, [facts[place].id for place in places], pair.questions.fingerprint]
        where = {"settings": pair.settings, "regime": PEOPLE, "technique": TECHNIQUE, "start": first, "stop": places[-1] + 1}
        shards = tuple(
            pair.shard(QUOTED.name, hashed([*shared, key, identity]), explainer=key, **where)
            for key, identity in identities.items()
        )
        tasks.append(QuotedTask(pair.model, shards, places))
    return tasks
