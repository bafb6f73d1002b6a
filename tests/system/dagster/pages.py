"""Everything that pages of Dagster show about a code location's resources, its launchpad, its runs and its sensors."""

import json
from collections.abc import Collection
from typing import Final

from tests.system.dagster.graphql import REPOSITORY, GraphQL

_RESOURCES: Final = """query($repository: RepositorySelector!) {
  allTopLevelResourceDetailsOrError(repositorySelector: $repository) { __typename
    ... on ResourceDetailsList { results { name description configFields { name isSecret defaultValueAsJson }
      configuredValues { key value type }
      nestedResources { name resource { configuredValues { key value type } } } } } } }"""
_LAUNCHPAD: Final = """query($job: PipelineSelector!) { runConfigSchemaOrError(selector: $job) { __typename
  ... on RunConfigSchema { rootDefaultYaml allConfigTypes { key
    ... on CompositeConfigType { fields { name defaultValueAsJson } } } } } }"""
_RUNS: Final = "{ runsOrError { __typename ... on Runs { results { runId runConfigYaml tags { key value } } } } }"
_EVENTS: Final = """query($id: ID!) { logsForRun(runId: $id, limit: 1000) { __typename ... on EventConnection {
  events { __typename ... on MessageEvent { message } ... on LogsCapturedEvent { fileKey }
    ... on ErrorEvent { error { className message stack causes { className message stack } } }
    ... on DisplayableEvent { label description metadataEntries { label description
      ... on TextMetadataEntry { text } ... on JsonMetadataEntry { jsonString } } } } } } }"""
_OUTPUT: Final = "query($key: [String!]!) { capturedLogs(logKey: $key) { stdout stderr } }"


def shown(graphql: GraphQL, location: str, job: str, sensors: Collection[str]) -> str:
    """The texts of the pages: resources, the launchpad of a job, each run with its events and output, ticks."""
    repository = {"repositoryLocationName": location, "repositoryName": REPOSITORY}
    runs = graphql.ask(_RUNS)
    found = [
        graphql.ask(_RESOURCES, repository=repository),
        graphql.ask(_LAUNCHPAD, job={**repository, "pipelineName": job}),
        runs,
        *(graphql.ticks(location, sensor) for sensor in sensors),
    ]
    for run in runs["runsOrError"]["results"]:
        events = graphql.ask(_EVENTS, id=run["runId"])
        found.append(events)
        files = [event["fileKey"] for event in events["logsForRun"]["events"] if "fileKey" in event]
        found += [graphql.ask(_OUTPUT, key=[run["runId"], "compute_logs", file]) for file in files]
    return json.dumps(found)
