"""Flight delays per carrier and day, out of a stream of flights: three DAGs that show the provider at work.

`flights_replay` stands for the programs that write to the stream all day. It makes the streams and replays the flights
of New York's airports in January 2013, day by day.

`flights_delays` is the job. A sensor waits, without a worker slot, until the stream has moved far enough, and hands on
two StreamCuts. Spark reads exactly the range between them into Parquet files. The delays per carrier and day are
written to another stream, exactly once. Run it again for the same logical date: the sensor hands on the same two cuts,
the files get the same rows, and the stream gets nothing twice. A run of another date starts where this one ended.

`flights_backfill` reads any past range again, between two cuts, such as those that a run of the sensor returned.

All of them reach Pravega by the connection `pravega_default`. The root of the repository has to be on Python's path.
"""

from datetime import date
from tempfile import gettempdir

from airflow.sdk import DAG, Param, get_current_context, task
from example_dags import source
from example_dags.flights import delays_per_carrier_and_day, typed_flights

from aiopravega import ScalingPolicy, StreamName
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.operators.stream import PravegaCreateStreamOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

FLIGHTS = Param("examples/flights", type="string", description="stream of flights")
DELAYS = Param("examples/delays", type="string", description="stream of delays per carrier and day")
OUTPUT = Param(f"{gettempdir()}/flights", type="string", description="folder of the Parquet files")

with DAG(
    "flights_replay",
    schedule=None,
    doc_md=__doc__,
    params={
        "flights": FLIGHTS,
        "delays": DELAYS,
        "first_day": Param(1, type="integer", minimum=1, maximum=31),
        "last_day": Param(31, type="integer", minimum=1, maximum=31),
    },
) as flights_replay:
    create_flights = PravegaCreateStreamOperator(
        task_id="create_flights",
        stream="{{ params.flights }}",
        scaling=ScalingPolicy.fixed(4),
        tags=["flights"],
        timestamp_aggregation_timeout=source.PATIENCE,
    )
    create_delays = PravegaCreateStreamOperator(task_id="create_delays", stream="{{ params.delays }}")

    @task
    def replay() -> int:
        """Write the flights of one day after the other; returns how many."""
        params = get_current_context()["params"]
        first, last = (date(2013, 1, params[name]) for name in ("first_day", "last_day"))
        flights = 0
        with PravegaHook().get_client() as client:
            for each in source.replay(client, StreamName.parse(params["flights"]), first, last):
                print(f"{each.day:%B %-d}: {each.flights} flights")
                flights += each.flights
        return flights

    [create_flights, create_delays] >> replay()


with DAG(
    "flights_delays",
    schedule=None,
    doc_md=__doc__,
    max_active_runs=1,
    params={
        "flights": FLIGHTS,
        "delays": DELAYS,
        "output": OUTPUT,
        "since": Param("last", type="string", description="last, earliest, or the text of a StreamCut"),
        "min_bytes": Param(1_000_000, type="integer", description="how far the stream has to move"),
    },
) as flights_delays:
    create_streams = [
        PravegaCreateStreamOperator(
            task_id="create_flights",
            stream="{{ params.flights }}",
            scaling=ScalingPolicy.fixed(4),
            tags=["flights"],
            timestamp_aggregation_timeout=source.PATIENCE,
        ),
        PravegaCreateStreamOperator(task_id="create_delays", stream="{{ params.delays }}"),
    ]
    wait = PravegaStreamCutSensor(
        task_id="wait",
        stream="{{ params.flights }}",
        since="{{ params.since }}",
        min_bytes="{{ params.min_bytes }}",
        deferrable=True,
        poll_interval=1.0,
    )
    read = PravegaSparkReadOperator(
        task_id="read",
        stream="{{ params.flights }}",
        stream_cuts=wait.output,
        transform=typed_flights,
        output_path="{{ params.output }}/{{ ti.xcom_pull('wait')['interval'] | replace(':', '') }}",
        digest=True,
    )
    write = PravegaSparkWriteOperator(
        task_id="write",
        source="{{ ti.xcom_pull('read')['path'] }}",
        transform=delays_per_carrier_and_day,
        stream="{{ params.delays }}",
    )
    create_streams >> wait >> read >> write


with DAG(
    "flights_backfill",
    schedule=None,
    doc_md=__doc__,
    params={
        "flights": FLIGHTS,
        "output": OUTPUT,
        "start": Param(type="string", description="text of the StreamCut where the range starts"),
        "end": Param(type="string", description="text of the StreamCut where it ends"),
    },
) as flights_backfill:
    PravegaSparkReadOperator(
        task_id="read",
        stream="{{ params.flights }}",
        stream_cuts={"start": "{{ params.start }}", "end": "{{ params.end }}"},
        transform=typed_flights,
        output_path="{{ params.output }}/backfill-{{ run_id | replace(':', '') }}",
        digest=True,
    )
