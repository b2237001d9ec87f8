"""Why an instance is left out of metrics, and what an explainer's best token may be: the stored words, and what they mean."""

from __future__ import annotations

# Why metrics leave out a record or an instance: the stored words, and what they mean.
DROP_REASONS = {
    "answer not in document": "the document does not contain its answer word for word",
    "answer is the memory answer": "a conflicting document gives the answer that the model also gives from memory",
    "memory answer is not true": "the model does not remember the dataset's true answer, as `--memory true` requires",
    "no memory answer": "the model gives no answer without context, so an answer cannot be traced to its memory",
    "memory answer in document": "a document contains the memory answer, other than as part of the subject's name (a leak)",
    "same first token": "two candidate answers begin with the same token, so the first token does not tell which was given",
    "same answer": "two candidate answers are the same text, so the text does not tell which was given",
    "answer has no token": "the tokenizer has no token for a candidate answer but punctuation, so it cannot be recognised",
    "prompt too long": "the prompt is longer than the model can read",
    "no irrelevant document": "every document about another subject mentions this subject or one of its answers",
    "no gold document": "the dataset has no document with the true answer, and none whose false answer could be replaced",
    "no off-topic document": "every document of another relation mentions this subject, or an answer to its question",
    "no second conflicting document": "no other false answer fits into the document",
    "no conflicting document": "the relation has no other answer to serve as the false one",
    "duplicate": "the same question with the same false answer appears earlier in the data",
    "answer in subject": "the subject's name contains the true answer (a leak), so the model may copy it from the question",
    "no verdict": "the claim has no fact-checkers' verdict, so its evidence neither agrees nor disagrees with one",
    "subject not known": "the record does not name its subject, so other documents cannot be checked for mentions of it",
    "not sampled": "the cell has more instances than its cap, and the stratified sample left this one out",
    "no decoy": "a decoy needs two documents that state different answers, and neither may mention the other's",
    "answer too often": "a document gives its answer more than three times, so that a decoy cannot make it three (d2), or a "
    "string match finds the answer more than once in its document, or elsewhere than the decoy puts it (d0, d1)",
    "no other name": "no other name is known for the answer of one of the documents (d3)",
    "name begins as the answer": "a token of another name is the first token of an answer, which a string would match (d3)",
    "documents too long": "the documents and the question alone are longer than the length that was asked for",
    "too little padding": "the dataset has too few other passages to make the prompt as long as was asked for",
    "memory is no answer": "what the model says without context does not look like an answer to the question, such as “A:”",
}

# What an explainer's best token may be: the stored words, and what they mean. See `heval_core.evaluation.patterns`.
PATTERNS = {
    "answer": "A token of the answer ranks first.",
    "wrong_document": "A token of the other document, or of padding, ranks first.",
    "question": "A token of the question, or of the template around it, ranks first.",
    "function_word": "A function word or punctuation of the used document ranks first.",
    "near_entity": "The entity asked about, or a word within three tokens of it, ranks first.",
    "other": "Another word of the used document ranks first.",
    "tied": "Tokens of different kinds share the first rank.",
}
PATTERN_KINDS = tuple(pattern for pattern in PATTERNS if pattern != "tied")
