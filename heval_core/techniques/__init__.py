"""One file per technique: a way to produce an answer, which may change how the model uses its context.

A technique is a frozen dataclass of its options, offered as `PLUGIN`. `Technique` in `heval_core/plugins/protocols.py` lists
what it declares, `shared.base.Base` has what most of them have in common. Every technique answers in the same four steps, each
of which it may change: the model (`applied`), the prompts with documents and without (`prompts`, `prompts_alone`), the two
passes, and the answer's scores from their logits (`combined`). So techniques that only combine logits share the two passes.

Formulas are public functions of NumPy arrays or torch tensors, in their technique's module. Importing one never imports torch.
Source: CUB (arXiv 2505.16518), and what each module names.
"""
