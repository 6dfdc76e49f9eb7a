import { setTimeout as sleep } from 'node:timers/promises';
import type { RandomSource } from '../../../activities/statistics/random';
import { isRunning } from '../../../cli/supervisor/processes';
import { adviceIn } from './advice';
import type { KnownProcess } from './census';
import { COMMAND_MS, type Finished, type Instance } from './instance';
import { type Look, Movement } from './movement';
import type { DestroyedAnswer } from './payments';

const LOOK_MS = 250;
/** A user notices that the services are gone, and starts them again, after this long. */
const NOTICE_MS = { least: 1_000, most: 3_000 };
/** Silence after which a user asks why. */
const ASK_WHY_MS = 60_000;
const MOST_ANSWERS = 20;
const WHOLE_RUN_MS = 1_200_000;
/** Characters of a text that are shown at its beginning and at its end. */
const SHOWN = 200;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function shortened(text: string): string {
  const line = text.trim().split('\n').join(' | ');
  return line.length <= 2 * SHOWN ? line : `${line.slice(0, SHOWN)} … ${line.slice(-SHOWN)}`;
}

/** A run in an installation, its user, and what disturbs it. */
export class Session {
  readonly movement = new Movement();
  /** Defects seen on the way, a sentence each. */
  readonly problems: string[] = [];
  /** Times at which a worker died, milliseconds since 1970. */
  readonly workerDeaths: number[] = [];
  /** Since when the disk is full, milliseconds since 1970; null: it has room. */
  fullSince: number | null = null;
  /** Spans in which the disk was full. */
  readonly diskFull: { from: number; to: number }[] = [];
  /** Stored answers that damage to files took away. */
  readonly destroyed: DestroyedAnswer[] = [];
  /** What `whet why` said while the run did not move. */
  readonly reasons: string[] = [];
  runId = '';
  last: Look | null = null;
  /** Further runs that must have found the same. */
  readonly alsoCompare: string[] = [];
  /** How often the user let a run that waited try again. */
  answers = 0;
  /** false: the user leaves the services down, and leaves a run that waits alone. */
  userActs = true;
  private readonly began = Date.now();
  /** When each process was killed, by its id. Milliseconds since 1970. */
  private readonly killed = new Map<number, number>();
  private workers: KnownProcess[] = [];
  private starting: Promise<void> | null = null;
  private askedWhyAt = 0;
  private supervisorSeen = false;
  /** The user has said `whet down`. */
  private downByUser = false;

  constructor(
    readonly instance: Instance,
    readonly random: RandomSource,
    private readonly write: (line: string) => void,
  ) {}

  /** Writes a line with the time since the session began. */
  say(line: string): void {
    this.write(`${seconds(Date.now() - this.began).padStart(8)}  ${line}`);
  }

  /** `whet up`, then `whet run`. @throws when either fails: nothing disturbs them yet. */
  async begin(seed: number): Promise<void> {
    const { instance } = this;
    const up = await instance.whet(['up', instance.agent, '--json']);
    if (up.code !== 0) throw new Error(`whet up ended with ${up.code}: ${up.stdout} ${up.stderr}`);
    await this.startRun(seed);
  }

  /** `whet run`. @throws when it fails. */
  async startRun(seed: number): Promise<void> {
    const run = await this.instance.whet(['run', this.instance.agent, '--seed', String(seed), '--json']);
    if (run.code !== 0) throw new Error(`whet run ended with ${run.code}: ${run.stdout} ${run.stderr}`);
    this.follow((JSON.parse(run.stdout) as { runId: string }).runId);
    this.say(`run ${this.runId}`);
  }

  /** From here on the session is about this run. */
  follow(runId: string): void {
    this.runId = runId;
    this.last = null;
  }

  /** Whether the run has ended. */
  get hasEnded(): boolean {
    return this.last !== null && this.last.state.status !== 'running';
  }

  /** Why the run waits for a person; null when it does not. */
  get waitingFor(): string | null {
    return this.last?.state.progress?.waitingFor ?? null;
  }

  /** Lets time pass until `isOver` or for `limitMs`. Returns whether it was over. */
  async until(isOver: () => boolean, limitMs: number): Promise<boolean> {
    const end = Date.now() + limitMs;
    for (;;) {
      await this.step();
      if (isOver()) return true;
      if (Date.now() > end) return false;
      await sleep(LOOK_MS);
    }
  }

  /** Lets so much time pass, or less when the run ends. */
  async pass(ms: number): Promise<void> {
    await this.until(() => this.hasEnded, ms);
  }

  /** Kills processes of the instance that still run. */
  kill(targets: readonly KnownProcess[], fault: string, note = ''): void {
    const hit = targets.filter(isRunning);
    for (const { pid, kind } of hit) {
      process.kill(pid, 'SIGKILL');
      this.killed.set(pid, Date.now());
      if (kind === 'worker') this.workerDeaths.push(Date.now());
    }
    this.disturbed(
      fault,
      hit.map(({ kind }) => kind),
      note,
    );
  }

  /** Notes that damage took stored answers away, by their keys. */
  lostAnswers(keys: readonly string[]): void {
    this.destroyed.push(...keys.map((key) => ({ key, at: Date.now() })));
  }

  /** Notes a disturbance and says it. */
  disturbed(fault: string, targets: readonly string[], note = ''): void {
    this.movement.disturbed(fault, targets, note);
    this.say(`${fault}: ${targets.join(' and ')} in ${this.movement.stage} ${note}`.trimEnd());
  }

  /** Runs a command of `whet` and says how it ended. */
  async whet(...words: string[]): Promise<Finished> {
    if (words[0] === 'down') this.downByUser = true;
    const limitMs = words[0] === 'demo' ? WHOLE_RUN_MS : COMMAND_MS;
    const finished = await this.instance.whet(words, limitMs);
    if (finished.timedOut) this.problem(`whet ${words.join(' ')} has not ended after ${seconds(limitMs)}`);
    const text = (finished.code === 0 ? finished.stdout : finished.stderr || finished.stdout).trim();
    const said = shortened(text);
    this.say(`whet ${words.join(' ')}: ${finished.code}${said === '' ? '' : `, ${said}`}`);
    return finished;
  }

  /** Waits until a `whet up` that the user started has ended. */
  async settled(): Promise<void> {
    await this.starting;
  }

  private async step(): Promise<void> {
    const running = this.instance.census.look();
    const looked = this.runId === '' ? null : await this.instance.look(this.runId);
    this.movement.look(looked);
    this.last = looked ?? this.last;
    for (const worker of this.workers)
      if (!isRunning(worker) && !this.killed.has(worker.pid)) this.workerDeaths.push(Date.now());
    this.workers = running.filter(({ kind }) => kind === 'worker');
    const supervisor = running.find(({ kind }) => kind === 'supervisor');
    this.supervisorSeen ||= supervisor !== undefined;
    if (!this.userActs || this.hasEnded) return;
    if (supervisor === undefined && this.supervisorSeen) this.starting ??= this.startAgain();
    if (this.waitingFor !== null) await this.answer(this.waitingFor);
    else if (this.movement.silentMs > ASK_WHY_MS && Date.now() - this.askedWhyAt > ASK_WHY_MS) await this.askWhy();
  }

  private async startAgain(): Promise<void> {
    const wasKilled = this.instance.census.everSeen.some(
      ({ kind, pid }) => kind === 'supervisor' && this.killed.has(pid),
    );
    if (!wasKilled && !this.downByUser) this.problem('the supervisor ended although nobody killed it');
    await sleep(NOTICE_MS.least + this.random.uniform() * (NOTICE_MS.most - NOTICE_MS.least));
    const beganAt = Date.now();
    // `whet up` cannot succeed when it is killed itself, or the supervisor that it waits for.
    const wasStruck = () =>
      this.instance.census.everSeen.some(
        ({ kind, pid }) => ['command', 'supervisor'].includes(kind) && (this.killed.get(pid) ?? 0) >= beganAt,
      );
    // On a full disk it refuses, and must say so.
    const wasFull = () => this.fullSince !== null || this.diskFull.some(({ to }) => to >= beganAt);
    const saysFull = ({ stdout, stderr }: Finished) => /disk of WHET_HOME .* is full/.test(stderr + stdout);
    this.downByUser = false;
    const up = await this.whet('up', this.instance.agent);
    if (up.code !== 0 && !up.timedOut && !wasStruck() && !(wasFull() && saysFull(up)))
      this.problem(`whet up ended with ${up.code}: ${up.stderr || up.stdout}`);
    this.starting = null;
  }

  /** Notes a defect. The same one is noted once. */
  problem(text: string): void {
    const line = shortened(text);
    if (this.problems.includes(line)) return;
    this.problems.push(line);
    this.say(`PROBLEM: ${line}`);
  }

  private async answer(waitingFor: string): Promise<void> {
    if (this.answers >= MOST_ANSWERS) return;
    this.say(`waits: ${shortened(waitingFor)}`);
    const text = await this.askWhy();
    this.answers++;
    await this.whet(...adviceIn(text, this.runId));
    await sleep(2_000);
  }

  /** What `whet why` says, as a user reads it. */
  async askWhy(): Promise<string> {
    this.askedWhyAt = Date.now();
    const { stdout, stderr, code } = await this.whet('why', this.runId);
    const text = code === 0 ? stdout.trim() : `whet why ended with ${code}: ${stderr.trim()}`;
    this.reasons.push(text);
    return text;
  }
}
