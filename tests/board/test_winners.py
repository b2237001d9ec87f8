"""Who is best where: planted boards, in which it is known."""

from heval_core.figures.winners import winners, winners_sentence, winners_table
from heval_core.present.names import Names
from tests.board.planted import level, planted


def test_each_model_and_data_set_has_its_best_method_and_those_that_it_is_not_ahead_of():
    board = planted({"a": level(0.9, 0.3, 0.5), "b": level(0.4, 0.8, 0.5), "c": level(0.1, 0.1, 0.1)}, noise=0.01)
    known = winners(board)
    assert len(known) == len(board.models) * len(board.datasets) * 3
    assert set(known["best"][known["column"] == "RQ1"]) == {"a"}
    assert set(known["best"][known["column"] == "RQ2"]) == {"b"}
    for best, others in zip(*(known[name][known["column"] == "RQ3"] for name in ("best", "not_told_apart")), strict=True):
        assert {best, *others} == {"a", "b"}
    table = winners_table(board, Names())
    assert [head.title for head in table.heads] == ["Context or memory?", "Which document?", "Which token?"]
    assert [row.cells[0].whole for row in table.rows] == ["A ahead of all others"] * len(table.rows)
    assert table.rows[0].cells[2].why in ("A", "B")
    assert winners_sentence(board).startswith(f"Of {len(known)} places, each a question of a model and data set, the best")
    assert winners_sentence(board).endswith(f"It is ahead of all others in {2 * len(known) // 3} of them.")


def test_controls_win_nothing_and_a_board_of_one_method_has_no_sentence():
    board = planted({"a": level(0.5, 0.5, 0.5), "lexical": level(0.9, 0.9, 0.9)}, controls=("lexical",))
    assert winners(board).empty
    assert winners_sentence(board) == ""
