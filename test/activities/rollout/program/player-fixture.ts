import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trajectory } from '../../../../contracts/artifacts/trajectory';
import type { RunModel } from '../../../../activities/endpoints/run-model';
import { systemClock } from '../../../../activities/clock';
import { type EpisodePlan, HttpModelClient, PolicyModel } from '../../../../activities/rollout';
import type { FolderRoom } from '../../../../activities/rollout/program/folder-room';
import { ProgramPlayer } from '../../../../activities/rollout/program/program-player';
import { launchProgram, type ProgramSource, type SandboxError } from '../../../../sandbox';
import { type FakeAnswer, FakePolicyServer, type WireRequest } from '../../../fakes/policy-server';

export const SETTINGS = { temperature: 1, maxTurns: 6, maxCompletionTokens: 64, successReward: 1 };

export const planOf = (seed: number, trial = 0): EpisodePlan => ({
  seed,
  split: 'train',
  trial,
  model: 'base',
  samplingSeed: 1000 + 10 * seed + trial,
});

export const modelAt = (baseUrl: string): RunModel => ({
  name: 'base',
  baseUrl,
  addressFrom: 'agent.yaml',
  path: '/models/base',
  sha256: '0'.repeat(64),
  served: { weightsSha256: null, root: null, maxModelLength: 2048 },
});

/** Plays programs against a fake model server. */
export class PlayerFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'whet-program-'));
  readonly failures: SandboxError[] = [];
  readonly notes: string[] = [];
  readonly abort = new AbortController();
  server!: FakePolicyServer;
  model!: PolicyModel;
  private readonly client = new HttpModelClient();
  private readonly players: ProgramPlayer[] = [];
  private runs = 0;

  async start(answer: (request: WireRequest) => FakeAnswer): Promise<this> {
    // Programs of tests may be anywhere; test/sandbox has the jail.
    process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'desk';
    this.server = await new FakePolicyServer(answer).start();
    const model = modelAt(this.server.baseUrl);
    this.model = new PolicyModel({
      client: this.client,
      clock: systemClock,
      model,
      concurrency: 8,
      adapters: [],
      signal: this.abort.signal,
      patienceMs: 600_000,
    });
    return this;
  }

  /** A player of a command; a text is the source of a Python program. */
  player(
    program: string | readonly string[],
    launch: Partial<ProgramSource['launch']> = {},
    tasks?: string[],
    room?: FolderRoom,
  ): ProgramPlayer {
    const player = new ProgramPlayer({
      environment: this.sourceOf(program, launch, tasks),
      launch: launchProgram,
      set: 'test',
      ...(room && { room }),
      settings: SETTINGS,
      chat: (request) => this.model.chat(request),
      onTaskFailure: (error) => this.failures.push(error),
      onNote: (note) => this.notes.push(note),
    });
    this.players.push(player);
    return player;
  }

  /** The settings of a command; a text is the source of a Python program. */
  sourceOf(
    program: string | readonly string[],
    launch: Partial<ProgramSource['launch']> = {},
    tasks?: string[],
  ): ProgramSource {
    const command = typeof program === 'string' ? ['python3', this.file('agent.py', program)] : program;
    return {
      plays: 'program',
      trust: 'owner',
      name: 'agent.yaml',
      agent: 'desk',
      ...(tasks && { tasks }),
      firstSeed: 0,
      launch: {
        command,
        agentFolder: this.folder,
        folders: [],
        secrets: [],
        variables: { PYTHONDONTWRITEBYTECODE: '1' },
        score: null,
        memoryPerEpisode: 16,
        seconds: { episode: 600, score: 600 },
        ...launch,
      },
    };
  }

  play(player: ProgramPlayer, plan = planOf(1)): Promise<Trajectory> {
    return player.play(plan, `${plan.seed}-${plan.trial}-${this.runs++}`);
  }

  /** A file in the agent's folder. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  }

  async stop(): Promise<void> {
    delete process.env['WHET_UNJAILED_ENVIRONMENTS'];
    this.abort.abort();
    for (const player of this.players) await player.close();
    await this.server.stop();
    await this.client.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
