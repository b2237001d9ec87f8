"""One module per group of commands: `add` declares their options, a function carries each of them out."""
