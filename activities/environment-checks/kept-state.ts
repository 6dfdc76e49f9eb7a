import { z } from 'zod';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { OpenEnvironment } from '../environment';
import { askPython } from './ask-python';
import { type CheckResult, resultOf } from './check';
import type { EnvironmentTask } from './environment-task';

/** Answer of kept_state.py. */
const keptSchema = z.strictObject({ kept: z.array(z.string()) });
/** Tasks that are played. */
const TASKS = 8;

/**
 * Checks that an environment keeps no state between episodes: in its module, in what its caches return, in the library
 * or in the interpreter. It is played in a separate process, which compares them before and after.
 * @throws SandboxError when the environment crashes that process.
 */
export async function checkKeptState(
  openEnvironment: OpenEnvironment,
  { source, name }: { source: string; name: string },
  tasks: readonly EnvironmentTask[],
  texts: readonly string[],
): Promise<CheckResult> {
  const seeds = tasks.slice(0, TASKS).map(({ seed }) => seed);
  const given = { source, seeds, texts, modules: [...ALLOWED_MODULES] };
  const { kept } = await askPython(openEnvironment, 'kept_state.py', `${name}, played twice,`, given, keptSchema);
  const problem =
    `${kept.slice(0, 5).join(', ')} ${kept.length === 1 ? 'is' : 'are'} changed by episodes. Keep what an ` +
    'episode needs in the instance, so that no episode depends on another.';
  const fine = `After ${seeds.length} tasks the module is what it was before them.`;
  return resultOf(kept.length === 0 ? [] : [problem], fine, [
    { name: 'names changed by episodes', value: kept.length, atMost: 0 },
  ]);
}
