// tier: unit
import { planRepair } from '../../../cli/repair/repair-plan';
import type { RunArtifact } from '../../../cli/repair/run-artifacts';
import type { ScheduledActivity } from '../../../cli/repair/run-histories';
import type { ArtifactStore } from '../../../store';

const made = (activity: string): { scheduled: ScheduledActivity; artifact: RunArtifact } => {
  const scheduled = { activity, taskQueue: 'whet-sandbox', input: {}, scheduledAtMs: 0, open: false };
  const wanted = {
    kind: 'artifact',
    key: `runs/r/${activity}.jsonl`,
    sha256: '0'.repeat(64),
    bytes: 1,
    mediaType: '',
  } as const;
  return { scheduled, artifact: { wanted, origin: { kind: 'activity', activity: scheduled } } };
};

test('episodes of an environment that does not play alike are not made again, and the plan says why', async () => {
  const all = ['collectTrajectories', 'contrastCapabilities', 'rollOutArm'].map(made);
  const history = { activities: all.map(({ scheduled }) => scheduled), edits: [] };
  const damaged = all.map(({ artifact }) => artifact);
  const plan = (playsAlike: boolean) => planRepair({} as ArtifactStore, { history, playsAlike }, damaged);
  expect((await plan(true)).steps).toHaveLength(3);
  const other = await plan(false);
  expect(other.steps.map(({ activity }) => activity.activity)).toEqual(['contrastCapabilities']);
  expect(other.hopeless.map(({ reason }) => reason)).toEqual([
    expect.stringMatching(/does not give the same episode for the same seed.*new run/),
    expect.stringMatching(/does not give the same episode/),
  ]);
});
