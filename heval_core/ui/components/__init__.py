"""Streamlit components of our own: a token grid and a head map. Text is written as textContent, never as markup."""
