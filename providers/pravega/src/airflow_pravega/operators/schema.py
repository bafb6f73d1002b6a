"""Operators for schemas: a gate for a schema that is to follow a stream's schemas, and one that registers a schema."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import Context

from aiopravega import PravegaConfig, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.gates import check_candidate
from aiopravega.gates.candidates import from_class
from aiopravega.gates.candidates.files import SUFFIXES
from aiopravega.loop import LoopThread
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaRegistry
from aiopravega.schema.open import POLICY, SchemaReport
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.operators.gating import GateOperator
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts


class CandidateOperator(TemplatedTexts):
    """The base of the operators of schemas: a candidate, and the group that it is compared with or added to.

    Args:
        candidate: the path of a schema file (`.avsc`, `.json`, `.proto`, `.desc`), which may stand beside the DAG's
            file or in a folder of its `template_searchpath`; a pydantic model, dataclass or
            Protobuf message, or its dotted name; a schema of Spark or Arrow, or the dotted name of a variable that has
            one; the schema of another stream, as `pravega://scope/stream`; a `SchemaInfo`. (templated)
        type_name: the schema's type, if the candidate and the group leave it open. (templated)
        schema_format: the format that columns of Spark or Arrow get, `Avro` or `Json`; by default the group's.
        proto_path: of a `.proto` file: the folders in which its imports are looked for, in this order, found as files
            are; the file has to lie in one of them. By default the folder of the file. (templated)
        group: name of the registry's group; by default the stream's. (templated)
        namespace: the group's namespace; by default where the group is, and for a new one the scope's name. (templated)
        new_policy: policy of a group that is made; by default `BackwardTransitive` for Avro, JSON and Protobuf, and
            `AllowAny` for other formats. (templated)
        declared_only: for JSON, assume that no writer uses properties that a schema does not declare; then a property
            may be added with any type.
        as_columns: for Avro, also refuse a schema that column readers such as Spark cannot hold.
    """

    template_fields: Sequence[str] = ("candidate", "type_name", "proto_path", "group", "namespace", "new_policy")

    def __init__(
        self,
        *,
        candidate: Any,
        type_name: str | None = None,
        schema_format: str | None = None,
        proto_path: str | Sequence[str] = (),
        group: str | None = None,
        namespace: str | None = None,
        new_policy: str | None = None,
        declared_only: bool = False,
        as_columns: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Airflow would call a class as if it were a template.
        self.candidate = from_class(candidate) if isinstance(candidate, type) else candidate
        self.type_name = type_name
        self.schema_format = schema_format
        self.proto_path = proto_path
        self.group = group
        self.namespace = namespace
        self.new_policy = new_policy
        self.declared_only = declared_only
        self.as_columns = as_columns

    async def compare(self, stream: StreamName, registry: RegistryConfig, **more: Any) -> SchemaReport:
        """Compare the candidate with the group of a stream; `more` are further arguments of `check_candidate`."""
        async with SchemaRegistry(registry) as client:
            return await check_candidate(
                client,
                stream,
                self.found_candidate(),
                type_name=self.type_name,
                schema_format=_format(self.schema_format),
                proto_path=self.found_folders(),
                group=self.group,
                namespace=self.namespace,
                new_policy=self.new_policy or None,
                declared_only=self.declared_only,
                as_columns=self.as_columns,
                **more,
            )

    def found_candidate(self) -> Any:
        """The candidate; a relative path of a file that is not in the worker's folder is searched as templates are.

        This is not `template_ext`: Airflow would read a schema as a template, and refuse paths of the worker.
        """
        given = self.candidate
        return self._searched(given) if isinstance(given, str) and Path(given).suffix in SUFFIXES else given

    def found_folders(self) -> list[str]:
        """The folders of `proto_path`, which are searched in the same way."""
        given = [self.proto_path] if isinstance(self.proto_path, str) else self.proto_path
        return [self._searched(folder) for folder in given if folder]

    def _searched(self, given: str) -> str:
        if Path(given).exists():
            return given
        search = self.dag.template_searchpath or ()
        folders = [self.dag.folder, *([search] if isinstance(search, str) else search)]
        paths = (Path(folder) / given for folder in folders)
        return next((str(path) for path in paths if path.exists()), given)


class PravegaSchemaGateOperator(CandidateOperator, GateOperator):
    """Lets a DAG continue only if a schema may follow the schemas that a stream has in the Schema Registry.

    Avro, JSON Schema and Protobuf are compared here, by the group's policy or another one; the registry itself compares
    Avro only. The log has every violation with its path, rule and remedy; the XCom has the same as JSON.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        policy: the policy to hold, such as `BackwardTransitive`; by default the group's. (templated)
        against: `policy`, the versions that the policy names; `latest`; `all`; or the number of a version. (templated)
        register: add a schema that passes to the group, which is made if there is none.
        on_violation: `fail`, `skip`, `ask`, or the ids of tasks that directly follow and are to run instead of the
            others.
        pravega_conn_id: id of the connection, which names the registry in its extra `schema_registry_uri`. (templated)
    """

    template_fields: Sequence[str] = (
        *GateOperator.template_fields,
        *CandidateOperator.template_fields,
        "policy",
        "against",
    )

    def __init__(
        self, *, policy: str | None = None, against: str | int = POLICY, register: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy
        self.against = against
        self.register = register
        if register:
            self.letting_pass = (
                "the tasks after this one run; the schema is registered only if the group's own policy allows it"
            )

    async def check(self, config: PravegaConfig, registry: RegistryConfig) -> SchemaReport:
        """Compare the candidate; with `register`, add it to the group."""
        stream = StreamName.parse(self.stream, config.scope)
        return await self.compare(
            stream, registry, policy=self.policy or None, against=self.against, register=self.register
        )

    async def let_pass(self, config: PravegaConfig, registry: RegistryConfig) -> SchemaReport:
        """With `register`, add the candidate to the group if the group's own policy allows it."""
        if not self.register:
            return await self.check(config, registry)
        report = await self.compare(StreamName.parse(self.stream, config.scope), registry, register=True)
        if not report.passed:
            self.log.warning("The schema is let pass, and is not registered: %s", report.summary())
        return report


class PravegaRegisterSchemaOperator(LinkedToStream, CandidateOperator):
    """Adds a schema to the group of a stream, which is made if there is none; a schema that may not follow fails.

    Returns the report of the gate, as JSON. If the group has the schema already, the task succeeds.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        pravega_conn_id: id of the connection, which names the registry in its extra `schema_registry_uri`. (templated)
    """

    template_fields: Sequence[str] = ("stream", *CandidateOperator.template_fields, "pravega_conn_id")

    def __init__(self, *, stream: str, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_stream(stream)
        self.stream = stream
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Register the schema.

        Raises:
            AirflowFailException: the group does not take it, or an argument cannot work.
            PravegaError: the registry cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            stream = StreamName.parse(self.stream, hook.get_config().scope)
            self.link_to_stream(context, stream)
            report = LoopThread.shared().run(self.compare(stream, hook.get_registry_config(), register=True)).require()
        self.log.info("%s", report.summary())
        return report.to_json()


def _format(name: str | None) -> SchemaFormat | None:
    if name is None:
        return None
    try:
        return SchemaFormat(name.capitalize())
    except ValueError:
        raise ConfigurationError(f"schema_format is {name!r}, but must be Avro or Json") from None
