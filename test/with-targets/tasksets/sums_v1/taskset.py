"""The tasks: what is a + b? A right answer earns 1, one that is off by one a half."""

import verifiers.v1 as vf

from sums_v1.servers.tool import SumsToolset


class SumsData(vf.TaskData):
    """One sum."""

    total: int


class SumsTaskConfig(vf.TaskConfig):
    """Options of its tool server."""

    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class SumsTask(vf.Task[SumsData, vf.State, SumsTaskConfig]):
    """Its tool and its reward."""

    @classmethod
    def toolsets(cls, config: SumsTaskConfig) -> list[vf.Toolset]:
        return [SumsToolset(config.tools)]

    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        said = trace.last_reply.strip()
        off = abs(int(said) - self.data.total) if said.isdigit() else 2
        return {0: 1.0, 1: 0.5}.get(off, 0.0)


class SumsConfig(vf.TasksetConfig):
    """How many sums there are."""

    num_tasks: int = 5
    task: SumsTaskConfig = SumsTaskConfig()


class SumsTaskset(vf.Taskset[SumsTask, SumsConfig]):
    """Sums with a growing first number."""

    def load(self) -> list[SumsTask]:
        return [
            SumsTask(SumsData(prompt=f"What is {n} + 30? Answer with the number.", total=n + 30), self.config.task)
            for n in range(self.config.num_tasks)
        ]
