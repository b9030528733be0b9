"""How tables are drawn: `forms.py` says which figures stand where, `svg.py` draws them."""
