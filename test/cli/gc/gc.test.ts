// unit: random stores: what is reachable stays, what is not and is old goes, also when the removal is killed anywhere.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { documentReader, readAgents, readRegistries } from '../../../cli/gc/facts';
import { type GcInput, type GcPolicy, planGc } from '../../../cli/gc/plan';
import { pruneRegistries, sweep } from '../../../cli/gc/sweep';
import { readUnits } from '../../../cli/gc/units';
import type { Registry } from '../../../contracts/artifacts/registry';
import { LocalStore } from '../../../store';
import { writeDocument } from '../../helpers/stored-document';

const DAY_MS = 86_400_000;
const now = Date.now();
const policy: GcPolicy = { olderThanMs: 30 * DAY_MS, keepVersions: 2, keepRuns: 2 };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** The same numbers for the same seed. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface FakeRun {
  id: string;
  agent: string;
  days: number;
  open: boolean;
  unknown: boolean;
  hasReport: boolean;
  adapter: string;
  segment: string;
}

/** A store with runs, versions, studies, labels and leftovers, and what must stay of it by rules of its own. */
class Population {
  readonly folder = mkdtempSync(join(tmpdir(), 'whet-gc-'));
  readonly runs: FakeRun[] = [];
  readonly registries: Registry[] = [];
  /** Study id, its source run and its age in days. */
  readonly studies: { id: string; source: string; days: number }[] = [];

  constructor(seed: number) {
    const random = randomNumbers(seed);
    for (const agent of ['desk', 'parcels']) this.addAgent(agent, random);
    this.write('redaction-secret.json', '{}', 900);
    this.write('rates/x.json', '{}', 900);
    this.write('unknown-folder/a/b.txt', 'mine', 900);
  }

  write(key: string, text: string, days: number): void {
    const path = join(this.folder, key);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    const then = new Date(now - days * DAY_MS);
    utimesSync(path, then, then);
  }

  writeRegistry(agent: string, text: string, written?: string): void {
    const then = new Date(now - 100 * DAY_MS);
    for (const file of writeDocument(join(this.folder, 'registry', `${agent}.json`), text, written))
      utimesSync(file, then, then);
  }

  private addAgent(agent: string, random: (below: number) => number): void {
    const count = 4 + random(6);
    for (let i = 0; i < count; i++) {
      const run: FakeRun = {
        id: `run-${agent}-2026${String(1000 + i)}-000000-00${i}0`.slice(0, 40),
        agent,
        days: [0.1, 3, 20, 45, 90, 200][random(6)]!,
        open: random(5) === 0,
        unknown: random(5) === 0,
        hasReport: random(3) > 0,
        // Runs of one seed make the same adapter.
        adapter: sha256(`${agent}${random(6)}`),
        segment: `labels-cache/${agent}/0123456789ab/sets/${sha256(`${agent} chunk ${random(4)}`).slice(0, 16)}.r0/run-old-${random(3)}.jsonl`,
      };
      this.runs.push(run);
      const { id, days, hasReport, adapter, segment } = run;
      this.write(`runs/${id}/spec-0123456789ab.json`, JSON.stringify({ name: agent }), days);
      this.write(`runs/${id}/training/x/manifest.json`, JSON.stringify({ adapterSha256: adapter }), days);
      this.write(`runs/${id}/training/x/checkpoints/iteration-0001/weights`, 'w', days);
      this.write(`runs/${id}/labels/plan-0-0123456789ab.json`, JSON.stringify([{ set: segment.split('/')[4] }]), days);
      if (hasReport) this.write(`runs/${id}/report/report.json`, '{}', days);
      this.write(`adapters/${agent}/x-${adapter.slice(0, 12)}/adapter_model.safetensors`, 'w', 200);
      this.write(segment, '{}\n', 200);
      this.write(`runs/${id}/a.json.0123456789ab.tmp`, 'half', Math.max(days, 2));
    }
    const own = this.runs.filter((run) => run.agent === agent);
    const versions = own
      .filter((_, i) => i % 2 === 0)
      .map((run, i) => ({
        version: i + 1,
        runId: run.id,
        createdAt: new Date(now - run.days * DAY_MS).toISOString(),
        replaced: null,
        baseModelSha256: '0',
        adapters: [
          {
            name: `x@${run.adapter.slice(0, 12)}`,
            capabilityId: 'x',
            summary: 'x',
            key: `adapters/${agent}/x-${run.adapter.slice(0, 12)}`,
            sha256: run.adapter,
          },
        ],
        routedMinusBase: { estimate: 0.1, low: 0, high: 0.2 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      })) as unknown as Registry['versions'];
    const registry = { agent, active: versions[random(versions.length)]!.version, versions } as Registry;
    this.registries.push(registry);
    this.writeRegistry(agent, JSON.stringify(registry));
    const source = own[random(own.length)]!.id;
    const days = [2, 100][random(2)]!;
    const id = `study-${agent}-20260101-000000-0001`;
    this.studies.push({ id, source, days });
    this.write(`studies/${id}/study.json`, JSON.stringify({ sourceRun: source }), days);
    this.write(`runs/${id}.0/capabilities/identification-0123456789ab.json`, '{}', days);
    this.write(`traces/${agent}/2026-01-01/live-0123456789ab.jsonl`, '{}\n', 200);
    this.write(`canary/${agent}/0123456789ab/gateway.jsonl`, '{}\n', 200);
  }

  /** Versions that are served, or to which one may roll back. */
  neededVersions({ versions, active }: Registry): Set<number> {
    const lower = versions.map(({ version }) => version).filter((v) => v < (active ?? Infinity));
    return new Set([active!, ...lower.sort((a, b) => b - a).slice(0, policy.keepVersions)]);
  }

  /** Runs that must stay. */
  neededRuns(): Set<string> {
    const needed = new Set<string>();
    for (const registry of this.registries) {
      const numbers = this.neededVersions(registry);
      for (const { version, runId } of registry.versions) if (numbers.has(version)) needed.add(runId);
      const newest = this.runs.filter(({ agent }) => agent === registry.agent).sort((a, b) => a.days - b.days);
      const least = newest[policy.keepRuns - 1]?.days ?? 0;
      // Runs of the same age: either may be one of the newest.
      newest.filter(({ days }) => days < least).forEach(({ id }) => needed.add(id));
    }
    for (const { id, days, open } of this.runs) if (open || days < 30) needed.add(id);
    for (const { source, days } of this.studies) if (days < 30) needed.add(source);
    return needed;
  }

  /** Files that must stay. */
  needed(): string[] {
    const runs = this.neededRuns();
    const kept = this.runs.filter(({ id }) => runs.has(id));
    const versions = this.registries.flatMap((registry) =>
      registry.versions.filter(({ version }) => this.neededVersions(registry).has(version)),
    );
    return [
      'redaction-secret.json',
      'rates/x.json',
      'unknown-folder/a/b.txt',
      ...kept.flatMap(({ id, hasReport, segment, open }) => [
        `runs/${id}/spec-0123456789ab.json`,
        `runs/${id}/training/x/manifest.json`,
        segment,
        ...(hasReport ? [`runs/${id}/report/report.json`] : []),
        ...(open ? [`runs/${id}/training/x/checkpoints/iteration-0001/weights`] : []),
      ]),
      ...kept.map(({ agent, adapter }) => `adapters/${agent}/x-${adapter.slice(0, 12)}/adapter_model.safetensors`),
      ...versions.flatMap(({ adapters }) => adapters.map(({ key }) => `${key}/adapter_model.safetensors`)),
      ...this.studies.filter(({ days }) => days < 30).map(({ id }) => `studies/${id}/study.json`),
    ];
  }

  missing(): string[] {
    return this.needed().filter((key) => !existsSync(join(this.folder, key)));
  }

  /** Sets the times of folders to those of what is in them: writing files changed them. */
  ageFolders(folder = this.folder): void {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) this.ageFolders(join(folder, entry.name));
    if (folder !== this.folder) utimesSync(folder, new Date(now - 300 * DAY_MS), new Date(now - 300 * DAY_MS));
  }

  async collect(store = new LocalStore(this.folder)) {
    const units = await readUnits(store.listAll(''));
    const facts = {
      open: new Set(this.runs.filter(({ open }) => open).map(({ id }) => id)),
      unknown: new Set(this.runs.filter(({ unknown, open }) => unknown && !open).map(({ id }) => id)),
    };
    const agents = await readAgents(store, units);
    const read = documentReader(store);
    const input: GcInput = { units, registries: await readRegistries(store), facts, policy, now, agents, read };
    const plan = await planGc(input);
    await pruneRegistries(store, plan, input);
    const rest = await planGc({ ...input, registries: await readRegistries(store) });
    const questions = { isOpen: async () => false, hasNewRun: async () => false, onRemoved: () => undefined };
    return { plan: rest, swept: await sweep(store, rest, now, questions) };
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const SEEDS = Array.from({ length: 16 }, (_, seed) => seed);

test('whatever is reachable stays, and a second collection finds nothing', async () => {
  let removed = 0;
  for (const seed of SEEDS) {
    const population = new Population(seed);
    expect(population.missing()).toEqual([]);
    population.ageFolders();
    const { swept } = await population.collect();
    removed += swept.removed.length;
    expect([seed, population.missing()]).toEqual([seed, []]);
    expect([seed, swept.left.map(({ key }) => key)]).toEqual([seed, []]);
    population.ageFolders();
    const again = await population.collect();
    expect([seed, again.plan.goes.map(({ key }) => key)]).toEqual([seed, []]);
    population.dispose();
  }
  expect(removed).toBeGreaterThan(SEEDS.length * 5);
});

test('everything that is old and not reachable goes', async () => {
  for (const seed of SEEDS) {
    const population = new Population(seed);
    population.ageFolders();
    await population.collect();
    const needed = population.neededRuns();
    const registries = await readRegistries(new LocalStore(population.folder));
    const versionRuns = new Set(registries.flatMap(({ versions }) => versions.map(({ runId }) => runId)));
    const newest = (agent: string) =>
      population.runs
        .filter((run) => run.agent === agent)
        .sort((a, b) => a.days - b.days)
        .map(({ days }) => days)[policy.keepRuns - 1]!;
    for (const { id, days, agent, unknown, hasReport } of population.runs) {
      const mayStay = needed.has(id) || versionRuns.has(id) || days <= newest(agent) || (unknown && !hasReport);
      if (!mayStay) expect([seed, id, existsSync(join(population.folder, 'runs', id))]).toEqual([seed, id, false]);
      expect(existsSync(join(population.folder, 'runs', id, 'a.json.0123456789ab.tmp'))).toBe(false);
    }
    population.dispose();
  }
});

test('the lock of a trainer stays with its training, whatever its age', async () => {
  const population = new Population(1);
  const { id } = population.runs.find(({ open }) => open)!;
  const lock = `runs/${id}/training/x/trainer.lock`;
  population.write(lock, '', 100);
  population.ageFolders();
  const { plan } = await population.collect();
  const temporary = plan.goes.filter(({ kind }) => kind === 'temporary file').map(({ key }) => key);
  expect(temporary.filter((key) => key.includes('.lock'))).toEqual([]);
  expect(existsSync(join(population.folder, lock))).toBe(true);
  population.dispose();
});

test('a collection that is killed at any point leaves everything that is reachable', async () => {
  for (const seed of SEEDS.slice(0, 8)) {
    const population = new Population(seed);
    population.ageFolders();
    for (let survived = 0; ; survived++) {
      let removals = 0;
      class Killed extends LocalStore {
        override async remove(key: string, unmodifiedSinceMs: number): Promise<boolean> {
          // Once before a removal, once after it.
          if (removals++ === survived % 7) {
            if (survived % 2 === 0) await super.remove(key, unmodifiedSinceMs);
            throw new Error('killed');
          }
          return super.remove(key, unmodifiedSinceMs);
        }
      }
      const ended = await population.collect(new Killed(population.folder)).then(
        () => true,
        () => false,
      );
      expect([seed, population.missing()]).toEqual([seed, []]);
      population.ageFolders();
      if (ended || survived > 60) break;
    }
    await population.collect();
    expect([seed, population.missing()]).toEqual([seed, []]);
    population.dispose();
  }
});

test('two collections at once remove each thing once', async () => {
  const population = new Population(3);
  population.ageFolders();
  const [first, second] = await Promise.all([population.collect(), population.collect()]);
  const keys = [...first.swept.removed, ...second.swept.removed].map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(population.missing()).toEqual([]);
  population.dispose();
});

test('odd names, links and ids that point elsewhere lead nowhere', async () => {
  const population = new Population(5);
  const outside = mkdtempSync(join(tmpdir(), 'whet-outside-'));
  writeFileSync(join(outside, 'mine'), 'mine');
  symlinkSync(outside, join(population.folder, 'runs', 'run-desk-link'));
  population.write('runs/odd name\n"☃"/report/report.json', '{}', 200);
  population.write('runs/run-evil-20260101-000000-0000/report/report.json', '{"key": "runs/../../x/"}', 200);
  population.write('runs/a-file-beside-the-runs', 'x', 200);
  // A registry whose run id points out of the store, and that names another agent's adapter.
  const [desk] = population.registries;
  const [version] = desk!.versions;
  const other = population.runs.find(({ agent }) => agent === 'parcels')!;
  const evil = {
    ...desk,
    versions: [
      { ...version, runId: '../..', adapters: [{ ...version!.adapters[0], key: '../../etc', sha256: other.adapter }] },
    ],
    active: version!.version,
  };
  population.writeRegistry('desk', JSON.stringify(evil));
  population.ageFolders();
  await population.collect();
  expect(readdirSync(outside)).toEqual(['mine']);
  expect(existsSync(join(population.folder, 'runs', 'run-desk-link'))).toBe(true);
  expect(existsSync(join(population.folder, 'runs', 'a-file-beside-the-runs'))).toBe(true);
  expect(existsSync(join(population.folder, `adapters/parcels/x-${other.adapter.slice(0, 12)}`))).toBe(true);
  population.dispose();
});

test('refuses while a registry cannot be read', async () => {
  const population = new Population(7);
  population.writeRegistry('desk', '{"agent": "desk", "ver', 'whole');
  population.ageFolders();
  await expect(population.collect()).rejects.toMatchObject({ type: 'Gc.RegistryUnreadable' });
  expect(existsSync(join(population.folder, 'runs', population.runs[0]!.id))).toBe(true);
  population.dispose();
});

test('a document that became a pipe is not waited for', async () => {
  const population = new Population(8);
  execFileSync('mkfifo', [join(population.folder, 'runs', population.runs[0]!.id, 'pipe.json')]);
  expect(await documentReader(new LocalStore(population.folder))(`runs/${population.runs[0]!.id}/pipe.json`)).toBe('');
  population.dispose();
});

test('a document that cannot be read ends a collection, which must not guess what it needs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-gc-'));
  const read = documentReader(new LocalStore(folder));
  execFileSync('mkfifo', [join(folder, 'pipe.json')]);
  expect([await read('none.json'), await read('pipe.json')]).toEqual(['', '']);
  symlinkSync('loop.json', join(folder, 'loop.json'));
  await expect(read('loop.json')).rejects.toMatchObject({
    type: 'Gc.DocumentUnreadable',
    message: expect.stringMatching(/loop\.json cannot be read \(.*\).*No file was removed\.$/) as string,
  });
  rmSync(folder, { recursive: true });
});
