// Tier: integration (real processes, fake trainer).
import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MockActivityEnvironment } from '@temporalio/testing';
import { createTrainActivities } from '../../../activities/train';
import { trainerState } from '../../../activities/train/trainer-process';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type { RunContext } from '../../../contracts/messages/run-context';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { RunFixture } from '../run-fixture';
import { fakeBackend } from './fake-backend';
import { TrainingFiles, until } from './training-files';

/** Seconds that no test reaches. */
const NEVER = 3_600;

describe('packed trainings', () => {
  let fixture: RunFixture;
  const files = new TrainingFiles(() => fixture);
  let context: RunContext;

  const pack = async (training: AgentSpecInput['training']) => {
    context = await fixture.prepare('http://127.0.0.1:9/v1', {
      training: { iterations: 8, packingWaitSeconds: NEVER, ...training },
    });
  };
  beforeEach(() => {
    fixture = new RunFixture();
  });
  afterEach(async () => {
    delete process.env['FAKE_TRAINER'];
    delete process.env['FAKE_HOLD'];
    await fixture.dispose();
  });

  /** The activities of a new worker. */
  const worker = (atOnce = 8) =>
    createTrainActivities({ store: fixture.store, atOnce, backends: { local: fakeBackend({ graceMs: 60_000 }) } });
  /** One attempt of a training, on a worker of its own. */
  const train = async (
    job: string,
    activity: MockActivityEnvironment = fixture.activity(),
    environments = [job],
    on = worker(),
    more: Partial<TrainInput> = {},
  ): Promise<TrainedAdapter> => {
    const sources = environments.map(async (id) => ({
      id,
      source: await fixture.store.put(
        `runs/run-1/environments/${id}`,
        'environment.py',
        `class Environment: ... # ${id}\n`,
      ),
    }));
    return fixture.run(
      on.trainAdapter,
      { context, job, environments: await Promise.all(sources), budgetFactor: 1, ...more },
      activity,
    );
  };
  const waits = (job: string) =>
    until(() => fixture.heartbeats.some(({ note }) => note?.startsWith(`train ${job}: Queued`)));
  /** Lets the time be over for which the open packs have waited: it is counted from their first ticket. */
  const waitIsOver = () => {
    const longAgo = new Date(Date.now() - 2_000 * NEVER);
    for (const tickets of files.packs().map((pack) => join(pack, 'tickets')))
      for (const ticket of readdirSync(tickets)) utimesSync(join(tickets, ticket), longAgo, longAgo);
  };
  const ofEight = [1, 2, 3, 4, 5, 6, 7, 8];

  test('a full pack starts at once, and each member has the result that it has alone', async () => {
    await pack({});
    const alone = await train('stamps');
    await fixture.dispose();
    fixture = new RunFixture();
    await pack({ packing: 3 });
    const [stamps, letters, scales] = await Promise.all([train('stamps'), train('letters'), train('scales')]);
    expect(stamps).toEqual(alone);
    expect(new Set([stamps, letters, scales].map(({ sha256 }) => sha256)).size).toBe(3);
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    expect(files.starts('stamps')).toEqual(files.starts('scales'));
    expect(files.starts('stamps')).toHaveLength(1);
    expect(files.packs()).toHaveLength(1);
  });

  test('a waiting training reports how many it waits for and how long, later the other members', async () => {
    await pack({ packing: 2 });
    const first = train('stamps');
    await waits('stamps');
    expect(fixture.heartbeats.at(-1)!.reason).toMatchObject({
      kind: 'Queued',
      message: expect.stringMatching(
        /^waits for up to 2 trainings to share a trainer, 1 of 2 there, 3[56]\d\d s left$/,
      ) as string,
    });
    await Promise.all([first, train('letters')]);
    const last = fixture.heartbeats.at(-1)!;
    expect(last.reason).toBeUndefined();
    expect(last.note).toMatch(/reward 1.00, with a trainer shared by letters and stamps/);
  });

  test('no training waits for more members than the run has trainings', async () => {
    await pack({ packing: 4 });
    const two = { sideBySide: 2 };
    await Promise.all(['stamps', 'letters'].map((job) => train(job, undefined, undefined, undefined, two)));
    expect(files.packs()).toHaveLength(1);
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    await train('scales', undefined, undefined, undefined, { sideBySide: 1 });
    expect(files.starts('scales')).toHaveLength(1);
  });

  test('a worker that cannot run a whole pack says so', async () => {
    await pack({ packing: 2, packingWaitSeconds: 1 });
    await train('stamps', undefined, undefined, worker(1));
    expect(
      fixture.heartbeats.some(({ reason }) =>
        /left; this worker trains only 1 at once \(WHET_TRAINERS\)$/.test(reason?.message ?? ''),
      ),
    ).toBe(true);
  });

  test('a pack that does not fill up is closed by time; a later training opens the next', async () => {
    await pack({ packing: 3 });
    process.env['FAKE_HOLD'] = 'stamps';
    const early = [train('stamps'), train('letters')];
    await Promise.all([waits('stamps'), waits('letters')]);
    waitIsOver();
    await files.reaches('stamps', 1);
    const later = train('scales');
    await waits('scales');
    waitIsOver();
    await later;
    files.go('stamps');
    await Promise.all(early);
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    expect(files.starts('scales')).not.toEqual(files.starts('stamps'));
    expect(files.packs()).toHaveLength(2);
    // Alone in its pack it is trained as without packing, so the log is in its own directory.
    expect(existsSync(join(files.directory('scales'), 'trainer.log'))).toBe(true);
  });

  test('many trainings at once fill packs, and none is in two', async () => {
    await pack({ packing: 3, packingWaitSeconds: 3 });
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await Promise.all(names.map((name) => train(name)));
    const groups = files
      .packs()
      .map(
        (folder) =>
          (JSON.parse(readFileSync(join(folder, 'closed.json'), 'utf8')) as { members: { capability: string }[] })
            .members,
      );
    expect(
      groups
        .flat()
        .map(({ capability }) => capability)
        .sort(),
    ).toEqual(names);
    expect(Math.max(...groups.map((group) => group.length))).toBeLessThanOrEqual(3);
    for (const name of names) expect(files.starts(name)).toHaveLength(1);
  });

  test('the adapter of all environments does not wait for others', async () => {
    await pack({ packing: 3 });
    await train('mixed', undefined, ['stamps', 'letters']);
    expect(files.starts('mixed')).toHaveLength(1);
  });

  test('a training whose worker dies while it waits keeps its ticket and its time', async () => {
    await pack({ packing: 2 });
    const lost = fixture.activity();
    const first = train('stamps', lost);
    await waits('stamps');
    lost.cancel('WORKER_SHUTDOWN');
    await expect(first).rejects.toThrow('WORKER_SHUTDOWN');
    // No worker runs stamps any more, but its ticket counts, so the trainer of letters trains it, too.
    await train('letters');
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    expect(files.iterations('stamps').length).toBeGreaterThan(0);
    await train('stamps');
    expect(files.iterations('stamps')).toEqual(ofEight);
    expect(files.starts('stamps')).toHaveLength(1);
  });

  test('when the workers die, the trainer goes on and other workers attach to it', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_HOLD'] = 'letters';
    const lost = [fixture.activity(), fixture.activity()] as const;
    const first = [train('stamps', lost[0]), train('letters', lost[1])];
    await files.reaches('stamps', 1);
    for (const activity of lost) activity.cancel('WORKER_SHUTDOWN');
    for (const end of await Promise.allSettled(first))
      expect(end).toMatchObject({ reason: { message: 'WORKER_SHUTDOWN' } });
    files.go('letters');
    await Promise.all([train('stamps'), train('letters')]);
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    expect(files.starts('stamps')).toHaveLength(1);
  });

  test('a trainer that was killed is Trainer.Died, and the first attempt starts it again for all members', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_HOLD'] = 'letters stamps';
    const both = ['stamps', 'letters'].map((job) =>
      expect(train(job)).rejects.toMatchObject({ type: 'Trainer.Died', nonRetryable: false }),
    );
    for (const job of ['stamps', 'letters']) {
      await until(() => fixture.heartbeats.some(({ note }) => note?.startsWith(`train ${job}, reward`)));
    }
    process.kill(Number(files.starts('letters')[0]), 'SIGKILL');
    await Promise.all(both);
    for (const job of ['stamps', 'letters']) files.go(job);
    await train('letters');
    await train('stamps');
    expect(files.starts('letters')).toHaveLength(2);
    expect(files.starts('stamps')).toEqual(files.starts('letters'));
    expect(files.iterations('letters')).toEqual(ofEight);
    expect(files.iterations('stamps')).toEqual(ofEight);
  });

  test.each([
    [64, 'Trainer.JobInvalid'],
    [65, 'Trainer.EnvironmentFailed'],
    [66, 'Trainer.Diverged'],
    [137, 'Trainer.Died'],
  ])('a training that fails alone with code %i is %s, and the others go on', async (code, type) => {
    await pack({ packing: 2 });
    process.env['FAKE_TRAINER'] = `fail stamps ${code}`;
    const [stamps, letters] = await Promise.allSettled([train('stamps'), train('letters')]);
    expect(stamps).toMatchObject({
      status: 'rejected',
      reason: {
        type,
        nonRetryable: type !== 'Trainer.Died',
        message: expect.stringMatching(
          /training of stamps.*letters and stamps.*not finite after iteration 3/s,
        ) as string,
      },
    });
    expect(letters.status).toBe('fulfilled');
    expect(files.starts('letters')).toHaveLength(1);
  });

  test('a training that failed is trained again at once, while the trainer that it left goes on', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_TRAINER'] = 'fail stamps 66';
    process.env['FAKE_HOLD'] = 'letters';
    const letters = train('letters');
    await expect(train('stamps')).rejects.toMatchObject({ type: 'Trainer.Diverged' });
    delete process.env['FAKE_TRAINER'];
    await train('stamps');
    expect(files.iterations('letters')).not.toContain(5);
    files.go('letters');
    await letters;
    expect(files.starts('letters')).toHaveLength(1);
    expect(files.starts('stamps')).toHaveLength(2);
    expect(files.iterations('stamps')).toEqual(ofEight);
  });

  test('a pack that is started again leaves out the members that have left', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_TRAINER'] = 'fail stamps 66';
    process.env['FAKE_HOLD'] = 'letters';
    const letters = train('letters');
    const died = expect(letters).rejects.toMatchObject({ type: 'Trainer.Died' });
    await expect(train('stamps')).rejects.toMatchObject({ type: 'Trainer.Diverged' });
    process.kill(Number(files.starts('letters')[0]), 'SIGKILL');
    await died;
    files.go('letters');
    await train('letters');
    expect(files.starts('letters')).toHaveLength(2);
    expect(files.starts('stamps')).toHaveLength(1);
  });

  test('a cancelled training leaves the trainer to the others, after a checkpoint', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_HOLD'] = 'letters stamps';
    const activity = fixture.activity();
    const stamps = train('stamps', activity);
    const letters = train('letters');
    await files.reaches('stamps', 4);
    activity.cancel('CANCELLED');
    await expect(stamps).rejects.toMatchObject({ name: 'CancelledFailure' });
    await until(() => existsSync(join(files.directory('stamps'), 'failure.json')));
    files.go('letters');
    await letters;
    expect(files.starts('letters')).toHaveLength(1);
    expect(existsSync(join(files.directory('stamps'), 'manifest.json'))).toBe(false);
    expect(JSON.parse(readFileSync(join(files.directory('stamps'), 'failure.json'), 'utf8'))).toMatchObject({
      code: 143,
    });
    expect(
      readdirSync(join(files.directory('stamps'), 'checkpoints'))
        .sort()
        .at(-1),
    ).toBe('iteration-0004');
  });

  test('when all members are cancelled, the trainer is stopped', async () => {
    await pack({ packing: 2 });
    process.env['FAKE_HOLD'] = 'letters stamps';
    const cancelled = [fixture.activity(), fixture.activity()] as const;
    const both = [train('stamps', cancelled[0]), train('letters', cancelled[1])];
    await files.reaches('letters', 1);
    for (const activity of cancelled) activity.cancel('CANCELLED');
    for (const end of await Promise.allSettled(both))
      expect(end).toMatchObject({ reason: { name: 'CancelledFailure' } });
    expect(await trainerState(files.packs()[0]!)).toMatchObject({ status: 'ended' });
  });

  test('a training that is cancelled while it waits is not trained', async () => {
    await pack({ packing: 2 });
    const activity = fixture.activity();
    const stamps = train('stamps', activity);
    await waits('stamps');
    activity.cancel('CANCELLED');
    await expect(stamps).rejects.toMatchObject({ name: 'CancelledFailure' });
    const letters = train('letters');
    await waits('letters');
    waitIsOver();
    await letters;
    expect(files.starts('stamps')).toEqual([]);
    expect(files.starts('letters')).toHaveLength(1);
  });

  test('a malformed file of the pack is an error, not taken for a missing one', async () => {
    await pack({ packing: 2 });
    const stamps = train('stamps');
    await waits('stamps');
    writeFileSync(join(files.packs()[0]!, 'closed.json'), '{"members": 3}');
    await expect(stamps).rejects.toThrow(/members/);
  });
});
