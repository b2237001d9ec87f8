"""The paper's tables, figures and findings from a published store: as records, as LaTeX, and as one HTML file."""
