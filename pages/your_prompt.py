"""Where did the answer to my own prompt come from?"""

import streamlit as st

from heval_core.ui import entry
from heval_core.ui.own_prompt import answer_line, grid, head_section

entry.through_app()
st.title("Where did the answer to my own prompt come from?")
result = st.session_state.get("own_result")
if result is None:
    st.info(
        "Nothing is explained yet. The sidebar has a filled-in example: press Explain there, and the answer opens here.",
        icon=":material/edit_note:",
    )
else:
    answer_line(result)
    grid(result)
    head_section(result)
