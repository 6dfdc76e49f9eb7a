import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { EnvironmentPlayer } from '../../../../activities/rollout/player';
import { openEnvironment } from '../../../../sandbox';
import { type PlayerFixture, SETTINGS } from './player-fixture';

/** The folder of the orders desk. */
export const DESK = resolve('examples/orders-desk');

/** Plays the desk's environment with the loop of this project, for comparison with programs. The caller closes it. */
export function nativeDesk(fixture: PlayerFixture): EnvironmentPlayer {
  const name = `${DESK}/environment.py`;
  return new EnvironmentPlayer({
    openEnvironment,
    environment: { source: readFileSync(name, 'utf8'), trust: 'owner', name },
    settings: SETTINGS,
    chat: (request) => fixture.model.chat(request),
    toleratesFaults: false,
    onFault: () => undefined,
    onTaskFailure: () => undefined,
    onRefusal: () => undefined,
  });
}
