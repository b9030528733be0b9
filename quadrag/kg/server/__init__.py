"""CRAG's mock knowledge graph over HTTP: upstream's 38 routes and bodies, so that its clients work unchanged."""
