"""The numbers, dates and names of an answer, and whether they stand in its documents: a search; no model is asked.

Read are numbers in digits (`1,200` = `1 200` = `1.2 thousand`, and a document's `twelve` is 12), dates with their parts in any
order, and words with a capital that is not due to the beginning of a sentence, unless they have one elsewhere too. Accents,
apostrophes, possessives and endings (`Icelandic`) do not matter. A number stands in a document that has it with the same unit,
or has it without, and the unit elsewhere; a name, where all of its words do: `Rowling` stands in `J. K. Rowling`.
Left out: marks of lists and citations, headings, forms of address, and names in German, where every noun has a capital.
*Near*: the documents' number of the same unit, or with most words around it in common; none where nothing tells which.
How often it errs on answers that people wrote: `docs/answers.md`. Reference: ours.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from heval_core.records.vocabulary import FUNCTION_WORDS
from heval_core.records.whole_answers import Mention
from heval_core.texts.markers import markers


class _Number(NamedTuple):
    """A number or date in a text.

    values: what it can be read as; of a date its parts. around: the words beside it.
    """

    start: int
    end: int
    text: str
    values: frozenset[Decimal]
    unit: str
    around: frozenset[str]


_DATE = "a date"
_UNITS_OF = """% percent percentage pct prozent,€ euro eur,$ dollar usd,£ gbp,mg milligram,g gram gramme,kg kilogram kilo,
ml millilitre milliliter,l litre liter,km kilometre kilometer,m metre meter,cm centimetre centimeter,mm millimetre millimeter,
mile,ft foot feet,°c celsius,°f fahrenheit,second sec,minute min,hour h,day,week,month,year"""
_UNITS = {name: unit.split()[0] for unit in _UNITS_OF.split(",") for name in unit.split()}
_TIMES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12}
_NUMBER = re.compile(
    r"(?P<before>[€$£]\s?)?(?<![a-zA-Z\d_])(?<!\d[.,])(?P<digits>\d+(?:[./-]\d+){2,}|"
    r"\d{1,3}(?P<by>[,.'’ \u00a0\u2009\u202f])\d{3}(?:(?P=by)\d{3})*(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?)"
    rf"(?:(?P<ending>st|nd|rd|th|s)\b|[\s-]?(?P<times>{'|'.join(_TIMES)})\b)?"
    r"(?:[^\S\n]?-?(?P<after>[%€$£]|per\s?cent|°?[^\W\d_]+))?",
    re.IGNORECASE,
)
_SPELT_OUT = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen - ten twenty thirty forty fifty sixty seventy eighty ninety"""
_ONES, _TENS = _SPELT_OUT.split()[:20], _SPELT_OUT.split()[20:]
_SPELT = re.compile(rf"\b(?:({'|'.join(_TENS[2:])})(?:[ -]({'|'.join(_ONES[1:10])}))?|({'|'.join(_ONES[::-1])}))\b", re.I)
_MONTH = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?"
)
_MONTHS = [month[:3] for month in _MONTH.split("|")] + ["Dec"]
_DAY = r"(\d{1,2})(?:st|nd|rd|th|\.)?(?!\w)"
_DATED = re.compile(rf"(?:(?<!\d){_DAY} (?:of )?)?\b({_MONTH}|Dec(?:ember)?)\b\.?(?: {_DAY})?(?:,? (\d{{4}})\b)?")
_UNIT = re.compile(r"[%€$£]|per cent|°?[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_](?:[\w\u0300-\u036f]|['’](?=\w))*")
# What says nothing of the world: the number of a list, or of a document that is named.
_MARK = re.compile(r"^\s*\d+[.)](?=\s)|\(\d{1,2}\)|\b(?:document|passage|source|text)s? \d+", re.IGNORECASE | re.MULTILINE)
_INITIAL = r"(?:(?<=\b[^\W\d_])\.)"
# Behind this a sentence, a line or a quotation begins; a single letter before a full stop is an initial.
_BEGINS = re.compile(r"(?:^|\n|(?<!\b[^\W\d_])[.!?:;…])[\s\W_]*$")
_DOTTED = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")  # `U.S.` is `US`
# Between two words of one name.
_JOINS = re.compile(rf"{_INITIAL}?[ -]?(?:(?:of|de|du|la|van|von|der|da|di|del) )?(?:the )?")
_ENDINGS = re.compile(r"(?:'s|')$|(?<=\w{4})(?:s|n|an|ian|ic|ish|ese|i|a|y)$")
_GERMAN_WORDS = "der das und ist nicht ein eine den dem mit von zu auf für"
_GERMAN, _MUCH = frozenset(_GERMAN_WORDS.split()), 0.08
_NO_NAME = "i sir madam mr mrs ms dr prof dear yes ok none unknown true false document passage source"
_NO_NAMES = FUNCTION_WORDS | {*_NO_NAME.split()}


def folded(text: str) -> str:
    """Fold a text: without capitals and accents, apostrophes alike."""
    letters = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def mentions(answer: str, documents: Sequence[str], question: str = "") -> list[Mention]:
    """Find the numbers, dates and names of an answer, in its order; none without documents."""
    if not documents:
        return []
    texts, read = [*documents, question], answer
    for mark in (*markers(answer), *_MARK.finditer(answer)):
        read = read[: mark.start()] + re.sub(r"\S", " ", mark[0]) + read[mark.end() :]
    numbers = [*_number_mentions(read, texts)]
    names = [name for name in _name_mentions(read, texts) if not any(one.start <= name.start < one.end for one in numbers)]
    return sorted([*numbers, *names])


def of_tokens(tokens: Sequence[str], documents: Sequence[str], question: str = "") -> tuple[Mention, ...]:
    """Find the `mentions` of an answer in tokens: start and end are tokens."""
    ends, results = [*accumulate(map(len, tokens))], mentions("".join(tokens), documents, question)
    return tuple(replace(one, start=bisect_right(ends, one.start), end=bisect_right(ends, one.end - 1) + 1) for one in results)


def nowhere(results: Sequence[Mention]) -> list[Mention]:
    """Return the mentions that stand neither in a document nor in the question."""
    return [one for one in results if not one.documents and not one.asked]


def instead(one: Mention) -> str:
    """Say what stands in a document instead of a mention that stands nowhere."""
    return "{}: document {} says {}".format(one.text, *one.near) if one.near else f"{one.text}: in no document"


def standing(results: Sequence[Mention]) -> str:
    """Say how many mentions stand in the documents, each counted once; empty for none."""
    each = {folded(one.text): one for one in results}
    inside, in_question = (sum(bool(getattr(one, where)) for one in each.values()) for where in ("documents", "asked"))
    what = "numbers and names stand" if len(each) > 1 else "number or name stands"
    only = f", {in_question} in your question alone" if in_question else ""
    return f"{inside} of {len(each)} {what} in your documents{only}." if each else ""


def _number_mentions(answer: str, texts: Sequence[str]) -> Iterator[Mention]:
    known, read = [_numbers(_SPELT.sub(_in_digits, text)) for text in texts], 0
    units = [{_unit(word) for word in _UNIT.findall(text)} for text in texts]
    for number in _numbers(answer):
        if number.start < read:  # a part of a date
            continue
        read = number.end
        stands = [any(_same(number, other, there) for other in numbers) for numbers, there in zip(known, units, strict=True)]
        documents = tuple(document for document, has in enumerate(stands[:-1], start=1) if has)
        near = None if any(stands) else _near(number, known[:-1])
        yield Mention(number.start, number.end, number.text, documents, stands[-1] and not documents, near)


def _in_digits(spelt: re.Match[str]) -> str:
    tens, ones, alone = (word and word.lower() for word in spelt.groups())
    return str(_ONES.index(alone) if alone else 10 * _TENS.index(tens) + (_ONES.index(ones) if ones else 0))


def _numbers(text: str) -> list[_Number]:
    """Find dates and numbers, a date before its parts."""
    results = []
    for date in _DATED.finditer(text):
        if parts := [Decimal(part) for part in date.group(1, 3, 4) if part]:
            values = frozenset([*parts, Decimal(_MONTHS.index(date[2][:3]) + 1)])
            results.append(_Number(*date.span(), date[0].strip(), values, _DATE, _around(text, *date.span())))
    for number in _NUMBER.finditer(text):
        unit = _unit(number["after"] or "") or (number["before"] or "").strip()
        values = frozenset(value * _TIMES.get((number["times"] or "").lower(), 1) for value in _values(number["digits"]))
        behind = ("after", "times", "ending") if unit and not number["before"] else ("times", "ending")
        last = next((part for part in behind if number[part]), "digits")
        if re.fullmatch(r"\d{1,4}([./-])\d\d?\1\d{1,4}", number["digits"]):
            unit, values = _DATE, frozenset(map(Decimal, re.split(r"\D", number["digits"])))
        start, end = number.start(), number.end(last)
        results.append(_Number(start, end, text[start:end], values, unit, _around(text, start, end)))
    return sorted(results, key=lambda one: (one.start, -one.end))


def _values(digits: str) -> frozenset[Decimal]:
    """Parse digits: `1,200` is 1200; `1.200` is 1.2 or, in other languages, 1200."""
    bare = re.sub(r"[^\d.,]", "", digits)
    signs, tail = re.sub(r"\d", "", bare), re.split(r"[.,]", bare)[-1]
    whole = Decimal(re.sub(r"\D", "", bare))
    grouped = len(signs) > 1 or (len(tail) == 3 and not bare.startswith("0"))
    if not signs or (grouped and len({*signs}) == 1 and signs != "."):
        return frozenset([whole])
    return frozenset([whole.scaleb(-len(tail)), *([whole] if grouped and signs == "." else [])])


def _around(text: str, start: int, end: int) -> frozenset[str]:
    words = [*_WORD.findall(text[max(0, start - 40) : start])[-4:], *_WORD.findall(text[end : end + 40])[:4]]
    return frozenset(folded(word) for word in words if len(word) > 2) - FUNCTION_WORDS


def _unit(word: str) -> str:
    name = folded(word).strip().replace("per cent", "%")
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"), "")


def _same(number: _Number, other: _Number, units: set[str]) -> bool:
    """Return whether two numbers are the same. other: of a document. units: those that the document names anywhere."""
    if _DATE in (number.unit, other.unit):
        return number.unit == other.unit and number.values <= other.values
    same_unit = number.unit in ("", other.unit) or (not other.unit and number.unit in units)
    return bool(number.values & other.values) and same_unit


def _near(number: _Number, known: Sequence[Sequence[_Number]]) -> tuple[int, str] | None:
    likely = [
        (2 * (_kind(other) == _kind(number) != "") + len(other.around & number.around), document, other.text)
        for document, numbers in enumerate(known, start=1)
        for other in numbers
    ]
    most = max((likeness for likeness, *_ in likely), default=0)
    best = dict.fromkeys((document, text) for likeness, document, text in likely if likeness == most)
    return next(iter(best)) if most >= 2 and len({text for _, text in best}) == 1 else None


def _kind(number: _Number) -> str:
    """Return a number's unit; four digits without one are a year."""
    return number.unit or ("four digits" if re.fullmatch(r"[12]\d{3}", number.text) else "")


def _name_mentions(answer: str, texts: Sequence[str]) -> Iterator[Mention]:
    spelt = [folded(word) for text in (answer, *texts) for word in _WORD.findall(text)]
    if sum(word in _GERMAN for word in spelt) > _MUCH * len(spelt):
        return
    together = (_DOTTED.sub("", text) for text in texts)
    *known, question_forms = ({form for word in _WORD.findall(text) for form in _forms(word)} for text in together)
    read = "\n".join(" " * len(line) if _heads(line) else line for line in answer.split("\n"))
    for name in filter(None, ([word for word in name if len(word[0]) > 1] for name in _names(read, texts))):
        forms = [_forms(word[0]) for word in name]
        missing = [(word, some) for word, some in zip(name, forms, strict=True) if not any(some & one for one in known)]
        nowhere = [word for word, some in missing if not some & question_forms]
        start, end = (nowhere or name)[0].start(), (nowhere or name)[-1].end()
        some, whole = ([number for number, one in enumerate(known, 1) if has(map(one.__and__, forms))] for has in (any, all))
        yield Mention(start, end, answer[start:end], () if missing else tuple(whole or some), bool(missing) and not nowhere)


def _heads(line: str) -> bool:
    """Return whether a line is a heading, whose words may all have capitals."""
    return line.startswith("#") or line.rstrip("*_ ").endswith(":") or (line.isupper() and " " in line.strip())


def _names(answer: str, texts: Sequence[str]) -> Iterator[list[re.Match[str]]]:
    """Yield the words of each name.

    One at the beginning of a sentence is read where another one follows, or nothing at all.
    """
    midway = {folded(word[0]) for text in (answer, *texts) for word in _capitals(text) if not _begins(text, word)}
    capitals, name = {word.start(): word for word in _capitals(answer)}, list[re.Match[str]]()
    for word in capitals.values():
        follows, alone = re.compile(rf"{_INITIAL}? |$").match(answer, word.end()), len(_WORD.findall(answer)) == 1
        if alone or folded(word[0]) in midway or not _begins(answer, word) or (follows and follows.end() in capitals):
            if name and not _JOINS.fullmatch(answer, name[-1].end(), word.start()):
                yield name
                name = []
            name = [*name, word]
    yield name


def _capitals(text: str) -> Iterator[re.Match[str]]:
    for word in _WORD.finditer(text):
        if any(map(str.isupper, word[0])) and folded(word[0]).split("'")[0] not in _NO_NAMES:
            yield word


def _begins(text: str, word: re.Match[str]) -> bool:
    """Return whether a word's capital may be due to the beginning of a sentence; one inside of a word, as in `NATO`,
    never is.
    """
    rest, before = word[0][1:], text[max(0, word.start() - 20) : word.start()]
    return rest == rest.lower() and _BEGINS.search(before) is not None


def _forms(word: str) -> set[str]:
    """Return a word as it stands, and without its endings."""
    forms = [folded(word)]
    while (shorter := _ENDINGS.sub("", forms[-1])) != forms[-1]:
        forms.append(shorter)
    return {*forms}
