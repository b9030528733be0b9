"""Single questions of runs as a person reads them: which are wrong or worse, what was found, what a judge said."""
