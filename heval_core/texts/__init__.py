"""What is read in a text without a model: sentences and words, citation markers, numbers and names."""
