"""The leaderboard: explainers and controls by question, under decoys, at length, by faithfulness and by cost.

`making.board` makes it of a results file, `conclusion.conclusion` says in words what it shows and what it does not.
"""
