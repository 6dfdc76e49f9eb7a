import { wellFormed } from '../clean-text';

/** The body of an error in the form of OpenAI's API, which every client package can read. */
export interface OpenAiErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

/** Makes the body of an error response. */
export const openAiError = (
  message: string,
  type: string,
  param: string | null = null,
  code: string | null = null,
): OpenAiErrorBody => ({
  error: { message: wellFormed(message), type, param: param === null ? null : wellFormed(param), code },
});
