"""DataFrame ▶ figure. No Streamlit, no SQL. Colours mean one thing each, on every page."""
