"""What instructed models are told: twelve prompts for each family of datasets, and what the agents ask. All of them are ours.

An instruction stands in front of Regular's prompt (`prompting.prompts.instructed`), which so stays what it is; where models
are asked through their chat template, it is the beginning of the user's turn.
"""

import re

# Question answering, whatever the dataset; two families have words of their own.
QA, NQ, DRUID = "qa", "nq", "druid"

PROMPTS = {
    "qa-01": "Answer the question.",
    "qa-02": "Read the context and answer the question.",
    "qa-03": "Use only the context.",
    "qa-04": "Answer from the context alone, not from memory.",
    "qa-05": "Trust the context, even where you know better.",
    "qa-06": "The context is newer than what you know. Answer as it says.",
    "qa-07": "Ignore the context. Answer from memory.",
    "qa-08": "The context may be wrong. Answer with what you know.",
    "qa-09": "Use the context only if it is relevant to the question; else answer from memory.",
    "qa-10": "Is the context about the question? If it is, follow it; if not, answer from memory.",
    "qa-11": "If the context is irrelevant, ignore it. If it is relevant, use only the context.",
    "qa-12": "The context may be about something else. Follow it only where it is about the question.",
    "nq-01": "Answer the question in a few words.",
    "nq-02": "Read the passage, then answer the question in a few words.",
    "nq-03": "Answer the question with words from the passage.",
    "nq-04": "Answer from the passage alone, not from memory.",
    "nq-05": "Trust the passage, even where you know better.",
    "nq-06": "The passage is newer than what you know. Answer as it says, in a few words.",
    "nq-07": "Ignore the passage. Answer from memory, in a few words.",
    "nq-08": "The passage may be wrong. Answer with what you know.",
    "nq-09": "If the passage answers the question, use it; if it does not, answer from memory.",
    "nq-10": "A search engine found this passage. Use it only if it helps to answer the question.",
    "nq-11": "If the passage is irrelevant, ignore it. If it is relevant, use only the passage.",
    "nq-12": "The passage may be from the right page and yet say nothing about the question. Follow it only where it does.",
    "druid-01": "Is the claim True, False or None (not decided)?",
    "druid-02": "Read the evidence, then judge the claim: True, False or None.",
    "druid-03": "Judge the claim by the evidence only: True if it supports the claim, False if it refutes it, else None.",
    "druid-04": "Judge the claim from the evidence alone, not from memory: True, False or None.",
    "druid-05": "Trust the evidence, even where you know better. Is the claim True, False or None?",
    "druid-06": "The evidence is newer than what you know. Judge the claim as it says: True, False or None.",
    "druid-07": "Ignore the evidence. Judge the claim from memory: True, False or None.",
    "druid-08": "The evidence may be wrong. Judge the claim by what you know: True, False or None.",
    "druid-09": "If the evidence is about the claim, follow it; if it is not, judge from memory: True, False or None.",
    "druid-10": "A search engine found this evidence. Use it only if it helps to judge the claim: True, False or None.",
    "druid-11": "If the evidence is irrelevant, ignore it. If it is relevant, use only the evidence: True, False or None.",
    "druid-12": "The evidence may be about another claim. Follow it only where it is about this one: True, False or None.",
}

RELEVANCE = "Is the context relevant to the question? Reply relevant or irrelevant."
FAITHFULNESS = "Does the answer follow from the context? Reply faithful or unfaithful."
# What a faithfulness agent reads after the question.
ANSWERED = "Answer: {answer}."
REFINING = "Your last answer was unfaithful. Answer from the context, as in these examples."

# Two demonstrations of an answer from the context, for each family. Their facts are invented, so that no memory has them.
DEMONSTRATIONS = {
    QA: (
        "The capital of Zembla is Onhava. Q: What is the capital of Zembla? A: Onhava.",
        "The currency of Ruritania is the crown. Q: What is the currency of Ruritania? A: crown.",
    ),
    NQ: (
        "The bridge at Onhava was opened in 1931 by a baker. Q: when was the bridge at onhava opened? A: 1931.",
        "The hymn of Ruritania was written by Flora Tarlenheim. Q: who wrote the hymn of ruritania? A: Flora Tarlenheim.",
    ),
    DRUID: (
        "A count of 2019 found nine bridges in Onhava. Q: Claim: Onhava has nine bridges. A: True.",
        "The mint of Ruritania closed in 1990. Q: Claim: The mint of Ruritania still strikes coins. A: False.",
    ),
}


def family_of(dataset: str) -> str:
    """Return which prompts a dataset gets: those of its own name if it has any, else those of question answering."""
    name = re.split(r"\W", dataset)[0]
    return name if name in (NQ, DRUID) else QA


def prompt_ids(dataset: str) -> tuple[str, ...]:
    """Return the ids of the twelve prompts for a dataset, in order."""
    return tuple(key for key in PROMPTS if key.startswith(f"{family_of(dataset)}-"))
