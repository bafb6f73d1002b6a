"""Parts of tasks that operators and sensors share: names, arguments, ranges, failures."""
