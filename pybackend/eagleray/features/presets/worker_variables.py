"""Finds how a variable reaches the workers of a framework, or why it can't."""

from __future__ import annotations

from attrs import frozen

from eagleray.features.presets.analysis import ProgramAnalysis
from eagleray.features.presets.checkout.yaml_tree import read_yaml
from eagleray.features.presets.hydra_overrides import hydra_override, hydra_quoted
from eagleray.features.presets.job_submission import submits, with_variables
from eagleray.features.presets.table import WorkerVariables
from eagleray.features.presets.table_file import tables
from eagleray.features.runs.model import RunPlan


@frozen
class VariableRoute:
    """`words` for the training line, or `env` for the program, or `job` for the job that the line submits.

    None of them if there is no way, and `why` says why.
    """

    arguments: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    job: tuple[tuple[str, str], ...] = ()
    why: str = ""


def variable_route(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis
) -> VariableRoute:
    """The way of the variable `name`.

    1. A framework that reads it from its configuration: an override.
    2. A framework that sets it itself: there is no way.
    3. A line that submits a job: the job's runtime_env.  4. A run of ours as a Ray job: the job's environment.
    5. A framework that hands it on: the program's environment.  6. A Ray that the program starts itself: likewise.
    7. A cluster that runs already: there is no way.
    """
    workers = analysis.recognised.table.workers if analysis.recognised else tables()[-1].workers
    if workers.transport == "override":
        return _override(name, value, workers, analysis)
    if name in workers.fixed and analysis.recognised:
        return VariableRoute(
            why=f"{analysis.recognised.table.title} sets it itself for its workers."
        )
    if analysis.launch and submits(analysis.launch):
        edit = with_variables(analysis.launch, {name: value})
        if isinstance(edit, str):
            return VariableRoute(why=edit)
        return VariableRoute(
            job=((name, value),), why="The runtime_env of the submitted job carries it."
        )
    if plan.kind == "job":
        return _environment(
            name, value, plan, analysis, "The environment of a job reaches its workers."
        )
    if _hands_on(workers, name):
        return _environment(name, value, plan, analysis, workers.why + ".")
    if plan.cluster:
        why = f"A variable of the shell does not reach the workers of a running cluster. {workers.why}."
        return VariableRoute(why=why)
    why = "It reaches the workers of a Ray that the program starts, not of one that runs already."
    return _environment(name, value, plan, analysis, why)


def _hands_on(workers: WorkerVariables, name: str) -> bool:
    if workers.transport == "prefix":
        return name.startswith(workers.names)
    return workers.transport == "environment" or name in workers.names


def _override(
    name: str, value: str, workers: WorkerVariables, analysis: ProgramAnalysis
) -> VariableRoute:
    if workers.needs and not read_yaml(analysis.config).at(workers.needs):
        return VariableRoute(
            why=f"The configuration has no {workers.needs}, which it would stand in."
        )
    override = hydra_override(workers.key.format(name=name), hydra_quoted(value))
    return VariableRoute(arguments=(override,), why=workers.why + ".")


def _environment(
    name: str, value: str, plan: RunPlan, analysis: ProgramAnalysis, why: str
) -> VariableRoute:
    assigned = analysis.assigned(name)
    if assigned and not assigned[0].keeps:
        return VariableRoute(why=f"Line {assigned[0].line} of {assigned[1]} sets it after us.")
    # A submission hands every variable of the plan on by its name, whatever else it exports.
    return VariableRoute(env=((name, value),), why=why)
