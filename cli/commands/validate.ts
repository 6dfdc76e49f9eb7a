import { dirname, resolve } from 'node:path';
import { readAgent } from '../agent';
import type { Context } from '../context';
import { runEnvironmentTool } from '../run-environment-tool';
import { CliError } from '../errors';
import { unsignedNotices } from '../unsigned-notices';

/** Flags of `whet validate`. */
export interface ValidateFlags {
  /** false: `--no-run`. */
  run: boolean;
}

/**
 * `whet validate AGENT_YAML [--no-run]`: checks the file, imports the environment that it names and plays one task with
 * its reference solution; with --json prints the file with all defaults. `--no-run` executes nothing of the
 * environment. Says where notices are not signed.
 * @throws CliError (exit 2) with file, line and exception when the environment fails.
 */
export async function validateCommand({ out }: Context, path: string, { run }: ValidateFlags): Promise<void> {
  const { spec, path: absolute } = readAgent(path);
  const tools: string[] = [];
  let reward: number | null = null;
  if (run) {
    try {
      await runEnvironmentTool(['try', absolute], (line) => {
        if (line.type === 'opening') tools.push(...line.tools.map((tool) => tool.function.name));
        if (line.type === 'end') ({ reward } = line);
      });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const file = resolve(dirname(absolute), spec.environment.path);
      throw new CliError(
        `${absolute}: environment.path: ${file} fails ${tools.length === 0 ? 'before its first move' : 'while its first task is played'}: ${error.message}\n` +
          'Correct it; `whet validate --no-run` checks agent.yaml alone.',
        { exitCode: 2, type: 'Env.Failed', cause: error },
      );
    }
  }
  const low =
    reward !== null && reward < spec.environment.successReward
      ? `, less than environment.successReward (${spec.environment.successReward}): no solution of this task succeeds`
      : '';
  const task = `the reference solution of task ${spec.environment.trainSeeds.start} earns ${reward}${low}`;
  const played = run ? `, its environment starts; ${task}; tools: ${tools.join(', ') || 'none'}` : '';
  const warning = unsignedNotices(spec.notify);
  out.result(
    { path: absolute, spec, ...(warning !== null && { warning }) },
    [`${absolute}: valid (agent ${spec.name}${played})`, ...(warning === null ? [] : [warning])].join('\n'),
  );
}
