"""The page of one run, or of several: one file that needs neither network nor server.

Tables come from `report`; what a person does on the page (search, filter, sort, open, compare) is in its scripts.
"""
