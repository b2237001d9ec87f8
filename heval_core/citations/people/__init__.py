"""People who say which sentences should carry a masked citation: what they are shown, and what they said."""
