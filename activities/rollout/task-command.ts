import type { TaskOrigin } from '../../contracts/config/environment-kinds';
import { shown } from '../../loaders/schema-problems';
import { MOST_TASK_BYTES, type ReadTasks, readTaskLines } from '../../loaders/task-lines';
import { launchProgram, type OwnersCommand, SandboxError } from '../../sandbox';
import { CommandTime, endOfCommand, killed } from './program/run-command';

/** The part of `TaskOrigin` that is a command. */
export type TaskCommand = Extract<TaskOrigin, { command: string[] }>;

/**
 * Runs the command that prints an environment's tasks, in the jail of the agent's other commands, and reads its lines
 * as those of a file. It is killed at its deadline, and when it prints more than a file of tasks may hold. Whatever it
 * left running ends with it. Its tasks count only if it ends with code 0.
 * @param owner what its commands see of the machine.
 * @throws SandboxError if it cannot be started, or something else killed it; the signal's reason.
 */
export async function printTasks(owner: OwnersCommand, origin: TaskCommand, signal: AbortSignal): Promise<ReadTasks> {
  const { command, seconds, splits } = origin;
  signal.throwIfAborted();
  const running = await launchProgram(owner, { command, field: 'environment.tasks.command' });
  const stop = () => running.kill();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let [parts, bytes] = [[] as string[], 0];
  try {
    const ending = endOfCommand(running, new CommandTime(seconds * 1000), 'that of a jail');
    running.stdout.on('data', (text: string) => {
      bytes += Buffer.byteLength(text);
      if (bytes <= MOST_TASK_BYTES) parts.push(text);
      else {
        parts = [];
        running.kill();
      }
    });
    const { why, code, signal: by, words } = await ending;
    signal.throwIfAborted();
    const name = shown(JSON.stringify(command.join(' ')));
    const failed = (what: string): ReadTasks => ({
      problems: [{ path: 'environment.tasks.command', message: `${name} ${what}, so there are no tasks. ${words}` }],
    });
    if (bytes > MOST_TASK_BYTES) return failed(`printed more than ${MOST_TASK_BYTES} bytes, and was killed`);
    if (why === 'flood') return failed('was killed');
    if (why === 'deadline') return failed(`had not ended after ${seconds} s (environment.tasks.seconds)`);
    if (code === null) throw new SandboxError('Sandbox.EnvironmentKilled', `${name} was killed by ${by}. ${words}`);
    if (code !== 0) return failed(`ended with code ${code}`);
    return readTaskLines(parts.join(''), splits, `what ${name} printed`);
  } finally {
    signal.removeEventListener('abort', stop);
    await killed(running);
  }
}
