"""Where did the answer to my own prompt come from?"""

import streamlit as st

from heval_core.ui import entry, own_prompt

entry.through_app()
st.title("Where did the answer to my own prompt come from?")
result = own_prompt.choose()
if result is None:
    st.info(
        "Nothing is explained yet. The sidebar has a filled-in example: press Explain there, and the answer opens here.",
        icon=":material/edit_note:",
    )
else:
    own_prompt.draw(result)
