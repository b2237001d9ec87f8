"""The frozen records that flow through the program; each arrow of the pipeline carries one of these.

fact ─▶ instance ─▶ prompt (characters) ─▶ tokenised prompt (tokens) ─▶ behaviour (group) ─▶ attribution (scores)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from heval_core.records import vocabulary

_REGIMES = vocabulary.REGIMES.values()
SINGLE_REGIMES, DUAL_REGIMES = (
    tuple(regime.key for regime in _REGIMES if regime.of_paper and regime.documents == count) for count in (1, 2)
)
REGIMES = SINGLE_REGIMES + DUAL_REGIMES
TECHNIQUE = "regular"
BASELINE, PAD = "and", "pad"  # what replaces an ablated token, unless an option names something else; the tokenizer's pad
# What a single document is to its question, when techniques are compared: a regime each; and those that should be followed.
CONTEXT_KINDS = tuple(regime.key for regime in _REGIMES if regime.followed is not None)
FOLLOWED = tuple(regime.key for regime in _REGIMES if regime.followed)
EVERY_REGIME = REGIMES + tuple(regime.key for regime in _REGIMES if not regime.of_paper)
UNCOMPARED = ("other", "ambiguous", "denied")  # groups that no metric reads, but those of sources
SPLITS = ("development", "test")  # questions by whose answers settings are chosen, and those that are reported
TEXT_CONTROLS = ("lexical", "overlap", "position", "random", "minilm")  # annotators that see an answer's texts, and no model
WORD_VERDICTS = ("trace", "surprise", "nowhere")  # what a reader of a claim says of its words, without an explainer
MATCHES = ("first", "text", "within")  # what decides the group of an answer; `within` also where it is explained
# How much of a model's weights is shuffled: the last block, the later half of the blocks, or all of them.
DEPTHS = ("last", "half", "all")
# In which order the documents' tokens are taken out: an explanation's best first, or last; and what any order costs.
ORDERS = ("falling", "rising", "least", "most")
RANGE = 0.5  # nats; where orders differ by less, the place of one between them says nothing
REPLACEMENTS = ("baseline", "drawn", "deletion")  # what stands for tokens that are taken out: see `faithfulness`
TARGETS = ("answer", "context")  # what is explained: the answer, or also the first document's, whatever was answered


class RegimeKey(NamedTuple):
    """The key of the instances that are measured together."""

    model: str
    dataset: str
    regime: str
    technique: str

    def cell(self, explainer: str) -> CellKey:
        return CellKey(*self, explainer)


class CellKey(NamedTuple):
    """A cell: one explainer on the instances of one regime."""

    model: str
    dataset: str
    regime: str
    technique: str
    explainer: str

    @property
    def of_regime(self) -> RegimeKey:
        return RegimeKey(*self[:4])


CELL = RegimeKey._fields


class HEvalError(Exception):
    """For the user: it says what is wrong, and what would be right."""


class NotHere(HEvalError):
    """A library or a file is not on this machine, or not yet: what needs it is tried again by a later run."""


class Dropped(Exception):
    """A record, a question or an instance is left out of metrics, for one of vocabulary.DROP_REASONS."""

    def __init__(self, reason: str):
        assert reason in vocabulary.DROP_REASONS, reason
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range [start, end) of characters or of tokens."""

    start: int
    end: int

    @property
    def indices(self) -> range:
        return range(self.start, self.end)

    def text(self, tokens: Sequence[str]) -> str:
        """Join the texts of the span's tokens, of all tokens' texts."""
        return "".join(tokens[self.start : self.end])

    def moved(self, by: int) -> Self:
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text about `subject` that should hold `answer` literally; where it does not, its instance is dropped.

    stated: False where the answer is a label (True, False, None), which need not stand in the text.
    """

    subject: str
    answer: str
    text: str
    stated: bool = field(default=True, repr=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """One question with its model-independent true answer, and the passages that its dataset ships.

    conflicting: passages about the subject that carry a false answer, best first. own: one with the true answer, where the
        dataset has it: the gold document of its question; it serves other subjects' questions as an irrelevant document.
    irrelevant: a passage about another subject, where the dataset ships one with the question itself. off_topic: likewise,
        one that has nothing to do with the question.
    accepted: other forms of the true answer that count as it. aliases: (answer, another name of it), of any of its answers.
    The last three are no part of the repr, so that datasets without them keep their fingerprint: see `precompute.questions`.
    """

    id: str
    dataset: str
    subject: str
    relation: str
    question: str
    answer: str
    conflicting: tuple[Passage, ...]
    own: Passage | None = None
    irrelevant: Passage | None = None
    off_topic: Passage | None = field(default=None, repr=False)
    accepted: tuple[str, ...] = field(default=(), repr=False)
    aliases: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One context passage of an instance.

    kind: what it is to its question, one of CONTEXT_KINDS. answer: empty where it gives none.
    origin: `shipped` by the dataset, `substituted` (a shipped text with its answer replaced), or `written` (a sentence of
        ours, where the dataset has no off-topic text). stated: see `Passage`.
    source: the kind of source that the text is attributed to; None where the prompt style attributes nothing.
    alias: the other name under which the text gives its answer; empty where it gives the answer word for word.
    """

    subject: str
    answer: str
    text: str
    kind: str
    origin: str = "shipped"
    source: str | None = None
    stated: bool = True
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Instance:
    """One question with its documents under one regime, independent of any model. accepted: see `Fact`.

    expected_group: by the prompt style's rule; None where it has none. padding: passages that make a prompt longer, in order.
    """

    id: str
    dataset: str
    regime: str
    fact_id: str
    subject: str
    relation: str
    question: str
    true_answer: str
    documents: tuple[Document, ...]
    expected_group: str | None = None
    accepted: tuple[str, ...] = ()
    padding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text a model is given, with character spans into `text`.

    answers: for each document, every literal mention of its answer, or of the answer's other name, inside that document.
    padding: the passages around them. chat: whether the text is what a user says, to be put into its chat template.
    beginning: of the assistant's turn then. ranked: the part that may be ranked; None for all of it.
    template: what a chat template has written, its special tokens too; empty where the tokenizer adds its own. layout: what
    the layout has: it may name control tokens, as a template may.
    """

    text: str
    documents: tuple[Span, ...]
    question: Span
    answers: tuple[tuple[Span, ...], ...]
    chat: bool = False
    ranked: Span | None = None
    padding: tuple[Span, ...] = ()
    beginning: str = ""
    template: tuple[Span, ...] = ()
    layout: tuple[Span, ...] = ()

    def moved(self, move: Callable[[Span], Span], **changed: Any) -> Prompt:
        """Move all spans along with the text, which is among what else is changed."""
        parts = (self.documents, self.padding, self.layout, *self.answers)
        documents, padding, layout, *answers = (tuple(map(move, spans)) for spans in parts)
        changing = replace(self, documents=documents, padding=padding, layout=layout, answers=tuple(answers))
        return replace(changing, question=move(self.question), **changed)


@dataclass(frozen=True, slots=True)
class TokenisedPrompt:
    """A prompt as one model's tokens; all spans are token indices.

    tokens: the text each token covers; together they spell the prompt (a token that covers only a part of a
        character's bytes has an empty text, except the first one of that character).
    answer_tokens: for each document, the indices of the tokens that overlap a mention of its answer. first_mention: those
        that belong to the first mention.
    first_ranked: the first token that is ranked; what precedes it (a BOS, a chat template, solved examples) never is.
        ranked_end: the token after the last ranked one, where a chat template follows, or what the model said before its
        answer; None for the end of the prompt. padding: as in a Prompt. template: those and the layout's, in characters.
    notes: what a reader should know of the text.
    """

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    documents: tuple[Span, ...]
    question: Span
    answer_tokens: tuple[tuple[int, ...], ...]
    first_mention: tuple[tuple[int, ...], ...]
    first_ranked: int = 0
    ranked_end: int | None = None
    padding: tuple[Span, ...] = ()
    template: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> range:
        """The tokens that are ranked."""
        return range(self.first_ranked, len(self.ids) if self.ranked_end is None else self.ranked_end)

    def to_json(self) -> dict[str, Any]:
        """Return the prompt as JSON has it. Token indices count from 0, ends are exclusive."""
        return {
            "prompt": self.text,
            "tokens": list(self.tokens),
            "token_ids": list(self.ids),
            "first_ranked": self.first_ranked,
            "ranked_end": self.ranked.stop,
            "documents": [asdict(span) for span in self.documents],
            "question": asdict(self.question),
        }

    def followed_by(self, ids: tuple[int, ...], tokens: tuple[str, ...]) -> TokenisedPrompt:
        """Put what the model generated behind the prompt, where it is never ranked."""
        text, end = self.text + "".join(tokens), self.ranked.stop
        return replace(self, text=text, ids=self.ids + ids, tokens=self.tokens + tokens, ranked_end=end)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer the model may give: a document's (`C`, `C1`, `C2`) or the memory's (`M`).

    token_id: the likeliest of its accepted first tokens, which has its logit. leading_id: the answer's first in running text.
    """

    group: str
    text: str
    token_id: int
    logit: float
    probability: float
    leading_id: int = -1


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the model answered, and the group that follows from it.

    token_id, text: the greedy first token. answer_text: several tokens; None if not generated.
    first_group, text_group: the group by the first token, and by the text. `group` is the one of them that counts.
    """

    token_id: int
    text: str
    probability: float
    group: str
    memory_answer: str
    candidates: tuple[Candidate, ...]
    first_group: str = ""
    answer_text: str | None = None
    text_group: str | None = None

    @property
    def explained_group(self) -> str:
        """The group of which an explanation of the first token tells: `ambiguous` if that token is not its answer's alone."""
        agree = self.text_group is None or self.group in UNCOMPARED or self.first_group == self.group
        return self.group if agree else "ambiguous"


@dataclass(frozen=True, slots=True)
class Target:
    """What is explained: that a model expects some tokens, and perhaps that it expects them rather than others.

    positions: (P,) token indices of a prompt; -1 is the last. The logits there say which token comes next. ids: the token
    expected after each. foils: what it competes with there; empty for no foil. foil_kind: where the foils come from.
    """

    positions: tuple[int, ...]
    ids: tuple[int, ...]
    foils: tuple[int, ...] = ()
    foil_kind: str = ""

    def __post_init__(self) -> None:
        if not self.positions or len(self.ids) != len(self.positions) or len(self.foils) not in (0, len(self.ids)):
            raise ValueError(f"a target needs positions, and a token for each, with a foil each or none: {self}")

    @classmethod
    def next_token(cls, token_id: int, foil: int | None = None, foil_kind: str = "") -> Target:
        """Target the token after the prompt, such as the first one of an answer."""
        return cls((-1,), (token_id,), () if foil is None else (foil,), foil_kind)

    @classmethod
    def of_text(cls, ids: tuple[int, ...], start: int, end: int) -> Target:
        """Target the tokens [start, end) of a sequence with these ids, such as a sentence that the model wrote.

        start: from 1.
        """
        return cls(tuple(range(start - 1, end - 1)), ids[start:end])

    def part(self, indices: range) -> Target:
        """Return the target of some of the tokens, by their indices among these."""
        chosen = slice(indices.start, indices.stop)
        return Target(self.positions[chosen], self.ids[chosen], self.foils[chosen], self.foil_kind)


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """One score per prompt token, as the method defines them.

    scores: (n,) float32. head_scores: (layers, heads) float32 for methods that choose a head, with its layer and number, and
    the margin to the runner-up. details: what else is worth keeping, by name.
    """

    explainer: str
    scores: np.ndarray
    seconds: float
    settings: str
    layer: int | None = None
    head: int | None = None
    head_scores: np.ndarray | None = None
    details: tuple[tuple[str, float | str], ...] = ()


class Cost(NamedTuple):
    """What one prompt's scores cost, shared passes too. passes: forward ones; a backward pass is one more. tokens: of all."""

    passes: float
    tokens: float
    shared: tuple[str, ...] = ()


def head_name(layer: int | None, head: int | None) -> str:
    """Name a head: `L3H2` is layer 3, head 2, both counted from 0. Empty where none was chosen."""
    return "" if layer is None or head is None else f"L{layer}H{head}"
