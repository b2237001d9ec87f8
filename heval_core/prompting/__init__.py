"""From documents and a question to a prompt, its spans and units; and which answer a text gives."""
