"""Questions put together by hand."""

from __future__ import annotations

from heval_core.records import Document, Instance


def instance(subject, true, answer, relation="capital", text="The capital of {s} is {a}.", accepted=()) -> Instance:
    """A conflicting instance about a subject, whose document gives `answer`."""
    document = Document(subject, answer, text.format(s=subject, a=answer), "conflicting")
    question = f"What is the capital of {subject}?"
    name = f"test|conflicting|{subject}"
    return Instance(name, "test", "conflicting", subject, subject, relation, question, true, (document,), None, accepted)
