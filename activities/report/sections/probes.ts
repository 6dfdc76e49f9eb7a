import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { TrainedReport } from '../../../contracts/artifacts/report';
import type { ProbePairs, TrainingWatch } from '../../../contracts/artifacts/training';
import { pairedGain, sumOfPairs, watchClause } from '../../../contracts/artifacts/watch-words';
import { type Curve, curvesLegend, curvesPlot } from '../../charts/curves';
import { count, duration, percent, points } from '../../html/format';
import { markup, type Markup } from '../../html/markup';
import { figure } from '../figure';

interface Named {
  name: string;
  adapter: TrainedReport;
}

/** The probes of the trainings: a plot for each with both groups of tasks, and why one was stopped. */
export function probesPart(runId: string, trained: readonly Named[], sources: readonly ArtifactRef[]): Markup | null {
  const watched = trained.flatMap(({ name, adapter }) =>
    adapter.watch === undefined ? [] : [{ name, watch: adapter.watch, rollouts: adapter.rollouts }],
  );
  const unwatched = trained.flatMap(({ name, adapter: { unwatched: why } }) =>
    why === undefined ? [] : [{ name, why }],
  );
  const reasons =
    unwatched.length > 0 &&
    markup`<p>Trained without probes, or not with all of them:</p>
      <ul>${unwatched.map(({ name, why }) => markup`<li>${name}: ${why}</li>`)}</ul>`;
  if (watched.length === 0) return reasons || null;
  const [own, probes] = [watched.map((one) => one.rollouts), watched.map(({ watch }) => watch.rollouts)].map((all) =>
    all.reduce((sum, one) => sum + one, 0),
  ) as [number, number];
  const seconds = watched.reduce((sum, { watch }) => sum + watch.seconds, 0);
  const decisions = watched.flatMap(({ name, watch }) => {
    const clause = watchClause(watch);
    return clause === null ? [] : [`${name}: ${clause}.`];
  });
  const legend = curvesOf(watched[0]!.watch);
  return markup`${figure(runId, {
    id: 'probes',
    title: "Probes during training, on the agent's own train tasks",
    takeaway:
      "Pass rate of base, and from there the adapter's gain over base on the tasks of each probe. The other tasks " +
      'are mostly those that base had passed before. ' +
      `${count(probes)} rollouts in ${duration(seconds)}, ${percent(own === 0 ? 0 : probes / own, 0)} of those of the ` +
      `trainings, in which they are not counted. ${decisions.join(' ')}`.trimEnd(),
    body: markup`${curvesLegend(legend)}
      <div class="panels">${watched.map(({ name, watch }) => panel(name, watch))}</div>`,
    data: {
      head: ['Adapter', 'Iteration', 'Call for it: base', 'adapter', 'Others: base', 'adapter', 'lost', ''],
      rows: watched.flatMap(({ name, watch }) =>
        watch.probes.map(({ iteration, calledFor, others }) => [
          name,
          count(iteration),
          ...cells(calledFor),
          ...cells(others),
          count(others.lost),
          iteration === watch.kept ? 'kept' : '',
        ]),
      ),
    },
    sources,
  })}${reasons}`;
}

const cells = ({ rollouts, passed, basePassed }: ProbePairs): string[] =>
  rollouts === 0 ? ['–', '–'] : [basePassed, passed].map((passes) => `${count(passes)} of ${count(rollouts)}`);

const GROUPS = [
  { key: 'calledFor', name: 'tasks that call for it' },
  { key: 'others', name: 'other tasks' },
] as const;

/** Both groups from iteration 0 on. A probe's point is base's rate over all probes plus the probe's paired gain. */
function curvesOf({ probes }: TrainingWatch): Curve[] {
  return GROUPS.map(({ key, name }) => {
    const { rollouts, basePassed } = sumOfPairs(probes.map((probe) => probe[key]));
    const base = rollouts === 0 ? 0 : basePassed / rollouts;
    const at = (x: number, gain: number) => ({ x, y: Math.min(1, Math.max(0, base + gain)) });
    const played = probes.filter((probe) => probe[key].rollouts > 0);
    return { name, points: [at(0, 0), ...played.map((probe) => at(probe.iteration, pairedGain(probe[key])))] };
  });
}

function panel(name: string, watch: TrainingWatch): Markup {
  const last = watch.probes.at(-1)!;
  const description =
    `${name}, gain over base at the last probe, in points: tasks that call for it ` +
    `${points(pairedGain(last.calledFor))}, other tasks ${points(pairedGain(last.others))}.`;
  const look = { reach: 0, yTitle: 'pass rate' };
  return markup`<section class="panel">
    <h4>${name}</h4>
    ${curvesPlot(curvesOf(watch), 'narrow', description, look)}
  </section>`;
}
