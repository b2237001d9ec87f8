"""From a question with its documents to whose answer it is and what it rests on. Read `pipeline` first."""
