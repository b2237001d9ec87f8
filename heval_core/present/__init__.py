"""What readers see, before it is a page, a report or a file: numbers, names, sentences, tables and drawings."""
