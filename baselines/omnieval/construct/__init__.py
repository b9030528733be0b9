"""OmniEval's recipe: topics by tasks, from documents of any field, generated behind gates and inspected."""
