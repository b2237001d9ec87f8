"""Which sentences should cite this passage? Asked of people."""

import streamlit as st

from heval_core.ui import annotate, frame

OFF = (
    "People annotate only where the explorer was started for it. Stop it, set HEVAL_ANNOTATE=1 in its environment, and start "
    "it again. Without that no page writes anything."
)

frame.through_app()
if annotate.is_on():
    annotate.draw(annotate.study())
else:
    st.title(annotate.TITLE)
    st.info(OFF, icon=":material/edit_off:")
