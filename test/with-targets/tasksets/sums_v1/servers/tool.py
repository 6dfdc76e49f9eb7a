"""The tool server of the sums."""

import verifiers.v1 as vf


class SumsToolset(vf.Toolset[vf.ToolsetConfig]):
    """Adds."""

    TOOL_PREFIX = "sums"

    @vf.tool
    def add(self, a: int, b: int) -> str:
        """The sum of two numbers."""
        return str(a + b)


if __name__ == "__main__":
    SumsToolset.run()
