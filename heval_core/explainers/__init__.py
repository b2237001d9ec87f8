"""One file per explainer: formula, reference, departure from the paper, cost.

An explainer is a frozen dataclass of its settings, whose `repr` is stored with the scores. It declares `key`, `title`,
`signed`, `reference`, `control`, and either `explain(clean, contrast)` (a method that looks into the model) or
`scores(words, answer, seed)` (a control, computed from the stored tokens alone). A module offers it as `PLUGIN`.
Modules import torch and captum inside functions only, so that publishing and browsing never do.
"""
