"""Components: assets of streams, scopes and databases from YAML."""
