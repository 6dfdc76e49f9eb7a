import type { JudgedNight } from '../nights';
import { EVENTS, eventOf } from './world';

const DAYS_OF_A_MONTH = 365 / 12;
const HEAD = [
  'nights',
  'measured',
  'ended',
  'went on',
  'drifting',
  'compared',
  'promoted',
  'wrong',
  'missed',
  'blocked',
];
const SPENT = ['rollouts', 'labels', 'environments', 'trainings', 'minutes'];

/** Decisions and spend, by month and by event, with the nights that an event left blocked. */
export function decisionTable(nights: readonly JudgedNight[]): string {
  const month = ({ day }: JudgedNight) => `month ${Math.floor((day - 1) / DAYS_OF_A_MONTH) + 1}`;
  const groups = [...groupsBy(nights, month), ...groupsBy(nights, ({ day }) => eventOf(day))];
  const rows = groups.map(([name, group]) => [name, ...figures(group)]);
  const lines = [['', ...HEAD, ...SPENT], ...rows, ['all', ...figures(nights)]];
  const width = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const events = EVENTS.map(({ day, name, what }) => `${name}, from day ${day}: ${what}`);
  return [
    ...lines.map((line) =>
      line.map((cell, i) => (i === 0 ? cell.padEnd(width[i]!) : cell.padStart(width[i]!))).join('  '),
    ),
    '',
    ...events,
    ...groupsBy(nights.filter(isBlocked), ({ day }) => eventOf(day)).map(([name, group]) => blockedLine(name, group)),
  ].join('\n');
}

/** It ended although something larger is lacking, because an earlier night had worked on it with the same content. */
const isBlocked = ({ decision, blocked }: JudgedNight): boolean =>
  decision?.outcome !== 'goes-on' && blocked.length > 0;

/** The blocked nights of one event: what they left alone, and when. */
function blockedLine(event: string, nights: readonly JudgedNight[]): string {
  const skills = [...new Set(nights.flatMap(({ blocked }) => blocked))];
  const days = nights.map(({ day }) => day);
  const since = `${nights.length} nights from day ${Math.min(...days)} to ${Math.max(...days)}`;
  return `blocked in ${event}: ${since}, worked on before: ${skills.join(', ')}`;
}

function groupsBy(nights: readonly JudgedNight[], name: (night: JudgedNight) => string): [string, JudgedNight[]][] {
  const groups = new Map<string, JudgedNight[]>();
  for (const night of nights) groups.set(name(night), [...(groups.get(name(night)) ?? []), night]);
  return [...groups];
}

function figures(nights: readonly JudgedNight[]): string[] {
  const count = (of: (night: JudgedNight) => boolean) => nights.filter(of).length;
  const sum = (of: (night: JudgedNight) => number) => nights.reduce((total, night) => total + of(night), 0);
  return [
    nights.length,
    count(({ decision }) => decision !== null),
    count(({ decision }) => decision !== null && decision.outcome !== 'goes-on'),
    count(({ decision }) => decision === null || decision.outcome === 'goes-on'),
    count(({ decision }) => decision?.capabilities.some(({ state }) => state === 'drifting') === true),
    count(({ compared }) => compared !== null),
    count(({ promotedVersion }) => promotedVersion !== null),
    count(({ wrong }) => wrong.length > 0),
    count(({ wrong }) => wrong.includes('missed')),
    count(isBlocked),
    sum(({ spend }) => spend.rollouts),
    sum(({ spend }) => spend.labels),
    sum(({ spend }) => spend.environments),
    sum(({ spend }) => spend.trainings),
    Math.round(sum(({ seconds }) => seconds) / 6) / 10,
  ].map(String);
}

/** A line for a night that did more than to find nothing; null for others. */
export function nightLine(night: JudgedNight): string | null {
  const { day, verdict, decision, compared, wrong, blocked, promotedVersion, seconds } = night;
  if (decision?.outcome === 'nothing-new' && wrong.length === 0 && blocked.length === 0) return null;
  const reasons = decision?.reasons.map(({ kind, capabilityId }) => `${kind} ${capabilityId ?? 'version'}`) ?? [];
  const truth = compared && `${points(compared.candidate)} against ${points(compared.rival)} in truth`;
  const judged = compared?.evaluation.judged;
  return [
    `day ${day}, ${verdict}`,
    ...reasons,
    ...(truth ? [truth] : []),
    ...(judged ? [`comparison ${judged.comparison}`] : []),
    ...(promotedVersion === null ? [] : [`version ${promotedVersion}`]),
    ...(blocked.length > 0 ? [`worked on before: ${blocked.join(', ')}`] : []),
    ...(wrong.length > 0 ? [`WRONG: ${wrong.join(', ')}`] : []),
    `${seconds.toFixed(1)} s`,
  ].join('; ');
}

const points = (share: number): string => `${(share * 100).toFixed(1)} %`;
