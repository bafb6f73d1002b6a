"""What Dagster's pages ask of its webserver, as far as the tests need it: everything goes by GraphQL."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import httpx
from tests.faults.process import wait_until

# A process of Dagster may need minutes on a machine that does other work.
PATIENCE: Final = 900.0
_REQUEST_SECONDS: Final = 120.0
_ENDED: Final = frozenset({"SUCCESS", "FAILURE", "CANCELED"})
REPOSITORY: Final = "__repository__"

_RUNS: Final = """query($filter: RunsFilter) { runsOrError(filter: $filter) {
  ... on Runs { results { runId status tags { key value } assetSelection { path } } }
  ... on PythonError { message } } }"""
_START: Final = """mutation($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) {
  __typename ... on Sensor { id } ... on PythonError { message } } }"""
_TICKS: Final = """query($sensor: SensorSelector!) { sensorOrError(sensorSelector: $sensor) { __typename
  ... on Sensor { sensorState { ticks(limit: 50) {
    status skipReason error { message causes { message } } runKeys timestamp } } } } }"""
_EVENTS: Final = """query($key: AssetKeyInput!) { assetOrError(assetKey: $key) { ... on Asset {
  assetMaterializations { partition runId metadataEntries { __typename label
    ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text } ... on JsonMetadataEntry { jsonString }
    ... on FloatMetadataEntry { floatValue } ... on BoolMetadataEntry { boolValue } } } } } }"""
_BACKFILL: Final = """mutation($wanted: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $wanted) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_BACKFILL_STATE: Final = """query($id: String!) { partitionBackfillOrError(backfillId: $id) { __typename
  ... on PartitionBackfill { status error { message } } } }"""
_CANCEL: Final = """mutation($id: String!) { cancelPartitionBackfill(backfillId: $id) {
  __typename ... on PythonError { message } } }"""
_RESUME: Final = """mutation($wanted: ReexecutionParams!) { reexecutePartitionBackfill(reexecutionParams: $wanted) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_AGAIN: Final = """mutation($wanted: ReexecutionParams!) { launchRunReexecution(reexecutionParams: $wanted) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
_LAUNCH: Final = """mutation($wanted: ExecutionParams!) { launchRun(executionParams: $wanted) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
_KEYS: Final = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
  ... on AssetNode { partitionKeys } } }"""
_FRESHNESS: Final = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
  ... on AssetNode { freshnessStatusInfo { freshnessStatus } } } }"""
_LOGS: Final = """query($id: ID!) { logsForRun(runId: $id, limit: 1000) { __typename ... on EventConnection {
  events { __typename ... on MessageEvent { message } ... on ExecutionStepFailureEvent {
    error { message causes { message } } } } } } }"""
_ADD: Final = """mutation($repository: RepositorySelector!, $definition: String!, $key: String!) {
  addDynamicPartition(repositorySelector: $repository, partitionsDefName: $definition, partitionKey: $key) {
    __typename } }"""
_HEALTH: Final = "{ instance { daemonHealth { allDaemonStatuses { daemonType lastHeartbeatTime required } } } }"
_LOCATIONS: Final = """{ workspaceOrError { ... on Workspace { locationEntries { name locationOrLoadError {
  __typename ... on PythonError { message } } } } } }"""
_RELOAD: Final = (
    """mutation($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) { __typename } }"""
)


class GraphQL:
    """The webserver at a port; `logs` is named when something does not come true."""

    def __init__(self, port: int, logs: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(base_url=self.url, timeout=_REQUEST_SECONDS)
        self._logs = logs

    def close(self) -> None:
        self._http.close()

    def ask(self, query: str, **variables: Any) -> Any:
        """The answer to a query or mutation; an error is one."""
        answer = self._http.post("/graphql", json={"query": query, "variables": variables}).json()
        assert "errors" not in answer, f"{answer['errors']}; the logs are in {self._logs}"
        return answer["data"]

    def wait(self, done: Any, what: str) -> None:
        """Ask again and again, until something holds."""
        wait_until(done, lambda: f"{what}; the logs are in {self._logs}", PATIENCE, every=0.5)

    def answers(self) -> bool:
        """Whether the webserver takes requests."""
        try:
            return self._http.get("/server_info").is_success
        except httpx.TransportError:
            return False

    def location_is_loaded(self, name: str) -> bool:
        """Whether the webserver has the definitions of a code server; it asks once, until a reload."""
        entries = self.ask(_LOCATIONS)["workspaceOrError"]["locationEntries"]
        found = {each["name"]: each["locationOrLoadError"] for each in entries}.get(name)
        if found is not None and found["__typename"] == "RepositoryLocation":
            return True
        self.ask(_RELOAD, name=name)
        return False

    def heartbeats(self) -> dict[str, float | None]:
        """When the daemons that are needed last wrote that they live."""
        found = self.ask(_HEALTH)["instance"]["daemonHealth"]["allDaemonStatuses"]
        return {each["daemonType"]: each["lastHeartbeatTime"] for each in found if each["required"]}

    def start_sensor(self, location: str, name: str) -> None:
        """Switch a sensor on."""
        found = self.ask(_START, sensor=_sensor(location, name))["startSensor"]
        assert found["__typename"] == "Sensor", found

    def ticks(self, location: str, name: str) -> list[dict[str, Any]]:
        """The latest ticks of a sensor, the newest first; one that is under way is among them."""
        found = self.ask(_TICKS, sensor=_sensor(location, name))["sensorOrError"]
        assert found["__typename"] == "Sensor", found
        ticks: list[dict[str, Any]] = found["sensorState"]["ticks"]
        return ticks

    def runs(self, **filters: Any) -> list[dict[str, Any]]:
        """Runs, the newest first, with `runId`, `status`, `tags`, and `assets`: the keys that were selected."""
        found: list[dict[str, Any]] = self.ask(_RUNS, filter=filters)["runsOrError"]["results"]
        for run in found:
            run["tags"] = {tag["key"]: tag["value"] for tag in run["tags"]}
            run["assets"] = ["/".join(key["path"]) for key in run["assetSelection"] or []]
        return found

    def run_status(self, run_id: str) -> str:
        """The status of a run."""
        [run] = self.runs(runIds=[run_id])
        return str(run["status"])

    def wait_for_run(self, run_id: str, status: str = "SUCCESS") -> None:
        """Wait until a run has ended, in this status."""
        self.wait(lambda: self.run_status(run_id) in _ENDED, f"run {run_id} has ended")
        assert self.run_status(run_id) == status, f"{self.messages(run_id)[-3:]}; the logs are in {self._logs}"

    def messages(self, run_id: str) -> list[str]:
        """What the events of a run are, and say."""
        events = self.ask(_LOGS, id=run_id)["logsForRun"]["events"]
        return [f"{each['__typename']}: {each.get('message')} {_said(each.get('error'))}" for each in events]

    def materializations(self, *key: str) -> list[dict[str, Any]]:
        """The materializations of an asset, the newest first; `metadata` has plain values."""
        found: list[dict[str, Any]] = self.ask(_EVENTS, key={"path": key})["assetOrError"]["assetMaterializations"]
        for each in found:
            each["metadata"] = {entry["label"]: _value(entry) for entry in each["metadataEntries"]}
        return found

    def add_partition(self, location: str, definition: str, key: str) -> None:
        """Add a dynamic partition."""
        repository = {"repositoryLocationName": location, "repositoryName": REPOSITORY}
        found = self.ask(_ADD, repository=repository, definition=definition, key=key)["addDynamicPartition"]
        assert found["__typename"] == "AddDynamicPartitionSuccess", found

    def backfill(self, keys: Collection[str], *asset: str, tags: Mapping[str, str] | None = None) -> str:
        """Launch a backfill of some partitions of an asset, as its page does; its id."""
        return self._launch_backfill(
            {
                "assetSelection": [{"path": asset}],
                "partitionNames": list(keys),
                "tags": [{"key": key, "value": value} for key, value in (tags or {}).items()],
            }
        )

    def backfill_of(self, assets: Mapping[tuple[str, ...], Sequence[str]]) -> str:
        """Launch one backfill of partitions of several assets; its id."""
        wanted = [
            {
                "assetKey": {"path": asset},
                "partitions": {"ranges": [{"start": key, "end": key} for key in keys]},
            }
            for asset, keys in assets.items()
        ]
        return self._launch_backfill({"partitionsByAssets": wanted})

    def _launch_backfill(self, wanted: Mapping[str, Any]) -> str:
        found = self.ask(_BACKFILL, wanted=wanted)["launchPartitionBackfill"]
        assert found["__typename"] == "LaunchBackfillSuccess", found
        return str(found["backfillId"])

    def backfill_status(self, backfill_id: str) -> str:
        """The status of a backfill."""
        return str(self.ask(_BACKFILL_STATE, id=backfill_id)["partitionBackfillOrError"]["status"])

    def cancel_backfill(self, backfill_id: str) -> None:
        """Cancel a backfill, and its runs."""
        found = self.ask(_CANCEL, id=backfill_id)["cancelPartitionBackfill"]
        assert found["__typename"] == "CancelBackfillSuccess", found

    def resume_backfill(self, backfill_id: str) -> str:
        """Launch a backfill of the partitions that another one has not materialized; its id."""
        wanted = {"parentRunId": backfill_id, "strategy": "FROM_FAILURE"}
        found = self.ask(_RESUME, wanted=wanted)["reexecutePartitionBackfill"]
        assert found["__typename"] == "LaunchBackfillSuccess", found
        return str(found["backfillId"])

    def wait_for_backfill(self, backfill_id: str, status: str = "COMPLETED_SUCCESS") -> list[dict[str, Any]]:
        """Wait until a backfill has ended, in this status; its runs. Each run has the time of a whole wait."""

        def state() -> dict[str, Any]:
            found: dict[str, Any] = self.ask(_BACKFILL_STATE, id=backfill_id)["partitionBackfillOrError"]
            return found

        def runs() -> list[dict[str, Any]]:
            return self.runs(tags=[{"key": "dagster/backfill", "value": backfill_id}])

        def has_ended() -> bool:
            return str(state()["status"]).startswith(("COMPLETED", "FAILED"))

        def ended_runs() -> int:
            return sum(run["status"] in _ENDED for run in runs())

        while not has_ended():
            before = ended_runs()
            self.wait(lambda count=before: has_ended() or ended_runs() > count, f"backfill {backfill_id} proceeds")
        assert state()["status"] == status, f"{state()}; the logs are in {self._logs}"
        return runs()

    def launch(
        self,
        location: str,
        job: str,
        config: Mapping[str, Any],
        *,
        assets: Collection[str] = (),
        tags: Mapping[str, str] | None = None,
    ) -> str:
        """Launch a run of a job, or of some assets, with a run config, as the launchpad does; its id."""
        selector = {"repositoryLocationName": location, "repositoryName": REPOSITORY, "jobName": job}
        wanted = {
            "selector": {**selector, **({"assetSelection": [{"path": [key]} for key in assets]} if assets else {})},
            "runConfigData": config,
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in (tags or {}).items()]},
        }
        found = self.ask(_LAUNCH, wanted=wanted)["launchRun"]
        assert found["__typename"] == "LaunchRunSuccess", found
        return str(found["run"]["runId"])

    def partitions(self, *key: str) -> list[str]:
        """The partitions of an asset."""
        keys: list[str] = self.ask(_KEYS, key={"path": key})["assetNodeOrError"]["partitionKeys"]
        return keys

    def freshness(self, *key: str) -> str:
        """The health of an asset by its policy of freshness."""
        found = self.ask(_FRESHNESS, key={"path": key})["assetNodeOrError"]["freshnessStatusInfo"]
        return str(found["freshnessStatus"])

    def execute_again(self, run_id: str, strategy: str = "FROM_FAILURE") -> str:
        """Execute a run again; the id of the new one."""
        found = self.ask(_AGAIN, wanted={"parentRunId": run_id, "strategy": strategy})["launchRunReexecution"]
        assert found["__typename"] == "LaunchRunSuccess", found
        return str(found["run"]["runId"])


def _sensor(location: str, name: str) -> dict[str, str]:
    return {"repositoryLocationName": location, "repositoryName": REPOSITORY, "sensorName": name}


def _said(error: Mapping[str, Any] | None) -> str:
    """What an error says, and what has caused it."""
    return "" if error is None else " ".join(each["message"] for each in (error, *error["causes"]))


def _value(entry: Mapping[str, Any]) -> Any:
    values = [value for name, value in entry.items() if name not in ("__typename", "label")]
    return values[0] if values else None
