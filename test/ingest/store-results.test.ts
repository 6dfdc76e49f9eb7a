// tier: integration
import type { Outcome } from '../../contracts/artifacts/conversation';
import { Known } from '../../ingest/store-results';
import { layout, putLines } from '../../store';
import { temporaryStore } from '../store/temporary-store';

const { store } = temporaryStore();
const DAY = (day: number) => `2026-11-0${day}T00:00:00.000Z`;
const outcome = (day: number, reward: number, from: Outcome['from'] = 'file'): Outcome => ({
  ...{ conversation: 'c', reward, success: reward === 1, from, at: DAY(day) },
});
let agents = 0;
/** What is known of a store that holds these outcomes, in this order. */
async function knowing(...outcomes: Outcome[]): Promise<Known> {
  const agent = `agent-${++agents}`;
  await putLines(store, layout.ingestedOutcomes(agent), 'outcomes.jsonl', outcomes);
  return Known.read(store, agent);
}

it('knows an outcome that is outranked, and a trace that says again what it said before', async () => {
  const owners = await knowing(outcome(1, 1), outcome(2, 0, 'rule'));
  expect(owners.addOutcome(outcome(3, 0, 'rule'))).toBe(true);
  expect(owners.addOutcome(outcome(3, 0, 'trace'))).toBe(true);
  expect(owners.addOutcome(outcome(3, 0))).toBe(false);
  for (const order of [
    [outcome(1, 1, 'trace'), outcome(2, 0, 'trace')],
    [outcome(2, 0, 'trace'), outcome(1, 1, 'trace')],
  ]) {
    const known = await knowing(...order);
    expect(known.addOutcome(outcome(3, 1, 'trace'))).toBe(true);
    expect(known.addOutcome(outcome(3, 0.2, 'trace'))).toBe(false);
  }
});

it('adds an outcome that changed back, and what follows it, in any order of files', async () => {
  const [yes, no, again] = [outcome(1, 1), outcome(2, 0), outcome(3, 1)];
  for (const order of [
    [yes, again, no],
    [no, yes, again],
  ]) {
    const known = await knowing(...order);
    expect(known.addOutcome(outcome(4, 1))).toBe(true);
    expect(known.addOutcome(outcome(5, 0))).toBe(false);
  }
  expect((await knowing(yes, again, no)).addOutcome(outcome(4, 0))).toBe(false);
});
