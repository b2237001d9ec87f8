"""Fine-tuning: low-rank matrices are added to the weights, trained to follow relevant contexts and to ignore others.

Formula: LoRA on all linear layers of the blocks, rank r = 16, alpha = 2 r, dropout .05; AdamW, rate 5e-5 with 5 % warm-up and
a cosine, batches of 32, at most 3 epochs, stopped early by the loss on held-out questions (one of ten). The loss counts the
answer's tokens only. A relevant or counterfactual context is to be followed; with an irrelevant or empty one the target is the
model's own answer, of questions only that it answers right. The adapter is merged into the weights.
Reference: Li et al. 2023, "Large Language Models with Controllable Working Memory", as in CUB (arXiv 2505.16518).
Departure: the model's own answer is known by its next token: the target is the spelling of the true answer that begins with
it. The model's own dropout stays off. The adapter is kept in float16.
Options: `data`: `mixture`, the four public sources of `shared/lessons.py`; `development`, the dataset's own development
questions under the kinds of context that are asked for, in CUB's shares (.65 to be followed, .25 irrelevant, .10 empty);
or the path of one's own JSON lines (`shared/lessons.py: of_file`), without a comma in it. `learning_rate`, `epochs` and
`rank`: a tiny model wants a higher rate and more epochs.
Cost: an answer costs what Regular's does. Training takes about three passes over each example and epoch, before the first
answer; the adapter is stored beside the results, r x (inputs + outputs) numbers of two bytes for each layer.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from heval_core.records import HEvalError, NotHere
from heval_core.techniques.shared.base import Base, Development, Setting
from heval_core.techniques.shared.lessons import Lesson, examples, in_shares, of_development, of_file, of_mixture, split

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

MIXTURE, DEVELOPMENT = "mixture", "development"
LONGEST = 150


@dataclass(frozen=True)
class FineTuning(Base):
    data: str = MIXTURE
    learning_rate: float = 5e-5
    epochs: int = 3
    rank: int = 16

    key = "fine_tuning"
    family = "training"
    order = 8
    needs = ("gradients",)
    preparation = "trained"
    reference = "Li et al. 2023, as in CUB (arXiv 2505.16518)"

    @property
    def title(self) -> str:
        data = Path(self.data).name if self._is_file else self.data
        options = {"data": data, "learning_rate": f"rate {self.learning_rate:g}"}
        options |= {"epochs": f"{self.epochs} epochs", "rank": f"rank {self.rank}"}
        changed = [text for name, text in options.items() if getattr(self, name) != getattr(FineTuning, name)]
        return f"Fine-tuning ({', '.join(changed)})" if changed else "Fine-tuning"

    @property
    def preparing(self) -> float:
        """Return three for each epoch: there, back, and to see what was learned."""
        return 3.0 * self.epochs

    @property
    def _is_file(self) -> bool:
        return self.data not in (MIXTURE, DEVELOPMENT)

    def check(self) -> None:
        """Raise HEvalError for an option out of range. A file need not be there: results may come from elsewhere."""
        if self._is_file and not self.data.endswith((".jsonl", ".jsonl.gz")):
            raise HEvalError(
                f"fine_tuning reads data=mixture, data=development or the path of JSON lines (.jsonl), not {self.data!r}."
            )
        if len(self.data) > LONGEST:  # the key is the name of a folder in the store
            raise HEvalError(
                f"The path of fine_tuning's data has {len(self.data)} characters, more than {LONGEST}; move the file."
            )
        if not 0 < self.learning_rate <= 1:
            raise HEvalError(f"fine_tuning needs a learning_rate above 0 and at most 1, not {self.learning_rate:g}.")
        for name, value in (("epochs", self.epochs), ("rank", self.rank)):
            if not 1 <= value <= 1000:
                raise HEvalError(f"fine_tuning needs {name} from 1 to 1000, not {value}.")

    def reads(self) -> str:
        if not self._is_file or not Path(self.data).expanduser().is_file():
            return ""
        with Path(self.data).expanduser().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def settings(self, development: Development) -> Sequence[Setting]:
        """Trains; the one setting says on what, and has the adapter.

        Raises NotHere where peft or the data is not there, HEvalError where there are too few questions to train on.
        """
        from heval_core.lm.training import Recipe, train

        lm, seed = development.lm, development.seed
        taught, held_out = (examples(lm, lessons) for lessons in split(self._lessons(development), seed))
        if self.data == DEVELOPMENT:
            taught, held_out = in_shares(taught, seed), in_shares(held_out, seed)
        if not taught or not held_out:
            raise HEvalError(
                f"fine_tuning has no examples for {lm.key} to {'train on' if not taught else 'hold out'}: its data has no "
                "relevant contexts, and the model answers none of its questions right."
            )
        recipe = Recipe(self.learning_rate, self.epochs, self.rank, 2.0 * self.rank)
        trained = train(lm, [example for _, example in taught], [example for _, example in held_out], recipe, seed)
        summary = {
            "data": self.data,
            "examples": dict(sorted(Counter(lesson.kind for lesson, _ in taught).items())),
            "held_out": len(held_out),
            "epochs": len(trained.losses),
            "best_epoch": trained.best,
            "loss": [round(loss, 4) for loss in trained.losses],
            "held_out_loss": [round(loss, 4) for loss in trained.held_out],
        }
        return (Setting(json.dumps(summary), trained.adapter.as_bytes()),)

    def _lessons(self, development: Development) -> list[Lesson]:
        if self.data == DEVELOPMENT:
            return of_development(development)
        if self._is_file:
            path = Path(self.data).expanduser()
            if not path.is_file():
                raise NotHere(f"The data file {path} of fine_tuning does not exist.")
            return of_file(path)
        return of_mixture(development.seed)

    @contextmanager
    def applied(self, lm: LanguageModel, setting: Setting) -> Iterator[LanguageModel]:
        """Yield a copy that shares all other weights. Raises HEvalError for an adapter of another model."""
        from heval_core.lm.adapting import Adapter, adapted

        yield adapted(lm, Adapter.read(setting.weights))


PLUGIN = FineTuning()
