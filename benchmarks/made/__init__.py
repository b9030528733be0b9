"""What benchmarks are measured on, made up in upstream's formats, by named seeds."""
