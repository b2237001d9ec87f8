"""Which numbers and names of an answer stand in no document: by hand, and how often it errs on words that are there."""

from __future__ import annotations

import pytest

from heval_core.figures.answer import answer_drawing, resting, verdict
from heval_core.records.whole_answers import AnswerWord
from heval_core.texts.numbers_and_names import mentions
from tests.pages.whole_answers import TOKENS, made_up, word

CONTRACT = "The total liability is capped at 125 % of the fees paid in 2023. It does not apply to infringement of patents."
LEAFLET = "Adults take one tablet of 200 mg. The highest dose of Dolorin is 1,200 mg per day. Do not drive for twelve hours."
BOOK = "J. K. Rowling wrote it in Edinburgh; it was published on 26 June 1997 by Bloomsbury, and sold 1.200.000 copies."
FERRY = "The ferry takes 15 minutes and costs 12 euros. Iceland’s Reykjavík is served from Spain by J.-P. Müller at 10%."


def nowhere(answer, *documents, question=""):
    """What stands in no document, nor in the question."""
    return [one.text for one in mentions(answer, documents, question) if not one.documents and not one.asked]


@pytest.mark.parametrize(("answer", "document", "missing"), [
    ("Liability for infringement is capped at 10 %.", CONTRACT, ["10 %"]),
    ("It is capped at 125%, that is 125 percent or 125 per cent.", CONTRACT, []),
    ("It is capped at 125 euros.", CONTRACT, ["125 euros"]),  # another unit
    ("The highest dose is 100mg per day.", LEAFLET, ["100mg"]),
    ("The highest dose is 1200mg, 1 200 mg, 1’200 mg, 1.200 mg or 1\u202f200 milligrams a day.", LEAFLET, []),
    ("The highest dose is 1.2 mg, or 1,2 mg.", LEAFLET, ["1.2 mg", "1,2 mg"]),
    ("It is 1.2 thousand mg.", LEAFLET, []), ("Wait 12 hours.", LEAFLET, []), ("Wait 21 hours.", LEAFLET, ["21 hours"]),
    ("It sold 1.2 million copies, or 1,200,000.", BOOK, []), ("It sold 1.2 billion copies.", BOOK, ["1.2 billion"]),
    ("In 1997 it came out.", BOOK, []), ("It came out in the 1990s.", BOOK, ["1990s"]),
    ("On June 26th, 1997, on 1997-06-26 and on 26.06.1997.", BOOK, []), ("On 27 June 1997.", BOOK, ["27 June 1997"]),
    ("The author is Rowling, J.K. Rowling or J. K. Rowling's.", BOOK, []), ("By ROWLING, of EDINBURGH.", BOOK, []),
    ("Joanne Rowling wrote it, not Stephen King.", BOOK, ["Joanne", "Stephen King"]),
    ("Nobody at all. However, Bloomsbury sold it. Unfortunately not.", BOOK, []),  # capitals of sentences
    ("Penguin sold it, and it was Penguin that printed it.", BOOK, ["Penguin", "Penguin"]),  # a capital elsewhere too
    ("Yes.", BOOK, []), ("NATO printed it.", BOOK, ["NATO"]),
    ("It is Oslo. Peru has Lima. Oslo. Bergen is far.", "Oslo is not in Peru; nor is Lima.", []),
    ("The U.S. Army, not the UK.", "In the US, and in the U.K., an army.", []), ("Penguin.", BOOK, ["Penguin"]),
    ("I know that I'm right, and Sir, you are too.", BOOK, []),
    ("The Reykjavik of Müller, or of Mu\u0308ller, is Icelandic, Iceland's and 10 %.", FERRY, []),
    ("The ferry takes 15 days.", FERRY, ["15 days"]), ("It costs 7 to 12 euros.", "From 7 to 12 euros.", []),
    ("It goes 9.15 km.", "It leaves at 9.15 and 12 euros are due.", ["9.15 km"]),
    ("9.15 euros, that is 9.15.", "At 9.15; 2 €.", []),
    ("1. It takes 15 minutes [2].\n2) It costs 12 euros [1, 3].\n(3) Document 4 says so.", FERRY, []),
    ("## Key Points\n**Main Idea:**\nNOTHING ELSE\nit leaves", FERRY, []),
    ("H2O and B12 cost 12 euros.", FERRY, ["H2O", "B12"]),
    ("Die Dosis ist nicht in der Packung, und das Mittel kostet 13 Euro.", "Das Mittel ist von uns, 12 Euro.", ["13 Euro"]),
    ("渡轮需要15分钟，費用13欧元。", "渡轮需要15分钟，费用12欧元。", ["13"]), ("الثمن ١٢ يورو", FERRY, []), ("", FERRY, []),
])  # fmt: skip
def test_what_stands_in_no_document(answer, document, missing):
    assert nowhere(answer, "Nothing is said here.", document) == missing


def test_where_each_stands_and_what_is_in_the_question_alone():
    question = "Who is Clara Zeller, and was she born in 1923?"
    found = mentions(
        "Clara Zeller was born in 1923 in Orla, Peru, not 1924.", ["Orla is in Peru.", "Peru has one Clara."], question
    )
    assert [(one.text, one.documents, one.asked) for one in found] == [
        ("Clara Zeller", (), True), ("1923", (), True), ("Orla", (1,), False), ("Peru", (1, 2), False), ("1924", (), False),
    ]  # fmt: skip
    assert mentions("It cost 10 % in Peru.", []) == []  # without documents there is nothing to check


@pytest.mark.parametrize(("answer", "near"), [
    ("The highest dose of Dolorin is 100mg a day.", (2, "1,200 mg")),  # of two in mg that whose words are nearer
    ("It is capped at 10 %.", (1, "125 %")), ("The fees of 2024.", (1, "2023")), ("It has 77 pages.", None),
    ("It takes 5 mg.", None), ("On 27 June 1997.", (3, "26 June 1997")),
])  # fmt: skip
def test_what_a_document_says_instead(answer, near):
    assert [one.near for one in mentions(answer, [CONTRACT, LEAFLET, BOOK]) if not one.documents] == [near]


def test_a_sentence_cites_what_a_word_of_it_rests_on_and_says_what_stands_in_no_document():
    """Also of a file of before, which has citations without a word and no search."""
    weak = [word(0, " Iceland", "memory", 0.1), *made_up().result.generated.words[1:]]
    texts = {"tokens": [" Iceland", ".", " 61 and 62", " in Oslo"], "words": weak}
    data = answer_drawing(made_up(**texts).result)
    assert [[cited.document for cited in own.citations] for own in data.sentences] == [[], [2]]
    missing = ("61: in no document", "62: in no document", "Oslo: in no document")
    assert [own.nowhere for own in data.sentences] == [(), missing]
    assert [own.nowhere for own in data.words] == [None, None, "61: in no document", "Oslo: in no document"]
    assert data.stands == "0 of 3 numbers and names stand in your documents."
    assert resting(data.words) == "1 of 3 words rests on document 2, 1 on memory, 1 unclear"
    assert "62: in no document." in verdict(data)
    growing = answer_drawing(made_up(**texts, stopped="").result)  # its last word may be half of one
    assert (growing.stands, growing.sentences[1].nowhere) == ("", ())
    assert answer_drawing(made_up(prompt={"documents": []}, **texts).result).stands == "", "nothing to check"
    prompt = {"tokens": [*TOKENS[:8], " Q:", " 62?", " A:"], "question": {"start": 8, "end": 10}}
    asked = answer_drawing(made_up(prompt=prompt, **texts).result)
    assert asked.stands == "0 of 3 numbers and names stand in your documents, 1 in your question alone."


@pytest.mark.parametrize(("sources", "said"), [
    (["unclear"] * 2, "2 of 2 words unclear"), (["memory"], "1 of 1 word rests on memory"), (["document 1", None], ""),
    (["memory", "memory", "document 2", "document 2", "unclear", "document 1"],
     "2 of 6 words rest on document 2, 1 on document 1, 2 on memory, 1 unclear"),
])  # fmt: skip
def test_on_what_words_rest_documents_come_first(sources, said):
    assert resting([AnswerWord(0, 1, "a", source, 1.0) for source in sources]) == said
