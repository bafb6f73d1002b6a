"""Commands that work on a cluster: each is a thin layer over calls that programs can use."""
