"""Tables, pages and charts of results: what is drawn for people, and the words of notes in their language."""
