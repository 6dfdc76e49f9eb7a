import { z } from 'zod';
import type { OpenEnvironment } from '../environment';
import type { CheckResult } from './check';
import type { EnvironmentTask } from './environment-task';
import { readPythonSource } from './python-source';

/** Answer of kept_state.py. */
const keptSchema = z.strictObject({ kept: z.array(z.string()) });
/** Tasks that are played. */
const TASKS = 8;

/**
 * Checks that an environment keeps no state between episodes. It is played in a process of its own, which compares the
 * module before and after.
 * @throws SandboxError when the environment brings that process down.
 */
export async function checkKeptState(
  openEnvironment: OpenEnvironment,
  { source, name }: { source: string; name: string },
  tasks: readonly EnvironmentTask[],
  texts: readonly string[],
): Promise<CheckResult> {
  const looker = await openEnvironment({
    source: readPythonSource('kept_state.py'),
    trust: 'synthesised',
    name: `${name}, played twice,`,
  });
  try {
    await looker.reset('play', 0);
    const seeds = tasks.slice(0, TASKS).map(({ seed }) => seed);
    const { observations } = await looker.step('play', [{ name: 'play', arguments: { source, seeds, texts } }]);
    const { kept } = keptSchema.parse(JSON.parse(observations[0] ?? 'null'));
    return {
      passed: kept.length === 0,
      detail:
        kept.length === 0
          ? `After ${seeds.length} tasks the module is what it was before them.`
          : `${kept.slice(0, 5).join(', ')} ${kept.length === 1 ? 'is' : 'are'} changed by episodes. Keep what an ` +
            'episode needs in the instance, so that no episode depends on another.',
      figures: [{ name: 'names changed by episodes', value: kept.length, atMost: 0 }],
    };
  } finally {
    await looker.close();
  }
}
