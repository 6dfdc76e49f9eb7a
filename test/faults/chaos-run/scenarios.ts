import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { LABELLING } from '../../../contracts/limits';
import { layout } from '../../../store';
import { writeDocument } from '../../helpers/stored-document';
import type { ProcessKind } from './census';
import {
  ADAPTER,
  ARTIFACT,
  drawFile,
  fileBeingWritten,
  filesOf,
  halve,
  LABEL_SEGMENT,
  remove,
  spoilLine,
  tear,
  WORK_SEGMENT,
} from './damage';
import { crashWhileWriting, fullDiskFor, stopFor } from './faults';
import type { Session } from './session';

/** A disturbance by name, to repeat a defect. */
export interface Scenario {
  name: string;
  /** What it does, for the list. */
  what: string;
  needsDisk?: true;
  /** How the run ends when all is well; default: as the undisturbed one. */
  expected?: 'cancelled';
  script(session: Session): Promise<void>;
}

const LIMIT_MS = 600_000;
/** A run labels so many chunks side by side; when there are more segments, some are finished. */
const CHUNKS_AT_ONCE = LABELLING.chunksInFlight;

/** Lets time pass until a stage is in its middle: an activity of it has done something. */
async function inStage(session: Session, stage: string): Promise<void> {
  const isThere = () =>
    session.movement.stage === stage &&
    (session.last?.state.activities.some(({ progress }) => (progress?.done ?? 0) > 0) ?? false);
  if (!(await session.until(() => session.hasEnded || isThere(), LIMIT_MS)) || session.hasEnded)
    session.problem(`the scenario did not find the run in stage ${stage}`);
}

const running = (session: Session, kind: ProcessKind) =>
  session.instance.census.look().filter((process_) => process_.kind === kind);

const killAll = (session: Session, ...kinds: ProcessKind[]): void =>
  session.kill(
    kinds.flatMap((kind) => running(session, kind)),
    'kill',
  );

/** What is done to a file. Returns the keys of the analyst's answers that are gone. */
type Damage = (path: string) => string[];

/** Damages a file of the store that is there, once something matches. */
async function damage(session: Session, pattern: RegExp, act: Damage, what: string): Promise<void> {
  const find = () => drawFile(session.instance.home, pattern, session.random);
  await session.until(() => session.hasEnded || find() !== null, LIMIT_MS);
  const path = find();
  if (path === null) return session.problem(`the scenario found no file that matches ${pattern}`);
  session.lostAnswers(act(path));
  session.disturbed('damage', [what], path.slice(session.instance.home.length + 1));
}

const stopScenario = (kind: ProcessKind, stage: string): Scenario => ({
  name: `stop-${kind}`,
  what: `SIGSTOP of the ${kind} for 60 s in ${stage}`,
  async script(session) {
    await inStage(session, stage);
    await session.until(() => session.hasEnded || running(session, kind).length > 0, LIMIT_MS);
    for (const victim of running(session, kind).slice(0, 1)) await stopFor(session, victim, 60_000);
  },
});

const diskScenario = (suffix: string, stage: string, kinds: readonly ProcessKind[]): Scenario => ({
  name: `disk-full${suffix}`,
  what: `disk full for 30 s in ${stage}${kinds.length === 0 ? '' : `, ${kinds.join(' and ')} killed meanwhile`}`,
  needsDisk: true,
  async script(session) {
    await inStage(session, stage);
    await fullDiskFor(session, 30_000, () => kinds.flatMap((kind) => running(session, kind)));
  },
});

const damageScenario = (name: string, what: string, stage: string, pattern: RegExp, act: Damage): Scenario => ({
  name,
  what: `${what} in ${stage}`,
  async script(session) {
    await inStage(session, stage);
    await damage(session, pattern, act, name);
  },
});

/** A crash of the worker in the middle of a write. */
const tornScenario = (name: string, what: string, stage: string, pattern: RegExp): Scenario => ({
  name,
  what: `the worker dies and leaves half a last line in ${what} that it writes, in ${stage}`,
  async script(session) {
    await inStage(session, stage);
    const find = () => fileBeingWritten(session.instance.home, pattern);
    await session.until(() => session.hasEnded || find() !== null, LIMIT_MS);
    const path = find();
    if (path === null) session.problem(`the scenario found no file that matches ${pattern}`);
    else crashWhileWriting(session, path);
  },
});

/** The state of `whet up` is damaged; then its supervisor dies, and the user calls `whet up`. */
const stateScenario = (name: string, what: string, file: string, how: 'empty' | 'half'): Scenario => ({
  name,
  what: `${what}, and the supervisor killed`,
  async script(session) {
    await inStage(session, 'collect');
    const path = join(session.instance.home, file);
    killAll(session, 'supervisor');
    tear(path, how);
    session.disturbed('damage', [name], file);
  },
});

/** Processes that run through a whole night, or again and again in it. A trainer does not where all is reused. */
const NIGHTLY: readonly ProcessKind[] = ['worker', 'supervisor', 'temporal', 'gateway', 'analyst', 'policy', 'jail'];

const eachStageScenario = (kind: ProcessKind): Scenario => ({
  name: `kill-${kind}-in-each-stage`,
  what: `the ${kind} killed once in every stage, as soon as an activity of it has begun`,
  async script(session) {
    const struck = new Set<string>();
    await session.until(() => {
      const { stage } = session.movement;
      const isUnderWay = session.last?.state.activities.some(({ status }) => status === 'started') ?? false;
      const [victim] = running(session, kind);
      if (!session.hasEnded && isUnderWay && victim !== undefined && !struck.has(stage)) {
        struck.add(stage);
        session.kill([victim], 'kill');
      }
      return session.hasEnded;
    }, 2 * LIMIT_MS);
    if (struck.size === 0) session.problem(`the scenario found no ${kind} to kill`);
  },
});

const STATE_SCENARIOS: readonly Scenario[] = [
  stateScenario('empty-supervisor-state', 'supervisor.json emptied', 'supervisor.json', 'empty'),
  stateScenario('torn-supervisor-state', 'supervisor.json cut in half', 'supervisor.json', 'half'),
  {
    name: 'torn-registry',
    what: "the agent's registry cut in half before the run reads it",
    async script(session) {
      await inStage(session, 'collect');
      writeDocument(
        join(session.instance.home, 'store', layout.registry('orders-desk-chaos')),
        '{"versions": [{',
        'whole',
      );
      session.disturbed('damage', ['torn-registry']);
    },
  },
];

const DAMAGE_SCENARIOS: readonly Scenario[] = [
  tornScenario('torn-work-segment', 'a work file', 'collect', WORK_SEGMENT),
  tornScenario('torn-label-segment', 'a label segment', 'identify', LABEL_SEGMENT),
  {
    name: 'torn-finished-segment',
    what: 'half a last line in the label segment that was finished first, then the worker dies',
    async script(session) {
      await inStage(session, 'identify');
      const finished = () => filesOf(session.instance.home, LABEL_SEGMENT).length > CHUNKS_AT_ONCE;
      await session.until(() => session.hasEnded || finished(), LIMIT_MS);
      for (const path of filesOf(session.instance.home, LABEL_SEGMENT).slice(-1)) crashWhileWriting(session, path);
    },
  },
  {
    name: 'unreadable-label-line',
    what: 'half a line in the middle of a label segment, then the worker dies',
    async script(session) {
      await inStage(session, 'identify');
      await damage(session, LABEL_SEGMENT, spoilLine, 'label segment');
      killAll(session, 'worker');
    },
  },
  damageScenario('truncated-artifact', 'an artifact cut in half', 'identify', ARTIFACT, halve),
  damageScenario('deleted-artifact', 'an artifact deleted', 'identify', ARTIFACT, remove),
  damageScenario('truncated-adapter', 'weights of an adapter cut in half', 'sharpen', ADAPTER, halve),
  damageScenario('deleted-adapter', 'weights of an adapter deleted', 'sharpen', ADAPTER, remove),
  {
    name: 'truncated-checkpoint',
    what: 'the newest checkpoint of a training cut in half, and its trainer killed',
    async script(session) {
      const checkpoint = /\/checkpoints\/iteration-\d+\/adapter_model\.safetensors$/;
      await damage(session, checkpoint, halve, 'checkpoint');
      killAll(session, 'trainer');
    },
  },
];

const OPERATION_SCENARIOS: readonly Scenario[] = [
  {
    name: 'two-workers',
    what: 'a second worker beside the first one, and the first one killed in identify',
    async script(session) {
      await inStage(session, 'collect');
      const worker = running(session, 'worker')[0];
      if (worker === undefined) return session.problem('the scenario found no worker');
      const [command = '', ...words] = worker.command.split(' ');
      spawn(command, words, {
        env: session.instance.environmentOf(worker.pid),
        stdio: 'ignore',
        detached: true,
      }).unref();
      session.disturbed('second worker', ['worker']);
      await inStage(session, 'identify');
      session.kill([worker], 'kill');
    },
  },
  {
    name: 'two-runs',
    what: 'a second run of the same agent and seed, started in collect',
    async script(session) {
      await inStage(session, 'collect');
      const first = session.runId;
      await session.startRun(1);
      session.disturbed('second run', ['run']);
      await session.until(() => session.hasEnded, 2 * LIMIT_MS);
      session.alsoCompare.push(session.runId);
      session.follow(first);
    },
  },
  {
    name: 'two-ups',
    what: 'the supervisor killed, and four `whet up` at once',
    async script(session) {
      await inStage(session, 'collect');
      session.userActs = false;
      killAll(session, 'supervisor');
      const up = () => session.whet('up', session.instance.agent, '--json');
      const codes = (await Promise.all([up(), up(), up(), up()])).map(({ code }) => code);
      if (codes.some((code) => code !== 0)) session.problem(`four whet up at once ended with ${codes.join(', ')}`);
      const supervisors = running(session, 'supervisor').length;
      if (supervisors !== 1) session.problem(`${supervisors} supervisors run after four whet up`);
      session.userActs = true;
    },
  },
  {
    name: 'other-seed',
    what: 'services down in collect, then `whet demo` with another seed, then up again',
    async script(session) {
      await inStage(session, 'collect');
      session.userActs = false;
      await session.whet('down');
      session.disturbed('other seed', ['services']);
      await session.whet('demo', session.instance.agent, '--seed', '2');
      await session.whet('down');
      session.userActs = true;
    },
  },
  {
    name: 'other-ports',
    what: 'services down in collect, then up again with other ports',
    async script(session) {
      await inStage(session, 'collect');
      session.userActs = false;
      await session.whet('down');
      await session.instance.changePorts();
      session.disturbed('other ports', ['services']);
      session.userActs = true;
    },
  },
];

const KILL_SCENARIOS: readonly Scenario[] = [
  {
    name: 'trainer-killed-each-time',
    what: 'every trainer killed 2 s after it is seen, until the run waits; then the user lets it go on',
    async script(session) {
      session.userActs = false;
      const first = new Map<number, number>();
      const strike = () => {
        for (const trainer of running(session, 'trainer')) {
          const seenAt = first.get(trainer.pid) ?? Date.now();
          first.set(trainer.pid, seenAt);
          if (Date.now() - seenAt > 2_000) session.kill([trainer], 'kill');
        }
        return session.hasEnded || session.waitingFor !== null;
      };
      await session.until(strike, LIMIT_MS);
      if (session.hasEnded) session.problem('the run ended because its trainers were killed');
      session.userActs = true;
    },
  },
  {
    name: 'jails-killed',
    what: 'twelve jails killed while environments are validated and calibrated',
    async script(session) {
      await session.until(() => session.hasEnded || session.movement.stage === 'sharpen', LIMIT_MS);
      for (let killed = 0; killed < 12 && !session.hasEnded;) {
        const [victim] = running(session, 'jail');
        if (victim !== undefined && killed++ >= 0) session.kill([victim], 'kill');
        await session.pass(500);
        if (session.movement.stage === 'evaluate') break;
      }
    },
  },
  {
    name: 'cancel-with-dead-worker',
    what: 'the run cancelled in sharpen while supervisor and worker are dead, then `whet up`',
    expected: 'cancelled',
    async script(session) {
      await session.until(() => session.hasEnded || running(session, 'trainer').length > 0, LIMIT_MS);
      session.userActs = false;
      killAll(session, 'supervisor', 'worker');
      await session.instance.cancel(session.runId);
      session.disturbed('cancel', ['run']);
      await session.pass(5_000);
      const before = new Set(session.instance.census.everSeen.map(({ pid }) => pid));
      session.userActs = true;
      await session.pass(30_000);
      const started = session.instance.census.everSeen.filter(
        ({ kind, pid }) => kind === 'trainer' && !before.has(pid),
      );
      if (started.length > 0) session.problem(`${started.length} trainers were started for a cancelled run`);
    },
  },
];

/** All scenarios that `--scenario` names. */
export const SCENARIOS: readonly Scenario[] = [
  ...NIGHTLY.map(eachStageScenario),
  ...KILL_SCENARIOS,
  stopScenario('worker', 'identify'),
  stopScenario('analyst', 'identify'),
  stopScenario('policy', 'collect'),
  stopScenario('temporal', 'identify'),
  stopScenario('trainer', 'sharpen'),
  diskScenario('', 'identify', []),
  diskScenario('-and-death', 'identify', ['worker']),
  diskScenario('-and-temporal-death', 'collect', ['temporal']),
  diskScenario('-and-trainer-death', 'sharpen', ['trainer']),
  diskScenario('-and-supervisor-death', 'identify', ['supervisor']),
  ...DAMAGE_SCENARIOS,
  ...STATE_SCENARIOS,
  ...OPERATION_SCENARIOS,
];
