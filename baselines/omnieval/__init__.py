"""OmniEval (Wang et al. 2024): its record, prompts, published figures, tables, matrix and recipes."""
