import { dirname, resolve } from 'node:path';
import type { EnvironmentToolLine } from '../../contracts/messages/environment-tool';
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

const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** A task as `environment-tool try` played it. */
type TriedTask = Extract<EnvironmentToolLine, { type: 'tried' }>;

/**
 * `whet validate AGENT_YAML [--no-run]`: checks the file, imports the environment that it names and plays some of its
 * train and held-out tasks with their reference solutions; with --json prints the file with all defaults, and what was
 * played. `--no-run` executes nothing of the environment. Says where notices are not signed.
 * @throws CliError (exit 2) with file, line and exception when the environment fails, and when no reference solution
 *   succeeds.
 */
export async function validateCommand({ out }: Context, path: string, { run }: ValidateFlags): Promise<void> {
  const { spec, path: absolute } = readAgent(path);
  const { tools, tried } = run ? await playTasks(absolute, spec.environment.path) : { tools: [], tried: [] };
  const { played, warnings } = judge(absolute, spec.environment, tried);
  const unsigned = unsignedNotices(spec.notify);
  if (unsigned !== null) warnings.push(unsigned);
  const told = run ? `, its environment starts; ${played}; tools: ${tools.join(', ') || 'none'}` : '';
  out.result(
    {
      path: absolute,
      spec,
      ...(run && { tasks: tried.map(({ type: _, ...task }) => task) }),
      ...(warnings.length > 0 && { warning: warnings.join(' ') }),
    },
    [`${absolute}: valid (agent ${spec.name}${told})`, ...warnings].join('\n'),
  );
}

/** Plays some tasks of the environment in a process of its own. */
async function playTasks(agentPath: string, environmentPath: string): Promise<{ tools: string[]; tried: TriedTask[] }> {
  const tools: string[] = [];
  const tried: TriedTask[] = [];
  let begun = false;
  try {
    await runEnvironmentTool(['try', agentPath], (line) => {
      begun ||= line.type === 'opening';
      if (line.type === 'opening') tools.push(...line.tools.map((tool) => tool.function.name));
      if (line.type === 'tried') tried.push(line);
    });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const file = resolve(dirname(agentPath), environmentPath);
    const when = begun ? `while a task is played, after ${tried.length} that could be` : 'before its first move';
    throw new CliError(
      `${agentPath}: environment.path: ${file} fails ${when}: ${error.message}\n` +
        'Correct it; `whet validate --no-run` checks agent.yaml alone.',
      { exitCode: 2, type: 'Env.Failed', cause: error },
    );
  }
  return { tools, tried };
}

/** What the tasks that were played say of the environment. @throws CliError (exit 2) when no solution succeeds. */
function judge(
  agentPath: string,
  { path, successReward }: { path: string; successReward: number },
  tried: readonly TriedTask[],
): { played: string; warnings: string[] } {
  const isSuccess = (reward: number) => reward >= successReward;
  const low = tried.filter(({ reward }) => !isSuccess(reward));
  const idle = tried.filter(({ idleReward }) => isSuccess(idleReward));
  const [first] = low;
  const example = first && `task ${first.seed} earns ${first.reward} after ${counted(first.moves, 'move')}`;
  if (first !== undefined && low.length === tried.length)
    throw new CliError(
      `${agentPath}: environment.path: no reference solution of ${resolve(dirname(agentPath), path)} succeeds: ` +
        `${example}, and none of ${tried.length} tasks earns environment.successReward (${successReward}).\n` +
        'Correct reference_solution or evaluate, or lower environment.successReward.',
      { exitCode: 2, type: 'Env.Failed' },
    );
  const warnings = [
    ...(first !== undefined
      ? [
          `Warning: the reference solutions of ${low.length} of ${tried.length} tasks do not succeed: ${example}, less ` +
            `than environment.successReward (${successReward}). Where no solution succeeds, the agent fails whatever it does.`,
        ]
      : []),
    ...(idle.length > 0
      ? [
          `Warning: an agent that does nothing succeeds in ${idle.length} of ${tried.length} tasks, as in task ` +
            `${idle[0]!.seed}. Such a task says nothing about the agent.`,
        ]
      : []),
  ];
  const played = `the reference solutions of ${tried.length - low.length} of ${counted(tried.length, 'task')} succeed`;
  return { played, warnings };
}
