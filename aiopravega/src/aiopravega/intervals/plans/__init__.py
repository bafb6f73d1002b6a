"""Plans: the past of a stream in intervals, by cuts, sizes or times."""
