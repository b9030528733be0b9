"""People grade what was made: items, their record, a page, sheets, what the grades come to, the human split.

A recipe says in its ``review.py`` how its questions are shown and how a correction goes back (`items.Review`).
"""
