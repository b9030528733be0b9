"""CRAG's mock knowledge graph: built into one SQLite file, asked by 38 functions, a server or tool schemas."""
