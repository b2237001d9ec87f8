"""The batch job of the study of citations: claims, explanations and answers as shards of the same store."""
