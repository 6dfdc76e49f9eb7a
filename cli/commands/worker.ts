import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { TASK_QUEUES } from '../../contracts/names';
import type { Context } from '../context';
import { CliError } from '../errors';
import { waitInForeground } from '../foreground';
import { projectRoot } from '../../contracts/project-root';
import { temporalAddress } from '../temporal';

/** `whet worker [--queues a,b]`: runs one worker in the foreground, for machines that serve only some task queues. */
export async function workerCommand({ settings }: Context, { queues }: { queues: string }): Promise<void> {
  const known = Object.keys(TASK_QUEUES);
  const wrong = queues.split(',').filter((name) => !known.includes(name));
  if (wrong.length > 0)
    throw new CliError(
      `--queues ${JSON.stringify(queues)}: there is no queue ${wrong.join(', ')}. Allowed: ${known.join(', ')}.`,
      {
        type: 'Worker.UnknownQueue',
      },
    );
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', join(projectRoot(), 'dist', 'workers', 'main.js'), '--queues', queues],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        WHET_HOME: settings.home,
        WHET_STORE: settings.storeRoot,
        TEMPORAL_ADDRESS: await temporalAddress(settings),
        TEMPORAL_NAMESPACE: settings.temporalNamespace,
      },
    },
  );
  await waitInForeground(child);
}
