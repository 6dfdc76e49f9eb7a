// integration: every recorded history replays on the current workflow code; a changed history does not.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { HISTORIES } from '../helpers/histories';
import { workflowBundle } from '../helpers/workflow-bundle';

interface RecordedHistory {
  events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
}

const files = readdirSync(HISTORIES).filter((f) => f.endsWith('.json'));
const read = (file: string) => JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')) as RecordedHistory;
const replay = async (history: RecordedHistory) =>
  Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history);

test('there is a history of every workflow', () => {
  const types = new Set(files.map((f) => f.split('.')[1]));
  expect([...types].sort()).toEqual([
    'deliverNotice',
    'identifyCapabilities',
    'improvementRun',
    'labelChunks',
    'repairArtifacts',
    'sharpenCapability',
    'studyStability',
  ]);
});

test.each(files)('%s replays', async (file) => {
  await replay(read(file));
});

test('a history whose first activity has another name does not replay', async () => {
  const history = read(files.find((f) => f.includes('sharpenCapability')) as string);
  const scheduled = history.events.find(
    (e) => e.activityTaskScheduledEventAttributes,
  )?.activityTaskScheduledEventAttributes;
  if (scheduled) scheduled.activityType.name = 'somethingElse';
  await expect(replay(history)).rejects.toThrow(/nondeterminism|Nondeterminism|TMPRL1100/i);
});
