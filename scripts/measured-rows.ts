import type { RowTemplate } from './measured-page';

const gatewayCell = (cell: string) => `{cells.${cell}.p50} and {cells.${cell}.p99}`;

/** Rows of docs/measured.md that each bench fills, by the bench's name; `fill` of measured-page.ts says how. */
export const MEASURED_ROWS: Readonly<Record<string, readonly RowTemplate[]>> = {
  calibration: [
    {
      id: 'calibration',
      figures:
        '{environments} made-up environments, {repetitions} calibrations each: {rolloutsSequential} rollouts (fixed ' +
        'design {rolloutsFixed}), {inBand.rolloutsSequential} truly in band, {outOfBand.rolloutsSequential} out of ' +
        'band; wrong verdicts {errorSequential%2} (fixed {errorFixed%2}), in band {inBand.errorSequential%2} ' +
        '({inBand.errorFixed%2}), out of band {outOfBand.errorSequential%2} ({outOfBand.errorFixed%2}); paired ' +
        'difference {errorDifference+}; verdicts differ in {designsDiffer%2}; seeds parted by chance in ' +
        '{partedByChance%4}',
    },
  ],
  causes: [
    {
      id: 'causes',
      figures:
        '{worlds} made-up worlds, {tasks} tasks, {seeds} seeds. By the thresholds alone, with a significant gap, ' +
        'with partial effects: planted causes found {foundByThresholds}, {foundByContrast}, {found} of {planted}; ' +
        'decoys kept {decoysKeptByThresholds}, {decoysKeptByContrast}, {decoysKept} of {decoys}; harmless ' +
        'candidates kept with partial effects {harmlessKept}. Called not trainable: {notTrainable} of ' +
        '{untrainable}. Of {intervals} intervals of partial effects {coverage%} contain the truth',
    },
  ],
  certificate: [
    {
      id: 'certificate',
      figures:
        '{wrongPassed} of {wrong} wrong environments passed, {goodRefused} of {good} good ones were refused ' +
        '([bench/certificate](../bench/certificate/README.md))',
    },
  ],
  'second-reader': [
    {
      id: 'second-reader',
      figures:
        'Seed 1, labels by rules. Of {wrong} wrong environments, {wrongCaught} refused; of {good} good ones ' +
        '{goodRefused}',
    },
  ],
  watched: [
    {
      id: 'watched',
      figures:
        'Of {wrong.trained} wrong environments {wrong.harmfulAtTheEnd} harm other tasks at the end; ' +
        '{wrong.keptHarmless} lose at most 5 points as kept; harm of 20 points seen within two probes: ' +
        '{wrong.seenWithinTwoProbes} of {wrong.harmedBy20Points}. Of {good.trained} good ones {good.stoppedEarly} ' +
        'stopped early, {good.keptBelowBest} kept over 3 points below the best',
    },
  ],
  'demo-seeds': [
    {
      id: 'demo-seed-{seed}',
      each: 'seeds',
      figures:
        'Base {base%}, best single adapter {bestSingle%}, mixed {mixed%}, routed {served%} (`{router}`), oracle ' +
        '{oracle%}; routed - base {servedMinusBase+}, routed - mixed {servedMinusMixed+}',
    },
    {
      id: 'demo-ten-seeds',
      figures:
        'Means over seeds: base {seeds[].base%}, best single adapter {seeds[].bestSingle%}, mixed {seeds[].mixed%}, ' +
        'routed {seeds[].served%}, oracle {seeds[].oracle%}; intervals over seeds: routed - base {servedMinusBase+}, ' +
        'routed - mixed {servedMinusMixed+}',
    },
  ],
  gate: [
    {
      id: 'gate',
      figures:
        '{tasks} tasks, {trials} trials, comparison {comparison}: as good as the active version promoted in ' +
        '{falsePromotionShare%} of {repetitions} evaluations; as good as base {falsePromotionShareOverBase%}; 10 ' +
        'points worse than the active version {tooShortPromoted%}; true gains of 1, 2, 3, 5, 8, 10 points promoted ' +
        'in {power.1%}, {power.2%}, {power.3%}, {power.5%}, {power.8%}, {power.10%}; smallest stated gain over base ' +
        '{statedMinimum.points} points, proved in {statedMinimum.share%}; {seconds} s',
    },
  ],
  gateway: [
    {
      id: 'gateway',
      figures:
        `Added p50 and p99 in ms: 1 KB ${gatewayCell('1KB')}, stream ${gatewayCell('1KB stream')}; 8 KB ` +
        `${gatewayCell('8KB')}, stream ${gatewayCell('8KB stream')}; 100 KB ${gatewayCell('100KB')}, stream ` +
        `${gatewayCell('100KB stream')}; {rps} requests a second; first event at most {addedFirstByteP50Ms} ms later`,
    },
  ],
  jail: [
    {
      id: 'jail',
      figures:
        'Medians in ms: start until loaded {startP50Ms} (bare {bareStartP50Ms}), out of a jail that waited ' +
        '{warmStartP50Ms}; a step {stepP50Ms} (in a Python process {inProcessStepP50Ms}, a process each ' +
        '{processPerStepP50Ms}); 64 episodes in a jail {episodes64.stepsPerSecond} steps/s; 64 jails up after ' +
        '{jails64.startMs}; step of an honest episode during an attack at worst {attackedRatioWorst} times that ' +
        'at rest',
    },
  ],
  label: [
    {
      id: 'label',
      figures:
        '{calls} pairs, {latencyMs} ms latency, wall time through Whetstone / bare client: {ratio.64} at 64 in ' +
        'flight, {ratio.256} at 256, {ratio.512} at 512; {eventsPerCall} history events a call; worker at most ' +
        '{workerRssMb} MB',
    },
  ],
  program: [
    {
      id: 'program',
      figures:
        'Orders desk, seed {seed}, 100 train and 120 held-out tasks. As a program: base {program.base%}, served ' +
        '{program.served%}, served - base {program.gain+}; through the gateway {gateway.gain+}. As a module: base ' +
        '{module.base%}, served {module.served%}, served - base {module.gain+}. Of {episodes.of} train episodes ' +
        '{episodes.same} are the same. Processor seconds an episode: {gateway.programSeconds} of the program, no ' +
        'jail counted, and {program.playerSeconds} of its player; of the player of the module {module.playerSeconds}',
    },
  ],
  nights: [
    {
      id: 'nights',
      figures:
        '{nights} nights in {seconds} s: {falsePromotions} false promotions, {missedRegressions} missed regressions, ' +
        '{missedNights} missed nights, {falseAlarms} false alarms; {promotions} promotions in ' +
        '{comparisons} comparisons',
    },
  ],
  'nights-aa': [
    {
      id: 'nights-aa',
      figures:
        '{sequences} agents, {nights} comparisons each with a candidate as good as what is served: {promotedShare%} ' +
        'promoted anything; {promotedUnspent%} would have without error spending; {seconds} s',
    },
  ],
  packing: [
    {
      id: 'packing',
      figures:
        '{adapters} trainings of {iterations} iterations, wall and processor seconds: one after another ' +
        '{sequentialSeconds} and {cpuSeconds.sequential}, side by side {sideBySideSeconds} and ' +
        '{cpuSeconds.sideBySide}, packed {packedSeconds} and {cpuSeconds.packed}: {ratio} and {sideBySideRatio} ' +
        'times as fast',
    },
  ],
  train: [
    {
      id: 'train',
      figures: '640 rollouts: {seconds640} s, plain TRL loop {plainSeconds640} s, {ratio} times as fast',
    },
  ],
  'train-vllm': [
    {
      id: 'train-vllm',
      figures:
        'SmolLM2-135M: {tokensPerSecond} tokens a second, plain TRL loop {plainTokensPerSecond}, {ratio} times as many',
    },
  ],
  worlds: [
    {
      id: 'world-{key}',
      each: 'worlds',
      figures:
        '{tasks} held-out tasks, {trials} trials: base {base%}, mixed {mixed%}, served {served%} (`{router}`), ' +
        "oracle {oracle%}; share of the oracle's gain {oracleShare%} (95 % interval from {low%}); " +
        '{routingRollouts} rollouts for routing',
    },
  ],
};
