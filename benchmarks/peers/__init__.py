"""quadrag beside its peers: a file for each kind of work, a record for each peer."""
