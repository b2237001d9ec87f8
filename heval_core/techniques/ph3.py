"""PH3, pruning heads by path patching: heads that carry the answer of memory, or of the context, write nothing any more.

Formula: identification set: conflicting development questions whose memory is exact (t_M begins the true answer, and not the
context's). The corrupted twin replaces subject and context answer by those of another question of the same relation, of equal
token lengths. Effect of a head: e_m = mean[log P(t_M) clean - patched], e_c likewise with t_C, where patched takes the head's
z at the last position from the twin, all other heads stay frozen, MLPs and norms are recomputed. Memory heads are the top N
by e_m, context heads by e_c; N in 1, 3, 5, 7, 10, 12, 15, 17, 22, 25, each as all (both), memory, context, only memory, only
context ("only": without those in the other's top N). Pruning zeroes the heads' rows of W_O. Option `mode`: `context` takes the
configuration with the highest BCU over gold and conflicting development questions, `memory` over irrelevant ones (over
off-topic ones where there are none); ties by mean BCU; no pruning if nothing beats Regular.
Reference: Jin et al. 2024, arXiv 2402.18154, as in CUB (arXiv 2505.16518).
Departure: our definition, since the paper's formulas were not at hand. Where query heads share keys and values, all heads of a
group are pruned together, ranked by the mean of their effects; option `per_head` prunes query heads. At most 100 questions
identify heads, at least 5 are needed. Of several first tokens of the context's answer, t_C is the likeliest in the clean run.
Cost: an answer costs what Regular's does. The ranking costs two passes over each identifying question, and one token for each
head and question; the search then asks all development questions under each configuration, up to 50 of them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from heval_core.prompting.prompts import mentions, prompt_of
from heval_core.records import HEvalError, Instance, TokenisedPrompt, head_name
from heval_core.techniques.shared.base import Answerable, Base, Development, Setting, Trial, best_by

if TYPE_CHECKING:
    import torch

    from heval_core.lm.model import LanguageModel

MODES = ("context", "memory")
COUNTS = (1, 3, 5, 7, 10, 12, 15, 17, 22, 25)
FEWEST, MOST = 5, 100

Head = tuple[int, int]


@dataclass(frozen=True)
class Ph3(Base):
    mode: str = "context"
    per_head: bool = False

    key = "ph3"
    family = "heads"
    order = 7
    needs = ("softmax attention", "heads")
    preparation = "tuned"
    reference = "Jin et al. 2024 (arXiv 2402.18154)"

    @property
    def title(self) -> str:
        return f"PH3 +{self.mode}{', per query head' if self.per_head else ''}"

    @property
    def preparing(self) -> float:
        """Return up to 50 sets of heads, no pruning, and the ranking of heads."""
        return 52.0

    def check(self) -> None:
        """Raise HEvalError for an unknown mode."""
        if self.mode not in MODES:
            raise HEvalError(f"ph3 has no mode {self.mode!r}; there are: {', '.join(MODES)}.")

    def settings(self, development: Development) -> Sequence[Setting]:
        """List what the search tries: no pruning, then each set of heads once.

        Raises HEvalError where too few questions identify heads.
        """
        if self.mode == "memory" and not {"irrelevant", "off_topic"} & set(development.questions):
            raise HEvalError(
                "ph3(mode=memory) is chosen by irrelevant or off_topic development questions, and there are none of "
                f"{development.dataset}; add irrelevant or off_topic to the regimes."
            )
        memory, context = development.once("effects of heads", lambda: effects(development))
        units = _units(development.lm, self.per_head)
        chosen: dict[tuple[Head, ...], Setting] = {(): Setting(_text("none", 0, ()))}
        for name, count, heads in configurations(_ranked(units, memory), _ranked(units, context)):
            chosen.setdefault(heads, Setting(_text(name, count, heads)))
        return list(chosen.values())

    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]:
        """Choose by the mode's own BCU, ties by mean BCU. Returns no pruning, with all that equal it, if nothing beats it."""
        leading = best_by(trials, self._goal)
        regular = next(index for index, trial in enumerate(trials) if not heads_of(trial.setting))
        if regular in leading:
            alike = (i for i in leading if i != regular and abs(trials[i].mean - trials[regular].mean) <= 1e-12)
            return (regular, *alike)
        first = max(trials[index].mean for index in leading)
        return tuple(index for index in leading if trials[index].mean >= first - 1e-12)

    def _goal(self, trial: Trial) -> float:
        if self.mode == "context":
            return trial.faithfulness
        return trial.bcu["irrelevant"] if "irrelevant" in trial.bcu else trial.bcu["off_topic"]

    @contextmanager
    def applied(self, lm: LanguageModel, setting: Setting) -> Iterator[LanguageModel]:
        """Yield the model itself, whose weights are changed until the end.

        Raises HEvalError for a head that it does not have.
        """
        with lm.pruning.without(heads_of(setting)):
            yield lm


def heads_of(setting: Setting) -> tuple[Head, ...]:
    """Return the heads that a setting prunes, as (layer, head). Raises HEvalError for a setting of another technique."""
    names = json.loads(setting.text)["heads"] if setting.text else []
    matches = [re.fullmatch(r"L(\d+)H(\d+)", name, re.ASCII) for name in names]
    if not all(matches):
        raise HEvalError(f"ph3 reads heads as L3H2 (layer 3, head 2), not {', '.join(map(repr, names))}.")
    return tuple((int(match[1]), int(match[2])) for match in matches if match)


def configurations(
    memory: Sequence[tuple[Head, ...]], context: Sequence[tuple[Head, ...]]
) -> Iterator[tuple[str, int, tuple[Head, ...]]]:
    """Yield (name, N, heads) of every configuration that prunes something. memory, context: all units, each best first."""
    for count in COUNTS:
        if count > len(memory):
            return
        first, second = set(memory[:count]), set(context[:count])
        sets = {
            "all": first | second,
            "memory": first,
            "context": second,
            "only memory": first - second,
            "only context": second - first,
        }
        for name, units in sets.items():
            if units:
                yield name, count, tuple(sorted(head for unit in units for head in unit))


def effects(development: Development) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute e_m and e_c, (L, H), in nats. Raises HEvalError where too few questions identify heads."""
    import torch

    lm = development.lm
    pairs = identifying(development)
    if len(pairs) < FEWEST:
        raise HEvalError(
            f"ph3 is unavailable for {lm.key} on {development.dataset}: it needs {FEWEST} conflicting development questions "
            f"whose true answer the model knows and that have a twin of equal length; there are {len(pairs)}."
        )
    clean = lm.path_patching.last_positions([prompt for _, prompt, _ in pairs])
    twins = lm.path_patching.last_positions([twin for _, _, twin in pairs])
    token_ids = []
    for (question, _, _), logits in zip(pairs, clean.logits, strict=True):
        likeliest = int(logits[list(question.accepted)].argmax())
        token_ids.append((question.memory_id, question.accepted[likeliest]))
    by_head = lm.path_patching.effects(clean, twins.outputs, torch.tensor(token_ids, device=lm.device)).mean(0)
    return by_head[..., 0], by_head[..., 1]


def identifying(development: Development) -> list[tuple[Answerable, TokenisedPrompt, TokenisedPrompt]]:
    """Select conflicting questions whose memory is exact, each with its prompt and its corrupted twin's; at most MOST
    of them.
    """
    lm, questions = development.lm, development.questions.get("conflicting", ())
    # Of a name in running text; each name is tokenised once.
    length = cache(lambda name: len(lm.encode(f" {name}")))
    identified: list[tuple[Answerable, TokenisedPrompt, TokenisedPrompt]] = []
    for question in questions:
        instance = question.instance
        answers = (instance.true_answer, *instance.accepted)
        exact = any(question.memory_id in lm.first_tokens(answer) for answer in answers if answer)
        if not exact or not question.accepted or question.memory_id in question.accepted or len(identified) == MOST:
            continue
        prompt = lm.tokenise(prompt_of(instance, lm.template))
        others = [other.instance for other in questions]
        random.Random(f"{development.seed}|{instance.fact_id}|twin").shuffle(others)
        twins = (corrupted for other in others if (corrupted := twin_of(instance, other, length)))
        tokenised = (lm.tokenise(prompt_of(corrupted, lm.template), check_length=False) for corrupted in twins)
        if twin := next((candidate for candidate in tokenised if len(candidate.ids) == len(prompt.ids)), None):
            identified.append((question, prompt, twin))
    return identified


def twin_of(instance: Instance, other: Instance, length: Callable[[str], int]) -> Instance | None:
    """Swap an instance's subject and context answer for another one's; None where the two are no triplet to corrupt it with.

    length: of a name, in tokens.
    """
    document, theirs = instance.documents[0], other.documents[0]
    names = {instance.subject: other.subject, document.answer: theirs.answer}
    same = other.relation != instance.relation or any(old == new for old, new in names.items())
    if same or len(names) < 2 or "" in (*names, *names.values()) or theirs.answer == instance.true_answer:
        return None
    if any(length(old) != length(new) for old, new in names.items()) or not mentions(instance.subject, instance.question):
        return None
    text, question = _replaced(document.text, names), _replaced(instance.question, {instance.subject: other.subject})
    document = replace(document, subject=other.subject, answer=theirs.answer, text=text)
    return replace(instance, subject=other.subject, question=question, documents=(document,))


def _replaced(text: str, names: dict[str, str]) -> str:
    """Replace every mention of a name in a text; of two that overlap, the longer one."""
    spans = sorted((span.start - span.end, span.start, span.end, name) for name in names for span in mentions(name, text))
    taken: list[tuple[int, int, str]] = []
    for _, start, end, name in spans:
        if all(end <= begin or start >= until for begin, until, _ in taken):
            taken.append((start, end, names[name]))
    for start, end, name in sorted(taken, reverse=True):
        text = text[:start] + name + text[end:]
    return text


def _units(lm: LanguageModel, per_head: bool) -> list[tuple[Head, ...]]:
    """Return what is pruned together: query heads that share keys and values, or each query head."""
    heads = ((layer, head) for layer in range(lm.layers) for head in range(lm.heads_per_layer))
    return [(head,) for head in heads] if per_head else list(dict.fromkeys(lm.pruning.unit(*head) for head in heads))


def _ranked(units: Sequence[tuple[Head, ...]], by_head: torch.Tensor) -> list[tuple[Head, ...]]:
    """Rank units by the mean effect of their heads, largest first; of equal ones the earlier."""
    values = by_head.tolist()
    return sorted(units, key=lambda unit: -sum(values[layer][head] for layer, head in unit) / len(unit))


def _text(configuration: str, count: int, heads: Sequence[Head]) -> str:
    return json.dumps({"configuration": configuration, "n": count, "heads": [head_name(*head) for head in heads]})


PLUGIN = Ph3()
