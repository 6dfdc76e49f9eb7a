import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import { pruneVersions } from '../../store';
import { isRun, type Unit } from './units';

const DAY_MS = 86_400_000;
/** Nothing younger is ever removed, because a run that begins now may refer to data that was unused a moment ago. */
export const MIN_AGE_MS = DAY_MS;

/** Smallest age of a removed part, and the numbers of parts that are always kept. */
export interface GcPolicy {
  olderThanMs: number;
  /**
   * For each agent, this many versions below the active one are kept for `whet rollback`, and also this many of the
   * newest.
   */
  keepVersions: number;
  /** Number of newest runs of each agent that are kept. */
  keepRuns: number;
}

/** What Temporal says. */
export interface RunFacts {
  /** Ids of runs and studies that have not ended. */
  open: ReadonlySet<string>;
  /** Ids of runs and studies that Temporal does not know. */
  unknown: ReadonlySet<string>;
}

/** All inputs of the decisions. */
export interface GcInput {
  units: readonly Unit[];
  registries: readonly Registry[];
  facts: RunFacts;
  policy: GcPolicy;
  /** Milliseconds since 1970. */
  now: number;
  /** Agent of each run, if known. */
  agents: ReadonlyMap<string, string>;
  /** Reads a small document of the store as text; empty if it does not exist. Rejects if it cannot be read. */
  read: (key: string) => Promise<string>;
}

/** The parts to remove, and the parts to keep with the reason. */
export interface GcPlan {
  versions: { agent: string; versions: RegistryVersion[] }[];
  goes: Unit[];
  stays: { unit: Unit; why: string }[];
}

/** Decides about every unit. If anything is unknown, the unit stays. */
export async function planGc(input: GcInput): Promise<GcPlan> {
  const { units, registries, policy, now } = input;
  const pruned = registries.map((registry) => pruneVersions(registry, versionKeeper(registry, input)));
  const served = pruned.flatMap(({ registry }) => registry.versions);
  const keptRuns = await keepRunsAndStudies(input, served);
  const mentions = await readMentions(input, keptRuns);
  const plan: GcPlan = {
    versions: registries.flatMap((registry, i) => {
      const removed = new Set(pruned[i]?.result);
      const versions = registry.versions.filter(({ version }) => removed.has(version));
      return versions.length === 0 ? [] : [{ agent: registry.agent, versions }];
    }),
    goes: [],
    stays: [],
  };
  const isOpenAgent = openAgents(input);
  for (const unit of units) {
    const age = now - unit.newestMs;
    const why =
      age < MIN_AGE_MS
        ? 'younger than a day'
        : reasonToStay(unit, age >= policy.olderThanMs, { input, keptRuns, mentions, served, isOpenAgent });
    if (why === null) plan.goes.push(unit);
    else plan.stays.push({ unit, why });
  }
  // A part that is removed with its run is not counted twice.
  const goingRuns = plan.goes.filter(isRun).map(({ key }) => `${key}/`);
  plan.goes = plan.goes.filter(({ key }) => !goingRuns.some((run) => key.startsWith(run)));
  plan.stays = plan.stays.filter(({ unit }) => !goingRuns.some((run) => unit.key.startsWith(run)));
  return plan;
}

/** Which versions of a registry stay. */
export function versionKeeper(
  { active, versions, canary, lastCanary }: Registry,
  { policy, now, facts }: Pick<GcInput, 'policy' | 'now' | 'facts'>,
): (version: RegistryVersion) => boolean {
  const numbers = versions.map(({ version }) => version).sort((a, b) => b - a);
  const below = numbers.filter((number) => active === null || number < active).slice(0, policy.keepVersions);
  const kept = new Set([...numbers.slice(0, policy.keepVersions), ...below, canary?.version, lastCanary?.version]);
  return ({ version, runId, createdAt }) => {
    const age = now - Date.parse(createdAt);
    // A date that cannot be read counts as new.
    return kept.has(version) || facts.open.has(runId) || !(age >= Math.max(policy.olderThanMs, MIN_AGE_MS));
  };
}

/** Ids of the runs and studies that stay, each with the reason. */
async function keepRunsAndStudies(input: GcInput, served: readonly RegistryVersion[]): Promise<Map<string, string>> {
  const { units, facts, policy, now, agents } = input;
  const kept = new Map<string, string>();
  const owners = units.filter(isRun);
  const versionRuns = new Set(served.map(({ runId }) => runId));
  const perAgent = new Map<string, number>();
  for (const unit of [...owners].sort((a, b) => b.newestMs - a.newestMs)) {
    const id = idOf(unit);
    const owner = ownerOf(id);
    const agent = agents.get(id) ?? '';
    const rank = (perAgent.get(agent) ?? 0) + 1;
    if (unit.kind === 'run' && id === owner) perAgent.set(agent, rank);
    const hasReport = unit.files.some((file) => /\/(report\/report|study)\.json$/.test(file));
    const why = facts.open.has(owner)
      ? 'has not ended'
      : versionRuns.has(id)
        ? 'a version of the registry came from it'
        : unit.kind === 'run' && id === owner && rank <= policy.keepRuns
          ? `one of the last ${policy.keepRuns} of its agent`
          : now - unit.newestMs < Math.max(policy.olderThanMs, MIN_AGE_MS)
            ? 'not old enough'
            : facts.unknown.has(owner) && !hasReport && id === owner
              ? 'has no report, and Temporal does not know it'
              : null;
    if (why !== null) kept.set(id, why);
  }
  await keepMentioned(input, kept, owners);
  return kept;
}

/** Adds runs that a kept run or study names, such as the run whose trajectories a study uses, and so on. */
async function keepMentioned(input: GcInput, kept: Map<string, string>, owners: readonly Unit[]): Promise<void> {
  const waiting = [...kept.keys()];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const unit of owners.filter((one) => idOf(one) === id))
      for (const key of documentsOf(unit)) {
        const text = await input.read(key);
        for (const [, named] of text.matchAll(/"(?:runs|studies)\/([^"/]+)\//g)) add(named as string, id);
        for (const [, named] of text.matchAll(/"sourceRun": ?"([^"]+)"/g)) add(named as string, id);
      }
    // The identifications of a study have their own folders.
    for (const unit of owners) if (ownerOf(idOf(unit)) === id) add(idOf(unit), id);
  }
  function add(named: string, by: string): void {
    if (kept.has(named)) return;
    kept.set(named, `${by} refers to it`);
    waiting.push(named);
  }
}

/** The names in the documents of the kept runs: hashes by their first digits, and folders of the label cache. */
interface Mentions {
  hashes: Set<string>;
  labelSets: Set<string>;
}

async function readMentions(input: GcInput, kept: ReadonlyMap<string, string>): Promise<Mentions> {
  const mentions: Mentions = { hashes: new Set(), labelSets: new Set() };
  for (const unit of input.units.filter((one) => isRun(one) && kept.has(idOf(one))))
    for (const key of documentsOf(unit)) {
      const text = await input.read(key);
      for (const [hash] of text.matchAll(/(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{12})(?![0-9a-f])/g))
        mentions.hashes.add(hash.slice(0, 12));
      for (const [, set = ''] of text.matchAll(/"set": ?"([0-9a-f]{16}\.r\d+)"/g)) mentions.labelSets.add(set);
    }
  return mentions;
}

/** The small documents of a run. Trajectories and labels are in line-delimited files, which name nothing. */
const documentsOf = ({ files }: Unit): string[] => files.filter((file) => file.endsWith('.json'));

interface Grounds {
  input: GcInput;
  keptRuns: ReadonlyMap<string, string>;
  mentions: Mentions;
  served: readonly RegistryVersion[];
  isOpenAgent: (agent: string | null) => boolean;
}

/** Why a unit of at least a day stays; null if it is removed. */
function reasonToStay(unit: Unit, isOld: boolean, grounds: Grounds): string | null {
  const { keptRuns, input } = grounds;
  switch (unit.kind) {
    case 'temporary file':
    case 'leftover of a removal':
      return null;
    case 'run':
    case 'study':
      return keptRuns.get(idOf(unit)) ?? null;
    case 'checkpoints':
      return reasonToKeepCheckpoints(unit, input);
    case 'live traces':
      return isOld && !grounds.isOpenAgent(unit.agent) ? null : 'runs may read it';
    case 'canary outcomes':
      return reasonToKeepCanary(unit, isOld, input);
    case 'adapter':
      return isOld ? reasonToKeepAdapter(unit, grounds) : 'not old enough';
    case 'label segment':
      return isOld ? reasonToKeepLabels(unit, grounds) : 'not old enough';
  }
}

/** Checkpoints serve nobody once the training has its manifest and its run has ended. */
function reasonToKeepCheckpoints({ key }: Unit, { units, facts }: GcInput): string | null {
  const [, runId = ''] = key.split('/');
  if (facts.open.has(ownerOf(runId))) return 'its run has not ended';
  const run = units.find((unit) => unit.kind === 'run' && unit.key === `runs/${runId}`);
  const manifest = `${key.replace(/\/checkpoints$/, '')}/manifest.json`;
  return run?.files.includes(manifest) ? null : 'the training has no manifest';
}

function reasonToKeepCanary({ key, agent }: Unit, isOld: boolean, { registries }: GcInput): string | null {
  const registry = registries.find((one) => one.agent === agent);
  const id = key.split('/').at(-1);
  if (registry?.canary?.id === id || registry?.lastCanary?.id === id) return 'the canary, or the last one';
  return isOld ? null : 'not old enough';
}

function reasonToKeepAdapter({ key }: Unit, { served, mentions }: Grounds): string | null {
  if (served.some(({ adapters }) => adapters.some((adapter) => adapter.key === key))) return 'a version has it';
  const suffix = /-([0-9a-f]{12})$/.exec(key)?.[1];
  if (suffix === undefined) return 'its name has no hash';
  const names = served.flatMap(({ adapters }) => adapters.map(({ sha256 }) => sha256.slice(0, 12)));
  return mentions.hashes.has(suffix) || names.includes(suffix) ? 'a run that stays refers to it' : null;
}

/**
 * Labels cost money. So a segment is removed only if no kept run wrote it or planned with it, and no run of the agent
 * is open.
 */
function reasonToKeepLabels({ key, agent }: Unit, { keptRuns, mentions, isOpenAgent }: Grounds): string | null {
  const [, set = '', runId = ''] = /\/sets\/([^/]+)\/([^/]+)\.jsonl$/.exec(key) ?? [];
  if (keptRuns.has(runId)) return 'its run stays';
  if (isOpenAgent(agent)) return 'a run of its agent has not ended';
  return mentions.labelSets.has(set) ? 'a run that stays refers to it' : null;
}

/** Whether a run of the agent has not ended. A run with an unknown agent counts for every agent. */
function openAgents({ facts, agents }: GcInput): (agent: string | null) => boolean {
  const open = [...facts.open].map((id) => agents.get(id) ?? null);
  return (agent) => open.includes(agent) || open.includes(null);
}

/** The id of a run or study, from the key of its folder. */
export const idOf = ({ key }: Pick<Unit, 'key'>): string => key.split('/')[1] as string;

/** The run or study that a folder belongs to: an identification of a study is named `<study>.<number>`. */
export const ownerOf = (id: string): string => (id.startsWith('study-') ? id.replace(/\.\d+$/, '') : id);
