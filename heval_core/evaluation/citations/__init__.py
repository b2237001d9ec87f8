"""Publishes the study of citations: claims, explanations, what annotators recovered, and what they come to."""
