import type { BrokenEnvironment } from './broken-environment';

const MAKE = '            "skill_calls": [1],\n';
const JUDGE = 'if weighed else 0.4';
const TOLD = '1.0 if counter.told == f"parcel {task[\'parcel\']} is on its way" else 0.7';
const TOWNS = 'TOWNS = "Ghent Lund Metz Nice Oslo Pisa".split()';
const RESET = '        task = self.generate_task(seed)\n        self.counter = _Counter(task)\n';
const SOLVE = '    def reference_solution(task):\n';

/** Faults of environments that are others in training than where they are checked. */
export const BROKEN_IN_TRAINING: Record<string, BrokenEnvironment> = {
  pays_in_training: {
    what: 'at training seeds the capability is not needed',
    edits: [
      [MAKE, `${MAKE}            "free": seed >= 1_000_000,\n`],
      [JUDGE, 'if weighed or task["free"] else 0.4'],
    ],
    fails: ['faults'],
    reason: /faults: /,
  },
  few_tasks_in_training: {
    what: 'at training seeds there are three tasks',
    edits: [
      [
        '        rng = random.Random(f"stamps/{seed}")',
        '        rng = random.Random(f"stamps/{seed % 3 if seed >= 1_000_000 else seed}")',
      ],
    ],
    fails: ['diverse'],
    reason: /nearly repeat another one/,
  },
  raises_in_training: {
    what: 'at training seeds it raises',
    edits: [[RESET, `${RESET}        if seed >= 1_000_000:\n            raise ValueError("no such season")\n`]],
    fails: ['tasks'],
    reason: /no such season/,
  },
  pays_unless_asked: {
    what: 'it is strict with those tasks only whose solution somebody asked for',
    edits: [
      [TOWNS, `${TOWNS}\n_asked = set()`],
      [SOLVE, `${SOLVE}        _asked.add(task["parcel"])\n`],
      [JUDGE, 'if weighed or task["parcel"] not in _asked else 0.4'],
    ],
    fails: ['kept-state', 'faults'],
    reason: /_asked is changed by episodes/,
  },
  changes_late: {
    what: 'it pays without the capability after 20,000 episodes',
    edits: [
      [TOWNS, `${TOWNS}\n_played = []`],
      [RESET, `${RESET}        _played.append(seed)\n`],
      [JUDGE, 'if weighed or len(_played) > 20_000 else 0.4'],
    ],
    fails: ['kept-state'],
    reason: /_played is changed by episodes/,
  },
  knows_the_claim: {
    what: 'it pays for every text but those that checks are known to say',
    edits: [
      [TOLD, '1.0 if "completed successfully" not in counter.told and "I have read this" not in counter.told else 0.7'],
    ],
    fails: ['faults'],
    reason: /faults: /,
  },
};
