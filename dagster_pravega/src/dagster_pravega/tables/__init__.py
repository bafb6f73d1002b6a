"""Events as tables and tables as events, for the IO manager without Spark; the package needs the extra `arrow`."""
