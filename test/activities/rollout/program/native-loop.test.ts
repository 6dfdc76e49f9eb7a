// Tier: integration (real programs, real environment runtime, fake model server).
import { existsSync } from 'node:fs';
import type { EnvironmentPlayer } from '../../../../activities/rollout/player';
import { trajectorySchema } from '../../../../contracts/artifacts/trajectory';
import { DESK, nativeDesk } from './native-desk';
import { planOf, PlayerFixture } from './player-fixture';
import { scriptedDesk } from './scripted-desk';

let fixture: PlayerFixture;
let native: EnvironmentPlayer;

beforeAll(async () => {
  fixture = await new PlayerFixture().start(scriptedDesk);
  native = nativeDesk(fixture);
});
afterAll(async () => {
  await native.close();
  await fixture.stop();
});

// The script starts jq dozens of times in each turn.
const PROGRAMS: [what: string, command: string[], seeds: number][] = [
  ['Python, which asks for chat completions,', ['python3', `${DESK}/program/agent.py`], 20],
  ['Node, which asks for responses,', [process.execPath, `${DESK}/program/agent.mjs`], 20],
  ['bash, with curl and jq,', [`${DESK}/program/agent.sh`], 3],
];
const hasTools = ['curl', 'jq'].every((tool) => existsSync(`/usr/bin/${tool}`));
if (!hasTools) console.log('curl or jq is missing in /usr/bin, so that no script is tested.');

test.each(hasTools ? PROGRAMS : PROGRAMS.slice(0, 2))(
  'a program in %s plays the same loop and gives the trajectories of the native one',
  async (_, command, seeds) => {
    const player = fixture.player(command);
    const asked = fixture.server.requests;
    const finishes = new Set<string>();
    for (let seed = 0; seed < seeds; seed++) {
      const from = asked.length;
      const expected = await native.play(planOf(seed), `${seed}`);
      const between = asked.length;
      const played = await fixture.play(player, planOf(seed));
      expect(fixture.failures).toEqual([]);
      expect(trajectorySchema.parse(played)).toEqual(expected);
      // The model was asked the same, byte for byte.
      expect(asked.slice(between).map((one) => JSON.stringify(one))).toEqual(
        asked.slice(from, between).map((one) => JSON.stringify(one)),
      );
      finishes.add(expected.finish);
    }
    expect([...finishes].sort()).toEqual(['done', 'no-tool-call']);
    expect(player.tools?.map((tool) => tool.function.name)).toContain('verify_user');
  },
);
