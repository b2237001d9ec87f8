"""The only core package that imports Streamlit: opened results, filters, components, the sidebar."""
