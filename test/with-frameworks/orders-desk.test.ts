// Tier: jail, with the packages of `scripts/install-frameworks.sh` (make test-frameworks).
import { dirname } from 'node:path';
import type { EnvironmentPlayer } from '../../activities/rollout/player';
import { isPlayed, type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { loadAgentSpec } from '../../loaders/agent-spec';
import { ownerEnvironment } from '../../loaders/owner-environment';
import { DESK, nativeDesk } from '../activities/rollout/program/native-desk';
import { planOf, PlayerFixture } from '../activities/rollout/program/player-fixture';
import { scriptedDesk } from '../activities/rollout/program/scripted-desk';

const SEEDS = 12;

let fixture: PlayerFixture;
let native: EnvironmentPlayer;
const expected: Trajectory[] = [];

beforeAll(async () => {
  fixture = await new PlayerFixture().start(scriptedDesk);
  delete process.env['WHET_UNJAILED_ENVIRONMENTS'];
  native = nativeDesk(fixture);
  for (let seed = 0; seed < SEEDS; seed++) expected.push(await native.play(planOf(seed), `${seed}`));
});
afterAll(async () => {
  await native.close();
  await fixture.stop();
});

/** What agent.yaml says of the program, with a Node that the jail shows. */
function launchOf(agent: string) {
  const path = `${DESK}/agent.${agent}.yaml`;
  const { source } = ownerEnvironment(loadAgentSpec(path), path);
  if (source.plays !== 'program') throw new Error(`${path} is no program.`);
  const { launch } = source;
  if (launch.command[0] !== 'node') return launch;
  const command = [process.execPath, ...launch.command.slice(1)];
  return { ...launch, command, folders: [dirname(dirname(process.execPath))] };
}

/** Frameworks answer wrong calls in their own words. */
function hasWrongCalls({ messages }: Trajectory): boolean {
  return messages.some(({ role, content }) => role === 'tool' && /not a JSON object|bad call/.test(content ?? ''));
}

const AGENTS = ['langgraph', 'openai-agents', 'ai-sdk'].flatMap((agent) => [
  [agent, 'whole answers', []] as const,
  [agent, 'streamed answers', ['--stream']] as const,
]);

test.each(AGENTS)('an agent of %s, which asks for %s, plays the loop of the native one', async (agent, _, more) => {
  const launch = launchOf(agent);
  const player = fixture.player([...launch.command, ...more], launch);
  for (const [seed, one] of expected.entries()) {
    const played = trajectorySchema.parse(await fixture.play(player, planOf(seed)));
    expect(fixture.failures).toEqual([]);
    // However the framework writes the model's answers down, they are one conversation.
    expect(played.branches).toBeUndefined();
    expect(isPlayed(played)).toBe(true);
    if (!hasWrongCalls(one)) expect(played).toEqual(one);
  }
  expect(expected.filter((one) => !hasWrongCalls(one)).length).toBeGreaterThan(SEEDS / 3);
});
