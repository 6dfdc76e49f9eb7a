import { bytesText } from '../../contracts/bytes-text';
import { LocalStore } from '../../store';
import type { Context } from '../context';
import { openRuns, documentReader, readAgents, readFacts, readRegistries, stateOfRun } from '../gc/facts';
import { type GcInput, type GcPlan, type GcPolicy, planGc } from '../gc/plan';
import { pruneRegistries, sweep, type Swept } from '../gc/sweep';
import { readUnits, type Unit, UNIT_KINDS } from '../gc/units';
import { duration, table } from '../output';
import { withTemporal } from '../temporal';

const DAY_MS = 86_400_000;

/** Flags of `whet gc`. */
export interface GcFlags extends Omit<GcPolicy, 'olderThanMs'> {
  /** Milliseconds. */
  olderThan: number;
  dryRun?: boolean;
}

/**
 * `whet gc [--dry-run] [--older-than 30d] [--keep-versions N] [--keep-runs N]`: removes old and unused data from the
 * store. Refuses if Temporal cannot be asked for the open runs.
 */
export async function gcCommand({ settings, out }: Context, { dryRun, olderThan, ...kept }: GcFlags): Promise<void> {
  const policy: GcPolicy = { ...kept, olderThanMs: olderThan };
  const store = new LocalStore(settings.storeRoot);
  await withTemporal(settings, async ({ client }) => {
    const now = Date.now();
    const units = await readUnits(store.listAll(''));
    const agents = await readAgents(store, units);
    const facts = await readFacts(client, units, agents, (asked, of) =>
      out.redraw([`asked Temporal about ${asked} of ${of} runs`]),
    );
    const read = documentReader(store);
    const input: GcInput = { units, registries: await readRegistries(store), facts, policy, now, agents, read };
    const plan = await planGc(input);
    out.redraw([]);
    out.line(planText(plan, now));
    if (dryRun === true || (plan.goes.length === 0 && plan.versions.length === 0)) {
      out.result(
        { removed: false, ...planDocument(plan) },
        dryRun === true ? 'Nothing was changed: --dry-run.' : 'There is nothing to remove.',
      );
      return;
    }
    await pruneRegistries(store, plan, input);
    // A version may have been activated meanwhile, so the rest is decided with the current registries.
    const rest = await planGc({ ...input, registries: await readRegistries(store) });
    const swept = await sweep(store, rest, now, {
      isOpen: async (id) => (await stateOfRun(client, id)) === 'open',
      hasNewRun: async () => [...(await openRuns(client)).keys()].some((id) => !facts.open.has(id)),
      onRemoved: (removed, of) => out.redraw([`removed ${removed} of ${of}`]),
    });
    out.redraw([]);
    out.result(
      { removed: true, ...planDocument(plan), left: swept.left.map(({ key }) => key) },
      sweptText(swept, plan),
    );
  });
}

const sum = (units: readonly Unit[]): number => units.reduce((total, { bytes }) => total + bytes, 0);
const oldest = (units: readonly Unit[]): number => Math.min(...units.map(({ newestMs }) => newestMs));
const ageText = (ms: number): string => (ms >= DAY_MS ? `${Math.floor(ms / DAY_MS)} days` : duration(ms / 1000));

function planText(plan: GcPlan, now: number): string {
  const goes = UNIT_KINDS.flatMap((kind) => {
    const units = plan.goes.filter((unit) => unit.kind === kind);
    return units.length === 0 ? [] : [[kind, `${units.length}`, bytesText(sum(units)), ageText(now - oldest(units))]];
  });
  const versions = plan.versions.map(({ agent, versions: all }) => [
    `version of ${agent}`,
    `${all.length}`,
    '',
    `${all.map(({ version }) => version).join(', ')}`,
  ]);
  const stays = new Map<string, Unit[]>();
  for (const { unit, why } of plan.stays) {
    // If the row named the referring run, every run would have its own row.
    const row = `${unit.kind}\t${why.endsWith('refers to it') ? 'a run that stays refers to it' : why}`;
    stays.set(row, [...(stays.get(row) ?? []), unit]);
  }
  const kept = [...stays].map(([row, units]) => {
    const [kind = '', why = ''] = row.split('\t');
    return [kind, `${units.length}`, bytesText(sum(units)), why];
  });
  return [
    ...(goes.length + versions.length === 0
      ? []
      : [table([['goes', 'count', 'size', 'oldest'], ...goes, ...versions], [1, 2]), '']),
    ...(kept.length === 0 ? [] : [table([['stays', 'count', 'size', 'why'], ...kept], [1, 2]), '']),
  ].join('\n');
}

const planDocument = (plan: GcPlan) => ({
  versions: plan.versions.map(({ agent, versions }) => ({ agent, versions: versions.map(({ version }) => version) })),
  goes: plan.goes.map(({ kind, key, bytes, newestMs }) => ({
    kind,
    key,
    bytes,
    modifiedAt: new Date(newestMs).toISOString(),
  })),
  stays: plan.stays.map(({ unit: { kind, key, bytes }, why }) => ({ kind, key, bytes, why })),
});

function sweptText({ removed, left }: Swept, { versions }: GcPlan): string {
  const pruned = versions.reduce((total, { versions: all }) => total + all.length, 0);
  const head = `removed ${removed.length} (${bytesText(sum(removed))})${pruned > 0 ? ` and ${pruned} versions` : ''}`;
  return left.length === 0
    ? head
    : `${head}; left ${left.length} that changed meanwhile, were removed by somebody else, or that a new run may use`;
}
