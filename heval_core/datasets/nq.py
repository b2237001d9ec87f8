"""Natural Questions: what people asked a search engine, with the paragraph of Wikipedia that answers it.

Source: github.com/nelson-liu/lost-in-the-middle, `qa_data/nq-open-oracle.jsonl.gz` (Liu et al. 2023), whose questions and
passages are those of Natural Questions (Kwiatkowski et al. 2019). `nq=PATH` names it, or a file of the same form with several
passages a question, packed or not. It is not on the hub; CUB's own selection is, see `cub`.
Licence: MIT, text CC BY-SA 3.0.
Reference: Kwiatkowski et al. 2019; used as in CUB: Hagström et al. 2025, arXiv 2505.16518, appendix B.2.
Fields: `question`, `answers` (all accepted ones), `ctxs` (`title`, `text`, `isgold`).
Records: 2,655. Of the first 1,000, 947 are used; the others are left out because no other answer has their form.
The gold document is the passage with `isgold`. The answer is the first accepted one that stands in it, and the others are
accepted as well; a question of which none does is left out as `answer not in document`. The conflicting document is the gold
one with every mention of every accepted answer replaced by another answer of its type: `_swaps` describes how. The irrelevant
document is a passage of the same page that holds no accepted answer, where the file has one; otherwise another question's gold
passage is taken. The subject is the page's title, the relation the type of the answer.
Departure: CUB asks a large model for the substitute of any answer but a date; ours is one of the file's other answers, and may
be less likely. CUB's irrelevant document is a paragraph of the same page, which this file does not have.
Checked: against the first 1,000 records. Context: about 466 characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._reading import Malformed, Origin, Record, json_lines, locate, read_each, text_of, texts_of
from heval_core.datasets._swaps import AnswersByType, swapped, type_of
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Fact, Passage

_ORIGIN = Origin("nq-open-oracle.jsonl.gz", "github.com/nelson-liu/lost-in-the-middle/tree/main/qa_data")


@dataclass(frozen=True)
class NaturalQuestions:
    """path: a file of the form above; by default from the data folder."""

    path: str | None = None

    key = "nq"
    title = "Natural Questions"
    reference = "Kwiatkowski et al. 2019, passages of Liu et al. 2023; used as in CUB, arXiv 2505.16518"
    long = True

    def facts(self) -> Iterator[Record]:
        """Read the file twice, because substitutes are other answers. Raises HEvalError if it is missing or empty."""
        path, answers = locate(self.key, self.path, _ORIGIN), AnswersByType()
        for fact in read_each(json_lines(path, Form(known=("ctxs", "answers"))), self._question):
            if isinstance(fact, Fact):
                answers.add(fact.question, fact.answer)
        yield from read_each(json_lines(path), partial(self._fact, answers))

    def _question(self, record: dict[str, Any]) -> Fact:
        """Read a question without its conflicting document.

        Raises Malformed for a record of another form, Dropped where no accepted answer stands in the gold passage.
        """
        question, answers = text_of(record, "question"), tuple(dict.fromkeys(texts_of(record, "answers")))
        contexts = record.get("ctxs")
        if not isinstance(contexts, list) or not all(isinstance(context, dict) for context in contexts):
            raise Malformed("'ctxs' should be a list of objects")
        gold = next((context for context in contexts if context.get("isgold") is True), None)
        if gold is None:
            raise Malformed("'ctxs' has no passage with 'isgold': true")
        title, text = text_of(gold, "title"), text_of(gold, "text")
        stated = next((answer for answer in answers if mentions(answer, text)), None)
        if stated is None:
            raise Dropped("answer not in document")
        same_page = (text_of(c, "text") for c in contexts if c is not gold and c.get("title") == gold["title"])
        irrelevant = next((other for other in same_page if not any(mentions(answer, other) for answer in answers)), None)
        return Fact(
            id=question,
            dataset=self.key,
            subject=title,
            relation=type_of(question, stated),
            question=question,
            answer=stated,
            conflicting=(),
            own=Passage(title, stated, text),
            irrelevant=Passage("", "", irrelevant, stated=False) if irrelevant else None,
            accepted=tuple(answer for answer in answers if answer != stated),
        )

    def _fact(self, answers: AnswersByType, record: dict[str, Any]) -> Fact:
        fact = self._question(record)
        assert fact.own is not None
        substitute = answers.substitute(fact.question, fact.answer, fact.accepted, fact.own.text)
        conflicting = swapped(fact.own.text, fact.relation, (fact.answer, *fact.accepted), substitute)
        return replace(fact, conflicting=(Passage(fact.subject, substitute, conflicting),))


PLUGIN = NaturalQuestions()
