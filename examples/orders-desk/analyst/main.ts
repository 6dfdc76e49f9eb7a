import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runAnalyst } from '../../shared/analyst/run-analyst';
import { openDeskRules } from './answers';

/** The directory with capabilities.json: beside this file, or in the source tree that its compiled copy belongs to. */
function assetsDirectory(): string {
  const tail = join('examples', 'orders-desk', 'analyst');
  for (let directory = __dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, tail, 'capabilities.json'))) return join(directory, tail);
    if (directory === dirname(directory))
      throw new Error(
        `capabilities.json of the orders desk was not found above ${__dirname}; name its directory with --assets.`,
      );
  }
}

runAnalyst((assets) => openDeskRules(assets ?? assetsDirectory()));
