"""From a text with markers to an explanation, and from an explanation to what annotators are asked.

*full* asks about every passage that the writer was given; *sample* about one of those that the explanation cites.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence

from heval_core.citations.records import CitedSentence, Claim, Explained, Question
from heval_core.texts import markers
from heval_core.texts.splitting import sentences as split

_MOST_NAMED = 10


def explained(
    claim: Claim,
    writer: str,
    selector: str,
    selected: Sequence[int],
    text: str | Sequence[str],
    prompt: str = "",
    sources: Sequence[Sequence[int]] | None = None,
) -> Explained:
    """Build an explanation with its problems.

    It never fails: a text that cites nothing, or nothing at all, is a problem too. One whose marks look like citations, and
    none of which is read, has no sentences: it does not cite nothing.

    selected: the numbers of the passages that the writer was given, in any order. text: with markers; or its sentences, where
    they are known, which are kept as they are. prompt: the id of the prompt. sources: see `Written`.
    """
    written = [text[one.start : one.end] for one in split(text)] if isinstance(text, str) else text
    parts = [part.strip() for part in written]
    given = claim.in_order(set(selected))
    read = [(part, *markers.read(part)) for part in parts]
    sentences = tuple(
        CitedSentence(part, bare, tuple(number for number in cited if number in given)) for part, bare, cited in read
    )
    named = dict.fromkeys(number for _, _, cited in read for number in cited)
    if reason := refused(" ".join(parts)):
        return Explained(claim, writer, selector, given, (), prompt, problems=(reason,))
    problems = [*_about_passages(claim, selected, given, named), *_about_sentences(sentences, named)]
    if unread := markers.unread(" ".join(parts)):
        problems.append(f"Marks that look like citations are not read, such as “{unread}”.")
    made_from = None if sources is None else tuple(tuple(source) for source in sources)
    if made_from is not None and (wrong := _about_sources(made_from, given, len(sentences))):
        problems.append(wrong)
        made_from = None
    return Explained(claim, writer, selector, given, sentences, prompt, made_from, tuple(problems))


def refused(text: str) -> str:
    """Say why an explanation cannot be used whose marks look like citations, and none of which is read; "" for any other."""
    unread = markers.unread(text)
    if not unread or any(markers.markers(text)):
        return ""
    return (
        f"Its marks look like citations and are not read, such as “{unread}”; write a passage's number in brackets, as in [1]."
    )


def _about_sources(sources: Sequence[Sequence[int]], given: Sequence[int], sentences: int) -> str:
    """Say why the sources that the data lists cannot be used; "" where they can."""
    if len(sources) != sentences:
        return f"The data lists the sources of {len(sources)} sentences, but the explanation has {sentences}."
    beyond = [number for number in dict.fromkeys(number for source in sources for number in source) if number not in given]
    if beyond:
        return f"The data says that sentences were made from {_passages(beyond)}, which the writer was not given."
    return ""


def questions(explanation: Explained) -> list[Question]:
    """Ask one question for each selected passage, in the claim's order; those that no sentence cites have an empty
    gold set.
    """
    texts = [sentence.text for sentence in explanation.sentences]
    results = []
    for number in explanation.selected:
        masked, gold = markers.mask(texts, number)
        results.append(Question(explanation, number, tuple(masked), frozenset(gold)))
    return results


def sampled(explanation: Explained, seed: int) -> int | None:
    """Sample the passage that *sample* masks: one of the cited ones, each as likely; None where no sentence cites any.

    A passage that nobody cites is not drawn: it has no marker to mask. The draw depends on the seed, the claim's id and the
    passages alone, so that two explanations of a claim that both cite the drawn passage are asked about the same one.
    """
    return min(explanation.cited, key=lambda number: _draw(seed, explanation.claim.id, number), default=None)


def _draw(seed: int, claim_id: str, number: int) -> bytes:
    return hashlib.blake2b(f"{seed}|{number}|{claim_id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _about_passages(claim: Claim, selected: Sequence[int], given: Sequence[int], named: Collection[int]) -> Iterator[str]:
    existing = {passage.number for passage in claim.passages}
    missing = [number for number in dict.fromkeys(selected) if number not in existing]
    if missing:
        yield f"The writer was given {_passages(missing)}, which the claim does not have."
    without = [number for number in named if number not in existing]
    if without:
        yield f"The text cites {_passages(without)}, which the claim does not have."
    beyond = [number for number in named if number in existing and number not in given]
    if beyond:
        yield f"The text cites {_passages(beyond)}, which the writer was not given."


def _about_sentences(sentences: Sequence[CitedSentence], named: Collection[int]) -> Iterator[str]:
    if not sentences:
        yield "The explanation is empty."
        return
    if len(sentences) == 1:
        yield "The explanation has one sentence only, so that every annotator that chooses one finds it."
    if not any(sentence.cited for sentence in sentences):
        yield "No sentence cites a passage that the writer was given." if named else "No sentence cites a passage."
    empty = sum(not any(letter.isalnum() for letter in sentence.bare) for sentence in sentences)
    if empty:
        yield f"{empty} of {len(sentences)} sentences have no words but markers."


def _passages(numbers: Sequence[int]) -> str:
    """Write numbers of passages in words: `passage 3`, or `the passages 3, 4 and 7`."""
    if len(numbers) == 1:
        return f"passage {numbers[0]}"
    listed = [str(number) for number in numbers[:_MOST_NAMED]]
    more = len(numbers) - len(listed)
    last = f"{more} more" if more else listed.pop()
    return f"the passages {', '.join(listed)} and {last}"
