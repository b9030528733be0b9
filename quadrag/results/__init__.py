"""What a run came to, as data: scores with their status, notes by code, what is odd of its judges.

Nothing here makes a sentence: `reporting/messages.py` does.
"""
