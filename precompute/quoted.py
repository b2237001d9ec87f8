"""Reads answers that people wrote, and keeps what each explainer and control says of their parts: a shard of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._quoted import PEOPLE, Quoted, Worded
from heval_core.explaining import quoted_answers
from heval_core.explaining.answer_steps import columns_of
from heval_core.lm import embedding
from heval_core.lm.fits import question_hash
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.records import TECHNIQUE, TEXT_CONTROLS, WORD_VERDICTS, Cost
from heval_core.store.kinds import QUOTED
from heval_core.store.shards import FORMAT
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, Task, named, together, total

# Sentences and spans of an answer, in QuoteSum on average.
PARTS = 6
# Of a claim of which each word is looked at.
WORDS = 11
# Counted up when a verdict about words changes, so that it is computed again.
VERDICTS = {"trace": 1, "surprise": 1, "nowhere": 2}
# Passes of a trace: all documents and each of them left out, and 12.7 texts in their places on average, until they decide.
TRACED = 15


@dataclass(frozen=True)
class QuotedTask(Task):
    """Read the answers of these numbers in the fixed order."""

    indices: tuple[int, ...]

    @property
    def what(self) -> str:
        return f"answers {super().what}"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: a clean pass each, which explainers share; one that explains whole sentences runs for each part of
        an answer, or each word; and a trace, where there is one.
        """
        explained = [shard for shard in self.shards if shard.explainer not in (*TEXT_CONTROLS, *WORD_VERDICTS)]
        keys = [shard.explainer for shard in explained]
        again = [key for key in keys if columns_of(catalogue.method(key)) == "sentence"]
        traced = any(shard.explainer == "trace" for shard in self.shards)
        parts = [(1, together(keys, tokens)), ((WORDS if traced else PARTS) - 1, together(again, tokens))]
        parts += [(TRACED, Cost(1, tokens))] if traced else []
        return total([(len(self.indices) * times, cost) for times, cost in parts])

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        result = Result({key: [] for key in self.keys}, [])
        for index in self.indices:
            answer = questions.facts[index]
            assert isinstance(answer, Quoted)
            about = {"answer_id": answer.id, "question_id": question_hash(answer.question)}
            try:
                reading = quoted_answers.read(ready, answer)
            except Exception as error:  # whatever one answer does, the others are read
                result.failures.append(Failure("", answer.id, named(error)))
                continue
            for shard in self.shards:
                try:
                    result.rows[shard.key] += [about | row for row in quoted_answers.rows(reading, shard.explainer, answer)]
                except Exception as error:  # as above
                    result.failures.append(Failure(shard.explainer, answer.id, named(error)))
        return result


def quoted_tasks(pair: Pair) -> Iterator[QuotedTask]:
    """Yield tasks of a dataset with answers that people wrote."""
    facts = pair.questions.facts
    able = [key for key in pair.grid.explainers if quoted_answers.explains(catalogue.method(key))]
    here = catalogue.plugins("annotator")
    controls = [key for key in TEXT_CONTROLS if key in here and (key != "minilm" or embedding.is_here())]
    identities = {key: pair.identity_of(catalogue.method(key)) for key in able}
    identities |= {key: catalogue.identity("annotator", catalogue.find("annotator", key)) for key in controls}
    if any(isinstance(fact, Worded) for fact in facts):
        identities |= {key: f"{key} {VERDICTS[key]}" for key in WORD_VERDICTS}
    *state, fingerprint = pair.state.values()
    for indices in pair.chunks(range(len(facts))):
        ids = [facts[index].id for index in indices]
        shared = [FORMAT, QUOTED.name, *state, ids, fingerprint]
        where = {"regime": PEOPLE, "technique": TECHNIQUE, "start": indices[0], "stop": indices[-1] + 1}
        shards = tuple(
            pair.shard(QUOTED.name, [*shared, key, identity], explainer=key, **where) for key, identity in identities.items()
        )
        yield QuotedTask(pair.model, shards, indices)
