import type { Training } from './backend';

type Described = Pick<Training, 'kind' | 'input'>;

/** The name of a training's trainer in a failure, for the beginning of a sentence. */
export const trainerOf = ({ kind, input }: Described): string =>
  kind === 'trial' ? 'The trial of a trainer' : `The trainer of ${input.job}`;

/** The name of a training in a failure, for the beginning of a sentence. */
export const trainingOf = ({ kind, input }: Described): string =>
  kind === 'trial' ? 'The trial of a trainer' : `The training of ${input.job}`;

/** The work that a heartbeat reports. */
export const noteOf = ({ kind, input }: Described): string =>
  kind === 'trial' ? 'trial of a trainer' : `train ${input.job}`;

/** A clause about the effect of `whet retry` once the cause of a failure is gone. */
export const retryOf = ({ kind }: Described): string =>
  kind === 'trial' ? '`whet retry` tries again' : '`whet retry` goes on from the last checkpoint';
