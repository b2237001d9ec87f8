"""Groups by the document that an answer came from."""

from __future__ import annotations

from heval_core.groups import compared_groups, competes, context_groups, document_of


def test_groups_name_any_number_of_documents():
    assert context_groups(0) == ()
    for documents in (1, 2, 7):
        groups = context_groups(documents)
        assert [document_of(group) for group in groups] == list(range(documents))
        assert all(not competes(group, group) for group in groups)
        assert set(compared_groups(documents)) >= set(groups)
    assert [rival for rival in ("C1", "C2", "C3", "M") if competes("C2", rival)] == ["C1", "C3"]
    assert document_of("ambiguous") is None
    assert document_of("C") == 0
