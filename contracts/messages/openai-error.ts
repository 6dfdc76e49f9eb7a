/** Errors as OpenAI's API writes them, which every client package knows how to raise. */
export interface OpenAiErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

/** The body of an error answer. */
export const openAiError = (
  message: string,
  type: string,
  param: string | null = null,
  code: string | null = null,
): OpenAiErrorBody => ({
  error: { message, type, param, code },
});
