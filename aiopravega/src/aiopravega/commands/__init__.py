"""The commands of this distribution that work on a cluster: each is a thin layer over calls that programs have too."""
