import { LABEL_CODES } from '../../activities/identify/verdicts/label-codes';
import type { TrajectoryOutcomes } from '../../activities/identify/verdicts/task-sums';
import type { RandomSource } from '../../activities/statistics/random';
import { normalQuantile } from '../../contracts/statistics/normal';

/** A capability that decides episodes: how often it is called for, is lacking there, and then fails the episode. */
interface Cause {
  need: number;
  lack: number;
  fails: number;
}

/** A small made-up world. All numbers are probabilities. */
export interface World {
  name: string;
  causes: readonly Cause[];
  /** A task may have several needs. */
  severalNeeds: boolean;
  /** P(failure) without any lack. */
  otherwise: number;
  /** The decoy. With probability `follows` it is lacking exactly where any cause is, else by chance. */
  decoy: { need: number; follows: number };
  /** P(a label of a run is another one). */
  labelNoise: number;
  /** Need of a capability that no tool allows; 0: there is none. */
  missingTool: number;
}

const FOLLOWS = [0, 0.3, 0.5, 0.7, 0.9];
const RARE = [0.03, 0.05, 0.08, 0.12, 0.2];
const NOISE = [0, 0.05, 0.1, 0.15];

/** Twenty worlds. Every correlation of decoy and causes meets every label noise. */
export const WORLDS: readonly World[] = Array.from({ length: 20 }, (_, i) => {
  const follows = FOLLOWS[i % 5]!;
  const labelNoise = NOISE[i % 4]!;
  const rare = RARE[Math.floor(i / 4)]!;
  const severalNeeds = i % 2 === 0;
  return {
    name: `decoy ${follows}, noise ${labelNoise}, rarest need ${rare}, ${severalNeeds ? 'several needs' : 'one need'}`,
    causes: [
      { need: 0.4, lack: 0.7, fails: 0.95 },
      { need: 0.28, lack: 0.6, fails: 0.9 },
      { need: 0.17, lack: 0.8, fails: 0.98 },
      { need: rare, lack: 0.75, fails: 0.95 },
    ],
    severalNeeds,
    otherwise: [0.05, 0.1, 0.15][i % 3]!,
    decoy: { need: severalNeeds ? 1 : 0.6, follows },
    labelNoise,
    missingTool: i % 3 === 0 ? 0.07 : 0,
  };
});

/** Names of the candidates of a world, in the order of `DrawnWorld.labels`. */
export const candidateNames = (world: World): string[] => [
  ...world.causes.map((_, c) => `cause-${c}`),
  'decoy',
  'harmless',
  ...(world.missingTool > 0 ? ['missing-tool'] : []),
];

/** Labels and outcomes that were drawn from a world. */
export interface DrawnWorld {
  outcomes: TrajectoryOutcomes;
  /** True label codes, by candidate and trajectory. */
  truth: Uint8Array[];
  /** Label codes by candidate, labelling run and trajectory. */
  labels: Uint8Array[][];
}

/** Standard deviations of the carelessness of a task and of one of its trials. */
const TASK_SPREAD = 0.7;
/** Weight of the carelessness that all lacks of an episode share. */
const SHARED = 0.5;

/** Draws `tasks` tasks with `trials` trials each and `runs` labelling runs. */
export function drawWorld(
  world: World,
  { tasks, trials, runs }: { tasks: number; trials: number; runs: number },
  random: RandomSource,
): DrawnWorld {
  const candidates = candidateNames(world).length;
  const n = tasks * trials;
  const truth = Array.from({ length: candidates }, () => new Uint8Array(n).fill(LABEL_CODES.NA));
  const success = new Uint8Array(n);
  const task = new Uint32Array(n);
  const decoyShare = shareWithLack(world);
  const { causes, decoy } = world;
  for (let t = 0, i = 0; t < tasks; t++) {
    const needs = drawNeeds(world, random);
    const decoyCalledFor = random.uniform() < decoy.need;
    const toolMissing = random.uniform() < world.missingTool;
    const taskCarelessness = TASK_SPREAD * normal(random);
    for (let trial = 0; trial < trials; trial++, i++) {
      task[i] = t;
      const carelessness = (taskCarelessness + normal(random)) / Math.hypot(TASK_SPREAD, 1);
      let chance = 1 - world.otherwise;
      let lacksAny = false;
      causes.forEach(({ lack, fails }, c) => {
        const lacking = SHARED * carelessness + Math.sqrt(1 - SHARED ** 2) * normal(random) < normalQuantile(lack);
        if (!needs[c]) return;
        truth[c]![i] = codeOf(lacking);
        lacksAny ||= lacking;
        if (lacking) chance *= 1 - fails;
      });
      const follows = random.uniform() < decoy.follows;
      const byChance = random.uniform() < decoyShare;
      if (decoyCalledFor) truth[causes.length]![i] = codeOf(follows ? lacksAny : byChance);
      if (random.uniform() < 0.5) truth[causes.length + 1]![i] = codeOf(random.uniform() < 0.3);
      if (toolMissing) {
        truth[causes.length + 2]![i] = LABEL_CODES.LACKING;
        chance = 0;
      }
      success[i] = random.uniform() < chance ? 1 : 0;
    }
  }
  const labels = truth.map((codes) =>
    Array.from({ length: runs }, () =>
      codes.map((code) => (random.uniform() < world.labelNoise ? otherCode(code, random) : code)),
    ),
  );
  return { outcomes: { success, task, tasks }, truth, labels };
}

/** P(failure) of episode `i` if the lack of `cause` were as given and everything else stayed the same. */
export function failureChance(world: World, truth: readonly Uint8Array[], i: number, cause: number, lacking: boolean) {
  if (truth[world.causes.length + 2]?.[i] === LABEL_CODES.LACKING) return 1;
  let chance = 1 - world.otherwise;
  world.causes.forEach(({ fails }, c) => {
    if (c === cause ? lacking : truth[c]![i] === LABEL_CODES.LACKING) chance *= 1 - fails;
  });
  return 1 - chance;
}

function drawNeeds({ causes, severalNeeds }: World, random: RandomSource): boolean[] {
  const needs = causes.map(({ need }) => random.uniform() < need);
  const drawn = [...needs.keys()].filter((c) => needs[c]);
  if (severalNeeds || drawn.length < 2) return needs;
  const only = drawn[random.below(drawn.length)]!;
  return needs.map((_, c) => c === only);
}

/** About how many episodes lack any cause: the decoy's lack by chance is as frequent. */
function shareWithLack({ causes }: World): number {
  return 1 - causes.reduce((none, { need, lack }) => none * (1 - need * lack), 1);
}

const codeOf = (lacking: boolean): number => (lacking ? LABEL_CODES.LACKING : LABEL_CODES.PRESENT);
const otherCode = (code: number, random: RandomSource): number => ((code + random.below(2)) % 3) + 1;

/** Box and Muller's transform. */
function normal(random: RandomSource): number {
  return Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform());
}
