import { COMPLETION_FORMS } from './completions';
import { FAILURE_FORMS } from './failures';
import { MESSAGE_FORMS } from './messages';
import { REFUSAL_FORMS } from './refusals';

/** All forms of answers that are not streamed. */
export const FORMS = [...MESSAGE_FORMS, ...COMPLETION_FORMS, ...FAILURE_FORMS, ...REFUSAL_FORMS];
