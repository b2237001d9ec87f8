"""Puts another answer of the same type into a passage, in the manner of Longpre et al. 2021, arXiv 2109.05052.

Types are decided by a few rules on the question and the answer's form, not by a tagger: date (also a year), number, person,
place, team, name (any other proper name) and phrase (the rest).
A date becomes a drawn one of the same form from 1900 to 2029 ("May 18, 2018" ▶ "October 3, 1947"), as in CUB. Any other
answer becomes another answer of the dataset: a number one of exactly the same form ("$100" ▶ "$72"), the rest one that has or
lacks an article as it does, and as many words where there is one.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Span

YEARS = range(1900, 2030)
# Draws of a date before it is given up that all stand in the passage already.
DRAWS = 50

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DATE = re.compile(
    rf"\b(?P<month>{'|'.join(_MONTHS)})\b|\b(?P<year>1[0-9]\d\d|20\d\d)(?:(?P<dash>[-–/])(?P<short>\d\d)\b|(?P<s>s)?\b)|"
    r"\b(?P<day>[12]?\d|3[01])(?P<th>st|nd|rd|th)?\b"
)
_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty"
_NUMBER_WORD = re.compile(rf"\b(?:{_NUMBER_WORDS}|{_ORDINALS})\b", re.IGNORECASE)
# Small words inside names: "Francisco de Miranda", "Statue of Liberty".
_LINKS = frozenset(
    {"of", "the", "and", "de", "la", "le", "van", "von", "der", "den", "del", "da", "di", "al", "bin", "ibn", "&"}
)
_ARTICLE = re.compile(r"(?:a|an|the) ", re.IGNORECASE)
_WHO = re.compile(r"\bwho(?:m|se)?\b")
_PLACE_WORDS = "city|country|state|place|town|county|continent|island|river|ocean|sea|capital"
_WHERE = re.compile(rf"\bwhere\b|\b(?:what|which)(?: \w+){{0,3}} (?:{_PLACE_WORDS})\b")
_TEAMS = re.compile(
    r"\bwho (?:won|wins|did|does|lost|played? (?:in|against)|is in)\b.*\b(?:ncaa|nfl|nba|super ?bowl|world series|world cup|"
    r"champions league|premier league|championship|playoffs?|stanley cup|tournament|game)\b"
)
# What stands between two answers of a list.
_IN_A_LIST = re.compile(r",? and |,? or |, | & |/")
# Their last names stand alone after these.
_TITLES = frozenset(
    {"Mr", "Mrs", "Ms", "Dr", "Mr.", "Mrs.", "Ms.", "Dr.", "Sir", "President", "King", "Queen", "Captain", "General"}
)


def type_of(question: str, answer: str) -> str:
    """Return one of the types above.

    >>> type_of("when did red bull come to the united states", "1997")
    'date'
    >>> type_of("who invented the cornell method of note taking", "Walter Pauk")
    'person'
    """
    dated = any(match["month"] or match["year"] for match in _DATE.finditer(answer))
    if dated and not re.search(r"\d", _DATE.sub("", answer)):
        return "date"
    if re.search(r"\d", answer) or _NUMBER_WORD.search(answer):
        return "number"
    if not _is_name(answer):
        return "phrase"
    lowered = question.lower()
    if _TEAMS.search(lowered):
        return "team"
    if _WHO.search(lowered):
        return "person"
    return "place" if _WHERE.search(lowered) else "name"


def _is_name(answer: str) -> bool:
    words = [word for word in _ARTICLE.sub("", answer, count=1).split() if word.lower() not in _LINKS]
    return bool(words) and all(word.strip("\"'“”‘’(")[:1].isupper() for word in words)


def form_of(answer: str) -> str:
    """Return what an exchange must keep: of a number all but its values, of another answer whether an article leads it.

    >>> form_of("1,350 feet")
    '0 feet'
    >>> form_of("the Indian Ocean")
    'the'
    """
    if re.search(r"\d", answer) or _NUMBER_WORD.search(answer):
        return _NUMBER_WORD.sub(_word_form, re.sub(r"\d[\d,.]*(?<=\d)", "0", answer))
    return "the" if _ARTICLE.match(answer) else ""


def _word_form(match: re.Match[str]) -> str:
    word = match.group()
    form = "nth" if re.fullmatch(_ORDINALS, word, re.IGNORECASE) else "one"
    return form.capitalize() if word[0].isupper() else form


def another_date(date: str, key: str) -> str:
    """Sample each month, day and year of a date anew by `key`; of several years the later stays the later.

    >>> another_date("May 18, 2018", "1"), another_date("the 1979–80 season", "1"), another_date("the 1840s", "1")
    ('October 10, 1969', 'the 1969–70 season', 'the 1960s')
    """

    def draw(name: str, among: int) -> int:
        return zlib.crc32(f"{key}|{name}".encode()) % among

    count = sum(bool(match["year"]) for match in _DATE.finditer(date))
    years = iter(sorted(YEARS[draw(f"year {number}", len(YEARS))] for number in range(count)))

    def resampled(match: re.Match[str]) -> str:
        if match["month"]:
            return _MONTHS[draw("month", 12)]
        if match["day"]:
            # None of these days needs another ending than "th", and every month has them.
            return f"{4 + draw('day', 17)}{'th' if match['th'] else ''}"
        year = next(years)
        if match["short"]:
            return f"{year}{match['dash']}{(year + 1) % 100:02}"
        return f"{year // 10 * 10}s" if match["s"] else str(year)

    return _DATE.sub(resampled, date)


class AnswersByType:
    """The answers of a dataset by type, of which substitutes are taken."""

    def __init__(self) -> None:
        self._known: dict[str, set[str]] = defaultdict(set)

    def add(self, question: str, answer: str) -> None:
        # Annotators also marked answers such as "Super Bowl LII,"; they replace no others.
        if re.fullmatch(r"[\w$£€](?:.*[\w%])?", answer):
            self._known[type_of(question, answer)].add(answer)

    def substitute(self, question: str, answer: str, accepted: Iterable[str], passage: str) -> str:
        """Choose an answer of the type and form of `answer` by a fixed hash of the question, whatever the records' order.

        It is none of `accepted`, neither contains one nor is part of one, and stands neither in the passage nor in the
        question. Raises Dropped if there is none.
        """
        kind, taken = type_of(question, answer), [name.casefold() for name in (answer, *accepted)]
        text = f"{passage} {question}".casefold()

        def fits(other: str) -> bool:
            folded = other.casefold()
            return not mentions(folded, text) and not any(mentions(name, folded) or mentions(folded, name) for name in taken)

        if kind == "date":
            candidates = (another_date(answer, f"{question}|{number}") for number in range(DRAWS))
            fitting = [date for date in candidates if fits(date)][:1]
        else:
            form = form_of(answer)
            fitting = [other for other in self._known[kind] if form_of(other) == form and fits(other)]
        if not fitting:
            raise Dropped("no conflicting document")
        as_long = [other for other in fitting if len(other.split()) == len(answer.split())]
        return min(as_long or fitting, key=lambda other: (zlib.crc32(f"{question}|{other}".encode()), other))


def swapped(text: str, kind: str, aliases: Iterable[str], substitute: str) -> str:
    """Replace every mention of every alias in a text; kind: the type of the answer.

    A person's last name is replaced where it stands alone, by the other's last name. Several aliases in a row ("Payson, Jordan
    and Lauren") become one mention. Capitals at the beginning of a sentence, or in an alias of several words, hide no mention.
    """
    by_alias = dict.fromkeys(aliases, substitute)
    spans = _spans(text, by_alias)
    if kind == "person":
        last = {
            alias.split()[-1]: substitute.split()[-1] for alias in by_alias if " " in alias and alias.split()[-1][0].isupper()
        }
        spans |= {span: new for span, new in _spans(text, last).items() if _stands_alone(text, span)} | spans
    replaced, end, before = "", 0, ("", "")
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start < end:
            continue
        between, mention = text[end : span.start], (text[span.start : span.end].casefold(), spans[span])
        listed = before[1] == mention[1] and before[0] != mention[0] and _IN_A_LIST.fullmatch(between)
        replaced += "" if listed else between + spans[span]
        end, before = span.end, mention
    return replaced + text[end:]


def _spans(text: str, by_alias: Mapping[str, str]) -> dict[Span, str]:
    spans = {}
    for alias, substitute in by_alias.items():
        for surface in {match.group() for match in re.finditer(re.escape(alias), text, re.IGNORECASE)}:
            # Short words are also other words: "Will" is a name, "will" is none.
            first = surface[1:] == alias[1:] and (len(alias) > 4 or surface[0].isupper())
            if surface == alias or " " in alias or first:
                spans.update(dict.fromkeys(mentions(surface, text), substitute))
    return spans


def _stands_alone(text: str, span: Span) -> bool:
    """Return whether a last name stands without another first name: not "Fred Savage"."""
    before, after = re.search(r"(\S+) $", text[: span.start]), re.match(r" [A-Z][a-z]", text[span.end :])
    if after or before is None:
        return not after
    word = before[1]
    return not word[0].isupper() or word in _TITLES or bool(re.search(r"\w\w\W*[.;:!?)]$", word))
