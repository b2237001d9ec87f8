"""What annotators share: their titles, what an explainer reads, its weights, and the rule by which weights become choices."""


def read_with(title: str, model: str) -> str:
    """Name a reader: `Entailment model: demo-nli`; the title alone where no model is named. model: an id, or a folder."""
    return f"{title}: {model.rstrip('/').rpartition('/')[2]}" if model else title
