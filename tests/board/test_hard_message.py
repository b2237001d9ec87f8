"""What a hard board says and shows, on rows made by hand: the sentence, the figure and the table."""

import pytest

from heval_core.evaluation.board.hard import ALL, COLUMNS, HardBoard, hard_rows
from heval_core.evaluation.board.hard_conclusion import NOTHING, hard_conclusion
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.hard_board import in_words, source_figure, source_table
from heval_core.folders import program
from heval_core.present.drawing import as_svg
from heval_core.present.names import Names, model_title
from tests.board.test_hard import pd, stored

MODELS = ("SmolLM2-135M-Instruct.Q4_1", "gemma-3-270m-q4_k_m")
CONTROLS = ("words", "text", "asks")
# Explainer ▶ right answers of 20 in either half, in both models.
EVEN = {"fa": (19, 19), "route": (19, 19), "words": (19, 19), "text": (10, 10), "asks": (10, 10)}
HARD = EVEN | {"fa": (18, 20), "route": (20, 2), "words": (11, 9), "text": (8, 8)}
READ = EVEN | {"fa": (8, 10), "route": (19, 18), "words": (10, 10)}
TRUTH = {"once": EVEN, "worded": HARD | {"words": (20, 20)}, "unworded": HARD, "route": READ}
NAMES = Names({("explainer", key): {"title": key.upper(), "control": key in CONTROLS} for key in EVEN})


def board(truth=TRUTH, models=MODELS, text_only=("words", "text")):
    frames = [
        stored(COLUMNS[key], {explainer: dict.fromkeys(models, counts) for explainer, counts in right.items()})
        for key, right in truth.items()
    ]
    return HardBoard(hard_rows(pd.concat(frames), CONTROLS), CONTROLS, text_only)


def told(own):
    return hard_conclusion(own, NAMES.explainer, model_title)


WHERE = "Where an answer stands in several places and the question’s words do not tell which,"
BOTH = "The answers are of SmolLM2 135M (4-bit) and gemma 3 270M (4-bit)"


def test_the_sentence_says_who_finds_the_source_who_names_the_route_and_of_which_models():
    low, high = board().numbers("unworded").loc["fa", ["low", "high"]]
    assert told(board()) == (
        f"{WHERE} FA finds the one that it depends on: 0.95 [{low:.2f}, {high:.2f}] (80 answers, chance 0.50), 0.45 above "
        "the best control that reads text only (WORDS, 0.50). ROUTE names the place that the last token reads instead (0.93): "
        "right in 1.00 where the answer depends on the first place, and in 0.10 where on the last. "
        f"{BOTH}; taken alone, each shows the same."
    )


def test_in_brief_it_says_no_halves():
    whole, brief = told(board()), hard_conclusion(board(), NAMES.explainer, model_title, brief=True)
    cut = (
        " ROUTE names the place that the last token reads instead (0.93): right in 1.00 where the answer depends on the first "
        "place, and in 0.10 where on the last."
    )
    assert cut in whole
    assert brief == whole.replace(cut, "")
    few = board({"unworded": HARD})
    assert "has no number" in told(few)
    assert "has no number" not in hard_conclusion(few, NAMES.explainer, model_title, brief=True)


def test_where_a_text_search_is_as_good_nobody_is_said_to_find_the_source():
    own = board(TRUTH | {"unworded": HARD | {"words": (19, 19)}})
    assert told(own).startswith(
        f"{WHERE} no method is ahead of all controls that read text only, the best of which is WORDS (0.95): FA has 0.95 ["
    )
    assert "(80 answers, chance 0.50). ROUTE names" in told(own)
    assert told(own).endswith(f"{BOTH}.")
    # That a control which asks the model is as good changes nothing.
    assert "0.95). " not in told(board())
    asks = told(board(TRUTH | {"unworded": HARD | {"asks": (19, 19)}}))
    assert "FA finds" in asks
    assert "(WORDS, 0.50). ASKS, a control that asks the model too, has 0.95: no method is ahead of it. ROUTE" in asks


def test_a_finding_that_one_model_makes_alone_is_said_to_hold_there():
    """The second model's best one is level with the text."""
    counts = {"fa": ((20, 20), (15, 15)), "route": ((20, 2), (20, 2)), "words": ((5, 5), (13, 13))}
    frame = stored(COLUMNS["unworded"], {key: dict(zip(MODELS, own, strict=True)) for key, own in counts.items()})
    own = HardBoard(hard_rows(frame, CONTROLS), CONTROLS, ("words",))
    assert "FA finds the one" in told(own)
    assert f"{BOTH}; taken alone, SmolLM2 135M (4-bit) shows the same." in told(own)


def test_columns_without_a_number_have_their_reason_or_what_to_run():
    assert told(board({"once": EVEN})) == NOTHING
    assert f"`{program()} run … --explainers … --sources`" in NOTHING
    assert told(board({"unworded": {key: HARD[key] for key in CONTROLS}})) == NOTHING
    text = told(board({key: TRUTH[key] for key in ("once", "unworded")}))
    assert "“What the last token reads” has no number: no answer here is of this kind." in text
    few = [
        stored(COLUMNS["unworded"], {key: {"a": (2, 2)} for key in ("fa", "words")}, 5),
        stored(COLUMNS["worded"], {key: {"a": counts} for key, counts in {"fa": (19, 19), "words": (20, 20)}.items()}),
    ]
    text = told(HardBoard(hard_rows(pd.concat(few), CONTROLS), CONTROLS, ("words",)))
    assert text.startswith(f"{WHERE.replace('do not tell', 'tell')} no method is ahead")
    assert (
        "“Stands twice, they do not” has no number: too few answers (5 first, 5 last; 10 each and 30 in all are needed)."
        in text
    )
    assert f"“Answer stands once” has no number: `{program()} run … --regimes mixed` measures it." in text


def test_each_column_is_a_panel_with_its_chance_and_the_route_is_set_apart():
    figure = source_figure(board(), NAMES)
    assert [panel.title for panel in figure.panels] == [column.title for column in COLUMNS.values()]
    assert [panel.chance for panel in figure.panels] == [0.5] * 4
    assert [panel.apart for panel in figure.panels] == [False, False, False, True]
    assert {panel.note for panel in figure.panels} == {"n = 80, 40 questions"}
    assert (figure.axis.scale.least, figure.axis.scale.most) == (0, 1)
    # Text only before what asks the model.
    assert [(row.title, row.control) for row in figure.rows] == [
        ("FA", False), ("ROUTE", False), ("WORDS", True), ("TEXT", True), ("ASKS *", True),
    ]  # fmt: skip
    assert figure.rows[2].hint.startswith("Reads text only.")
    assert [slot.best for slot in figure.panels[2].slots] == [key in board().ranking("unworded").bold for key in EVEN]
    svg = as_svg(as_drawing(figure))
    assert "* asks the model" in figure.hint
    assert svg.count("n = 80, 40 questions") == 4


def test_a_mark_says_its_halves_and_a_rule_s_stand_apart_on_the_axis():
    rule = source_figure(board(), NAMES).panels[2].slots[1]
    assert [(cell.value, cell.sign) for cell in rule.cells] == [(1.0, "1"), (pytest.approx(0.1), "2")]
    (dot,) = rule.dots
    assert (dot.id, rule.text) == (("route", "unworded", ALL), "0.55")
    assert "(chance 0.50)" in dot.title[1]
    assert dot.title[2].startswith("first place: 1.00 [0.8")
    assert "(40 answers), last place: 0.10 [0.0" in dot.title[2]
    assert dot.title[3] == "80 answers to 40 questions"
    near = source_figure(board(), NAMES).panels[0].slots[0].cells
    assert [cell.sign for cell in near] == ["1 2"]
    small = source_figure(board(), NAMES, compact=True)
    assert not small.signs
    assert not any(slot.cells for panel in small.panels for slot in panel.slots)


def test_who_is_not_compared_has_a_ring_with_the_reason():
    frame = stored(COLUMNS["unworded"], {key: dict.fromkeys(MODELS, own) for key, own in HARD.items()})
    frame = frame[~((frame["explainer"] == "route") & frame["question"].str.endswith(" 19"))]
    own = HardBoard(hard_rows(frame, CONTROLS), CONTROLS, ("words",))
    slots = dict(
        zip((row.key for row in source_figure(own, NAMES).rows), source_figure(own, NAMES).panels[2].slots, strict=True)
    )
    assert slots["route"].dots == ()
    assert slots["route"].missing.title[-1] == "over other instances than most"
    assert [cells.why for row in source_table(own, NAMES).rows if row.titles == ("ROUTE",) for cells in row.cells][2:] == [
        "over other instances than most",
        "not measured here",
    ]


def test_the_table_has_the_same_numbers_with_their_halves():
    table = source_table(board(), NAMES)
    assert table.heads[2].title == "Stands twice, they do not, n = 80, chance 0.50"
    cells = {row.titles[0]: row.cells[2] for row in table.rows}
    assert (cells["ROUTE"].main, cells["ROUTE"].beside, cells["FA"].best) == ("0.55", "1.00 / 0.10", True)
    assert [(row.titles[0], row.notes) for row in table.rows[2:]] == [
        ("WORDS", "control"), ("TEXT", "control"), ("ASKS *", "control"),
    ]  # fmt: skip
    assert r"\textbf{0.950}" in table.exact().latex("x")
    values = board().numbers("unworded")
    assert all(row.cells[2].value == values["value"][row.titles[0].lower().rstrip(" *")] for row in table.rows)
    assert in_words(values.loc["fa"].to_dict())[2] == "80 answers to 40 questions"
    assert not any(head.title == "mean" for head in table.heads)


def test_bits_are_said_where_the_key_has_them():
    assert [model_title(key) for key in ("demo-gpt2", *MODELS)] == [
        "demo-gpt2",
        "SmolLM2 135M (4-bit)",
        "gemma 3 270M (4-bit)",
    ]
