"""The step that reads an input or writes an output: its asset or its op, by names that no selection and order change.

A value may also be loaded outside of a step, such as by `Definitions.load_asset_value`: then there is none.
"""

from typing import TYPE_CHECKING, Any

from dagster import AssetKey, DagsterInvariantViolationError, InputContext, OutputContext

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.measures import CONSUMER_KEY
from dagster_pravega.metadata.spec import CUTS_KEY, SINCE_KEY, STREAM_KEY, plain, stream_of
from pravega_jobs.identity.names import consumer_of_assets, consumer_of_op

if TYPE_CHECKING:
    from dagster._core.execution.context.system import StepExecutionContext


def step_of(context: InputContext | OutputContext) -> "StepExecutionContext | None":
    """The step of an input or an output; None outside of steps."""
    try:
        return context.step_context
    except DagsterInvariantViolationError:
        return None


def need_step(context: InputContext, what: str) -> "StepExecutionContext":
    """The step of an input, for what only a run can have.

    Raises:
        ConfigurationError: the value is loaded outside of steps.
    """
    step = step_of(context)
    if step is None:
        raise ConfigurationError(
            f"{what} belongs to a run, but {input_name(context)} is loaded outside of a step: materialize the asset, "
            f"or name the range in the metadata of the input ({CUTS_KEY!r})"
        )
    return step


def input_name(context: InputContext) -> str:
    """The name of an input, for messages."""
    return f"input {context.name!r}" if context.has_input_name else "the value"


def input_type(context: InputContext) -> Any:
    """The Python type of an input; `Any` if nothing names one."""
    try:
        return context.dagster_type.typing_type
    except DagsterInvariantViolationError:  # of a context that a test builds without a type
        return Any


def upstream_key(context: InputContext) -> AssetKey | None:
    """The asset that an input reads: of the graph of assets, or `asset_key` of an op's `In`; None: it has none."""
    if context.has_asset_key:
        return context.asset_key
    if step_of(context) is None:
        return None
    given = context.op_def.input_def_named(context.name)
    return given.get_asset_key(context) if given.is_asset else None


def stream_of_input(context: InputContext) -> str:
    """The stream that an input reads: the one of its asset, or the metadata `pravega/stream` of an op's `In`.

    Raises:
        ConfigurationError: the input has neither.
    """
    key = upstream_key(context)
    if key is not None:
        upstream = context.upstream_output
        metadata = upstream.definition_metadata if upstream else _metadata_of(step_of(context), key)
        return stream_of(key, metadata)
    if STREAM_KEY not in context.definition_metadata:
        raise ConfigurationError(
            f"{input_name(context)} names no stream: give the In the metadata {STREAM_KEY!r} with scope/stream, or an "
            "asset_key that represents the stream"
        )
    return str(plain(context.definition_metadata[STREAM_KEY]))


def consumer_name(context: InputContext) -> str:
    """The name of an input in the cut ledger, if its metadata give none: it has the asset, or the job and the op.

    An op that makes assets has the names of all of them, also of those that this run does not select; if two inputs of
    the step read one stream, each has its own name. Another op in a graph of assets, and an op in a job, has its path
    and the name of the input.

    Raises:
        ConfigurationError: the step is one of several that an op's dynamic output has made, or is none.
    """
    step = need_step(context, "an interval of the cut ledger")
    if "[" in step.step.key:
        raise ConfigurationError(
            f"step {step.step.key!r} is one of several that a dynamic output has made, and {input_name(context)} has "
            "no range of its own for each: read the stream in the op before, and give its events to these steps"
        )
    layer, handle, owner = step.job_def.asset_layer, step.node_handle, step.assets_def
    outputs = [layer.get_asset_key_for_node_output(handle, name) for name in step.op_def.output_dict]
    assets = [key.to_user_string() for key in outputs if key is not None]
    if owner is None:
        return consumer_of_op(f"job {step.job_def.name}", "/".join(handle.path), context.name)
    if not assets:
        checks = owner.node_check_specs_by_output_name.values()
        assets = [key.to_user_string() for key in owner.node_keys_by_output_name.values()]
        assets = assets or [f"{check.asset_key.to_user_string()} check {check.name}" for check in checks]
        if handle.parent is not None:  # the name of the graph itself depends on the other nodes of the job
            return consumer_of_op(", ".join(sorted(assets)), "/".join(handle.path[1:]), context.name)
    return consumer_of_assets(assets, context.name if _reads_twice(context, step) else None)


def part_name(step: "StepExecutionContext", output: str) -> str:
    """The part of a claim that an output of a step is."""
    return f"{step.step.key}.{output}"


def part_names(step: "StepExecutionContext") -> list[str]:
    """The parts of a step's work: its outputs, without checks and without assets that are not selected."""
    layer, handle = step.job_def.asset_layer, step.node_handle
    selected = step.get_output_asset_keys()
    found = []
    for output in step.step.step_outputs:
        key = layer.get_asset_key_for_node_output(handle, output.name)
        if layer.get_asset_check_key_for_node_output(handle, output.name) is None and (key is None or key in selected):
            found.append(part_name(step, output.name))
    return found


def former_consumer_name(context: InputContext) -> str:
    """The name that earlier releases gave an input: it had the selected assets of the step, which may be none."""
    step = need_step(context, "an interval of the cut ledger")
    return consumer_of_assets(key.to_user_string() for key in step.get_output_asset_keys())


def _reads_twice(context: InputContext, step: "StepExecutionContext") -> bool:
    """True if another input of the step would be the same consumer: of the same stream, without a name of its own."""
    ours, since = stream_of_input(context), SINCE_KEY in context.definition_metadata
    layer = step.job_def.asset_layer
    for name, given in step.op_def.input_dict.items():
        says = given.metadata
        if name == context.name or {CONSUMER_KEY, CUTS_KEY} & says.keys() or (SINCE_KEY in says) != since:
            continue
        key = layer.get_asset_key_for_node_input(step.node_handle, name) or given.hardcoded_asset_key
        theirs = says.get(STREAM_KEY) if key is None else _stream_or_none(key, _metadata_of(step, key))
        if plain(theirs) == ours:
            return True
    return False


def _stream_or_none(key: AssetKey, metadata: Any) -> str | None:
    try:
        return stream_of(key, metadata)
    except ConfigurationError:  # an asset that is not a stream
        return None


def _metadata_of(step: "StepExecutionContext | None", key: AssetKey) -> Any:
    """The metadata of an asset by the graph of assets; empty if the graph does not have it."""
    layer = None if step is None else step.job_def.asset_layer
    return layer.get(key).metadata if layer is not None and layer.has(key) else {}
