"""How many questions have an answer in the first k web pages: the paper's Figure 2."""
