"""An explainer of one's own beside the others: tried on a prompt, run on the same instances, and set on the board."""
