"""The smallest program with Dagster: definitions with a stream are loaded, and the stream is observed."""

import dagster as dg

from dagster_pravega import PravegaResource, build_observed_stream, pravega_stream_spec

visits = pravega_stream_spec("smallest/visits")
defs = dg.Definitions(assets=[visits], resources={"pravega": PravegaResource()})
dg.Definitions.validate_loadable(defs)
assert callable(build_observed_stream)
