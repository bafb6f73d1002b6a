"""Events as tables and tables as events, for the IO manager without Spark; all of it needs the extra `arrow`."""
