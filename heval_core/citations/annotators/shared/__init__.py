"""What annotators share: what an explainer reads, its weights, and the rule by which weights become choices."""
