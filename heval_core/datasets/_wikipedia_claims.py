"""Claims of Wikipedia with the web page that they cite: what the files of WiCE share."""

from typing import Any

from heval_core.datasets._reading import Malformed, are_texts, text_of
from heval_core.records import Dropped

# Of a page, so that it fits into a model, about.
LETTERS = 2_000


def evidence_of(record: dict[str, Any]) -> tuple[list[str], list[set[int]]]:
    """Return a page's sentences, and the sets of their numbers that support the claim. Raises Dropped where there is none."""
    sentences, sets = record.get("evidence"), record.get("supporting_sentences")
    if not are_texts(sentences) or not isinstance(sets, list) or not all(isinstance(one, list) for one in sets):
        raise Malformed("'evidence' should be a list of texts, and 'supporting_sentences' one of lists of numbers")
    wrong = [number for one in sets for number in one if not isinstance(number, int) or not 0 <= number < len(sentences)]
    if wrong:
        raise Malformed(f"'supporting_sentences' names sentence {wrong[0]}, of {len(sentences)}")
    if not any(sets):
        raise Dropped("answer not in document")
    return sentences, [set(one) for one in sets if one]


def about_claim(record: dict[str, Any], dataset: str) -> dict[str, Any]:
    """Return what a fact says of a claim: id, subject, question, answer."""
    title = text_of(record, "meta", "claim_title")
    return {
        "id": text_of(record, "meta", "id"),
        "dataset": dataset,
        "subject": title,
        "relation": "supported",
        "question": f"What does the text say about {title}?",
        "answer": text_of(record, "claim"),
    }
