"""Sentences about techniques, after Hagström et al. (CUB, ACL 2026, arXiv 2505.16518), and the effects that each implies.

Formulas, over cells (model and dataset), with d(t, k) technique t's BCU under kind of context k less Regular's, over the
answers that both gave:
- best in every kind: of each technique t, the largest over kinds k and other techniques u (Regular too) of the mean of
  d(u, k) - d(t, k): how far t is behind another one somewhere. The sentence is true if it is above MARGIN for every t.
- gains on both: of each t, the least of two means: of the gain in context faithfulness, (d(gold) + d(conflicting))/2, and of
  the gain in robustness, d(irrelevant). True if it is below MARGIN for every t.
- memory: the mean of Spearman's correlation within cells of BCU on conflicting documents with memory strength, under Regular;
  every resample of the questions is ranked anew. True below 0.
- relevance: the mean gain in J of each technique that sees only probabilities. True if it is below MARGIN for every one.
- synthesised: within models, the mean over techniques of the total BCU on CounterFact, less the same mean over those of NQ and
  DRUID that there are. True above 0.
- without a technique: Regular's mean BCU on conflicting and on irrelevant documents. True if both are below 1 - MARGIN.
Departure: the paper has no tests. MARGIN lets a technique that ties with the best one count as best; without it a tie could
never be told from a loss. Off-topic documents, which the paper does not have, are one of the kinds.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heval_core.evaluation.findings.claims import LARGEST, LEAST, Evidence, Hypothesis, PaperClaim, mean_of
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE
from heval_core.statistics.values import Value, average, total

# What a difference of BCU has to exceed: five answers of a hundred.
MARGIN = 0.05
SYNTHESISED, REALISTIC = ("counterfact",), ("nq", "druid")
# (kind of context or total, measure), as in `heval_core.evaluation.techniques.tables`.
KindAndMeasure = tuple[str, str]
IGNORED: KindAndMeasure = ("irrelevant", "bcu")
TOTAL, J = ("total", "bcu"), ("total", "discrimination")
WANTED: frozenset[KindAndMeasure] = frozenset({(kind, "bcu") for kind in CONTEXT_KINDS} | {TOTAL, J})


class CubCell(NamedTuple):
    """What techniques came to with one model on one dataset.

    values: technique ▶ its measures. gains: technique ▶ the same less Regular's, over the instances that both answered.
    memory: Spearman's correlation of memory strength with BCU on conflicting documents, under Regular; None: undefined.
    """

    model: str
    dataset: str
    values: Mapping[str, Mapping[KindAndMeasure, Value]]
    gains: Mapping[str, Mapping[KindAndMeasure, Value]]
    memory: Value | None

    def gain(self, technique: str, measured: KindAndMeasure) -> Value | None:
        return self.gains.get(technique, {}).get(measured)

    def gain_of_both(self, technique: str, what: str) -> Value | None:
        """Compute the gain in faithfulness, the mean over gold and conflicting documents (or one), or in robustness; of one
        that has both.
        """
        followed = [gain for kind in FOLLOWED if (gain := self.gain(technique, (kind, "bcu"))) is not None]
        ignored = self.gain(technique, IGNORED)
        if not followed or ignored is None:
            return None
        return ignored if what == "robustness" else average(followed)

    def regular(self, kind: str) -> Value | None:
        """Return Regular's BCU with one kind of context."""
        return self.values.get(TECHNIQUE, {}).get((kind, "bcu"))

    def behind(self, technique: str, other: str, kind: str) -> Value | None:
        """Return how far a technique is behind another with one kind of context: the difference of both gains."""
        gain, ahead = self.gain(technique, (kind, "bcu")), self.gain(other, (kind, "bcu"))
        return None if gain is None or ahead is None else ahead.less(gain)


def evidence_of(cells: Sequence[CubCell]) -> Evidence:
    return Evidence(cells, "technique", (technique for cell in cells for technique in cell.values))


def techniques(evidence: Evidence) -> list[str]:
    """List those beside Regular, in the catalogue's order, that are compared with it.

    Where some were asked of two models on as many datasets, only these: of the others nothing could be said anyway.
    """
    known = {name: [cell for cell in evidence.cells if name in cell.gains] for cell in evidence.cells for name in cell.gains}
    known.pop(TECHNIQUE, None)
    enough = [name for name, cells in known.items() if min(len({c.model for c in cells}), len({c.dataset for c in cells})) > 1]
    return sorted(enough or known, key=lambda name: (getattr(evidence.plugins.get(name), "order", 1000), name))


def _unaided(evidence: Evidence) -> list[Hypothesis]:
    numbers = [evidence.mean(f"Regular's BCU, {kind}", CubCell.regular, kind) for kind in ("conflicting", "irrelevant")]
    return Hypothesis.each(numbers, most=1 - MARGIN) if all(numbers) else []


def _best_nowhere(evidence: Evidence) -> list[Hypothesis]:
    names, hypotheses = techniques(evidence), list[Hypothesis]()
    for name in names:
        titles = {
            other: f"{evidence.title(name)} behind {evidence.title(other)}" for other in (TECHNIQUE, *names) if other != name
        }
        numbers = (
            evidence.mean(f"{title}, {kind.replace('_', '-')}", CubCell.behind, name, other, kind)
            for other, title in titles.items()
            for kind in CONTEXT_KINDS
        )
        hypotheses += Hypothesis.of(numbers, least=MARGIN, which=LARGEST)
    return hypotheses


def _gain_on_one(evidence: Evidence) -> list[Hypothesis]:
    hypotheses: list[Hypothesis] = []
    for name in techniques(evidence):
        both = ((what, f"{evidence.title(name)}, gain in {what}") for what in ("faithfulness", "robustness"))
        numbers = (evidence.mean(label, CubCell.gain_of_both, name, what) for what, label in both)
        hypotheses += Hypothesis.of(numbers, most=MARGIN, which=LEAST)
    return hypotheses


def _memory(evidence: Evidence) -> list[Hypothesis]:
    label = "correlation of BCU on conflicting documents with memory strength"
    return Hypothesis.of([evidence.mean(label, lambda cell: cell.memory)], most=0.0)


def _blind(evidence: Evidence) -> list[Hypothesis]:
    """List techniques that see no more than the model's probabilities with the document and without."""
    blind = [name for name in techniques(evidence) if getattr(evidence.plugins[name], "family", "") == "decoding"]
    numbers = (evidence.mean(f"{evidence.title(name)}, gain in J", CubCell.gain, name, J) for name in blind)
    return Hypothesis.each(numbers, most=MARGIN)


def _inflated(evidence: Evidence) -> list[Hypothesis]:
    differences = []
    for model in sorted({cell.model for cell in evidence.cells}):
        of_model = {cell.dataset.split("/")[-1]: cell for cell in evidence.cells if cell.model == model}
        simple, real = ([of_model[name] for name in names if name in of_model] for names in (SYNTHESISED, REALISTIC))
        shared = set.intersection(*(set(cell.gains) - {TECHNIQUE} for cell in (*simple, *real))) if simple and real else set()
        easy, hard = ([cell.values[name].get(TOTAL) for cell in cells for name in sorted(shared)] for cells in (simple, real))
        known = [value for value in (*easy, *hard) if value is not None]
        if shared and len(known) == len(easy) + len(hard):
            difference = total(((1.0, average(known[: len(easy)])), (-1.0, average(known[len(easy) :]))))
            differences.append((model, [cell.dataset for cell in (*simple, *real)], difference))
    return Hypothesis.of([mean_of("mean of techniques, CounterFact less NQ and DRUID", differences)], least=0.0)


_NONE, _RULE = "no technique was compared with Regular", "techniques"
CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "unaided", "Without a technique, models do not use every conflicting document, and irrelevant ones distract them.",
        "the abstract's reason for techniques, without a number", "BCU", _unaided,
        "Regular was not asked with both conflicting and irrelevant documents", _RULE,
    ),
    PaperClaim(
        "no_best", "No technique is best in every kind of context.",
        "in the abstract, without a number: most techniques do not handle all types of context", "BCU", _best_nowhere, _NONE,
        _RULE,
    ),
    PaperClaim(
        "trade_off", "No technique both follows relevant documents more than Regular and ignores irrelevant ones more.",
        "in words: gains with relevant documents are paid for with irrelevant ones", "BCU", _gain_on_one,
        "no technique was compared with Regular on both relevant and irrelevant documents", _RULE,
    ),
    PaperClaim(
        "strong_memory", "Strong memory goes with less use of conflicting documents.",
        "in words, of BCU's correlation with memory strength", "Spearman's rho", _memory,
        "no cell has answers of both kinds to conflicting documents and a memory strength that varies", _RULE,
    ),
    PaperClaim(
        "blind_decoding", "Techniques that only see the probabilities do not tell relevant documents from irrelevant ones "
        "better than Regular.",
        "nothing: the paper does not measure discrimination", "J", _blind,
        "no decoding technique was asked with both conflicting and irrelevant documents", _RULE,
    ),
    PaperClaim(
        "synthesised", "Techniques do better on synthesised questions than on real ones.",
        "in the abstract, without a number: inflated performance on simple synthesised datasets", "BCU", _inflated,
        "no model was asked under techniques on CounterFact and on NQ or DRUID", _RULE,
    ),
)  # fmt: skip
