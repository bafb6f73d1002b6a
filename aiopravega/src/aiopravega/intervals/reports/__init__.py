"""Reports about consumers and streams: lag, freshness, gauges, gaps, pictures."""
