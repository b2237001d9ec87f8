"""What an explainer ranks first where it should be the answer: the paper's patterns of failure, as one label per instance.

Definition (our decision; Sun et al. 2025, B.4, only gives examples): in an instance whose answer came from a document,
the best-ranked token gets the first label that holds: `answer`, a gold token of the used document; `wrong_document`, in the
other document or in padding; `question`, outside all of these (the question and the template around it); `function_word`,
only punctuation, or a word of a closed class; `near_entity`, of the subject's name or at most NEAR tokens away; or `other`.
If several tokens with different labels share the best rank: `tied`.
Chance: the share of each kind among the ranked tokens, which is how often random scores rank it first.
Reference: arXiv 2510.02629. Cost: some 10 microseconds per instance and explainer.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from heval_core.prompting.prompts import mentions
from heval_core.records.groups import document_of
from heval_core.records.regime_keys import read_key
from heval_core.records.vocabulary import FUNCTION_WORDS, PATTERN_KINDS, PATTERNS
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Sums
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

NEAR = 3
SENTENCE_ENDS = ".!?…。！？"
# Columns of an instance that patterns depend on.
INSTANCE_COLUMNS = (
    *("instance_id", "regime", "group", "subject", "tokens", "first_ranked", "ranked_end", "question_start"),
    *("document_starts", "document_ends", "answer_tokens"),
)


def pattern_of(kinds: Sequence[str], scores: np.ndarray, first_ranked: int, ranked_end: int | None = None) -> tuple[str, int]:
    """Return the pattern of one explainer on one instance, and the index of its (first) best token.

    kinds: from `kinds_of`. ranked_end: the token after the last ranked one; None for the end of the prompt.
    """
    ranked = np.asarray(scores)[first_ranked : len(kinds) if ranked_end is None else ranked_end]
    best = (np.flatnonzero(ranked == ranked.max()) + first_ranked).tolist()
    best_kinds = {kinds[index] for index in best}
    return (best_kinds.pop() if len(best_kinds) == 1 else "tied"), best[0]


def chance_of(kinds: Sequence[str], first_ranked: int, ranked_end: int | None = None) -> dict[str, float]:
    """Compute how likely random scores rank each kind first: its share of the ranked tokens. Random scores never tie."""
    ranked = kinds[first_ranked:ranked_end]
    return {kind: ranked.count(kind) / len(ranked) for kind in PATTERN_KINDS}


def padding_of(regime: str, tokens: Sequence[str], documents: Sequence[tuple[int, int]], question: float) -> set[int]:
    """Return the tokens of passages that only make a prompt longer; none where the regime has no length.

    question: its first token; NaN where it is not known. Of what stands between documents and question, padding ends with
    the last end of a sentence; the rest is the template's, whose wording is not stored.
    """
    position = read_key(regime).place
    if position is None or not documents:
        return set()
    before = range(documents[0][0] if position != "first" else 0)
    end = 0 if position == "last" or pd.isna(question) else int(question)
    while end > documents[-1][1] and not set(tokens[end - 1]) & set(SENTENCE_ENDS):
        end -= 1
    return {*before, *range(documents[-1][1], end)}


def kinds_of(
    tokens: Sequence[str],
    documents: Sequence[tuple[int, int]],
    used: int,
    gold: Iterable[int],
    subject: str,
    padding: Collection[int] = (),
) -> list[str]:
    """Label every token of a prompt, by the definition above.

    documents: token spans. used: the index of the used one. padding: from `padding_of`.
    """
    near, gold = _near(tokens, subject), set(gold)
    document_at: list[int | None] = [None] * len(tokens)
    for number, (start, end) in reversed(list(enumerate(documents))):
        document_at[start:end] = [number] * (min(end, len(tokens)) - start)
    kinds = []
    for index, token in enumerate(tokens):
        document = document_at[index]
        word = token.strip().lower()
        if index in gold:
            kinds.append("answer")
        elif index in padding or document not in (None, used):
            kinds.append("wrong_document")
        elif document is None:
            kinds.append("question")
        elif word in FUNCTION_WORDS or not any(c.isalnum() for c in word):
            kinds.append("function_word")
        else:
            kinds.append("near_entity" if index in near else "other")
    return kinds


def _near(tokens: Sequence[str], subject: str) -> set[int]:
    """Return tokens that overlap a mention of the subject, or are within NEAR tokens of one."""
    starts = np.cumsum([0, *(len(token) for token in tokens)])
    near: set[int] = set()
    for span in mentions(subject, "".join(tokens)):
        inside = [i for i in range(len(tokens)) if starts[i] < span.end and starts[i + 1] > span.start]
        if inside:
            near.update(range(max(0, inside[0] - NEAR), inside[-1] + NEAR + 1))
    return near


def rows_of(instances: pd.DataFrame, scores: pd.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows of the tables `pattern` and `pattern_chance`.

    instances: with INSTANCE_COLUMNS. scores: instance_id, explainer and scores.
    """
    of_instance: dict[str, list[tuple[str, np.ndarray]]] = {}
    for key, explainer, token_scores in zip(*(scores[name] for name in ("instance_id", "explainer", "scores")), strict=True):
        of_instance.setdefault(key, []).append((explainer, token_scores))
    rows, chance = [], []
    for instance in instances[list(INSTANCE_COLUMNS)].to_dict("records"):
        used = document_of(instance["group"])
        if used is None:
            continue
        documents = list(zip(instance["document_starts"], instance["document_ends"], strict=True))
        padding = padding_of(instance["regime"], instance["tokens"], documents, instance["question_start"])
        kinds = kinds_of(instance["tokens"], documents, used, instance["answer_tokens"][used], instance["subject"], padding)
        ranked = int(instance["first_ranked"]), int(instance["ranked_end"])
        chance.append({"instance_id": instance["instance_id"], **chance_of(kinds, *ranked)})
        for explainer, token_scores in of_instance.get(instance["instance_id"], ()):
            pattern, token = pattern_of(kinds, token_scores, *ranked)
            rows.append({"instance_id": instance["instance_id"], "explainer": explainer, "pattern": pattern, "token": token})
    return rows, chance


def pattern_shares(counts: pd.DataFrame, resamples: Callable[[str], Resamples]) -> pd.DataFrame:
    """Compute how often each pattern ranks first, per dataset, technique and explainer, in instances answered from a document.

    counts: from `Reader.pattern_counts`. Columns: dataset, technique, explainer, pattern, instances, share, low, high (95 %,
    over questions), chance (random scores on the same instances), n (the explainer's instances). A dataset and technique
    have rows for the patterns that occur, or could occur by chance.
    """
    counts = counts.assign(tied_chance=0.0)
    rows: list[tuple[Any, ...]] = []
    for (dataset, technique), group in counts.groupby(["dataset", "technique"]):
        patterns = [key for key in PATTERNS if group[[key, f"{key}_chance"]].to_numpy().any()]
        for explainer, by_fact in group.groupby("explainer"):
            sums = by_fact[[*patterns, *(f"{key}_chance" for key in patterns), "n"]].sum()
            questions = np.unique(resamples(str(dataset)).questions(by_fact["fact_id"]), return_inverse=True)[1]
            for key in patterns:
                column = Sums(by_fact[key].to_numpy(float), by_fact["n"].to_numpy(float), ends=(0.0, 1.0))
                interval = column.by(questions, questions.max() + 1).bounded().interval()
                share, chance = sums[[key, f"{key}_chance"]] / sums["n"]
                where = (dataset, technique, explainer, key)
                rows.append((*where, int(sums[key]), share, *interval, chance, int(sums["n"])))
    return pd.DataFrame(rows, columns=TABLES["pattern_share"].names[1:])


def patterns_under(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """Return `pattern_shares` under a filter; as published if the filter takes all instances."""
    if replace(chosen, technique=(), explained=False) == Filter():
        return reader.rows("pattern_share", chosen, "place").drop(columns="place")
    return pattern_shares(reader.pattern_counts(chosen), reader.resamples)
