import type { OperatorService } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from './names';

/** temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD */
const KEYWORD = 2;

/** A namespace of a Temporal server, with the service that knows its search attributes. */
export interface Namespace {
  operatorService: OperatorService;
  namespace: string;
}

/**
 * The search attributes of runs that are missing in a namespace. Without them the first workflow task of every run
 * fails, again and again. @throws the server's error.
 */
export async function missingSearchAttributes({ operatorService, namespace }: Namespace): Promise<string[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return Object.values(SEARCH_ATTRIBUTES).filter((name) => !Object.hasOwn(customAttributes ?? {}, name));
}

/**
 * Registers the missing search attributes of runs in a namespace. It may be repeated, and several workers may call it
 * at once.
 * @throws Error when the server refuses. The message contains the command for doing it by hand.
 */
export async function ensureSearchAttributes({ operatorService, namespace }: Namespace): Promise<void> {
  const missing = await missingSearchAttributes({ operatorService, namespace });
  if (missing.length === 0) return;
  try {
    await operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } catch (error) {
    // Another worker may have been faster.
    if ((await missingSearchAttributes({ operatorService, namespace })).length === 0) return;
    throw new Error(
      `The namespace ${namespace} lacks the search attributes ${missing.join(', ')}, and this worker could not ` +
        `register them (${(error as Error).message}). Register them: ${registerCommand(namespace, missing)}`,
      { cause: error },
    );
  }
}

/** The command for registering search attributes by hand. */
export const registerCommand = (namespace: string, names: readonly string[]): string =>
  `temporal operator search-attribute create --namespace ${namespace} ` +
  names.map((name) => `--name ${name} --type Keyword`).join(' ');
