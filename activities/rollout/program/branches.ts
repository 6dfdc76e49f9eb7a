import type { ChatMessage, Trajectory } from '../../../contracts/artifacts/trajectory';

/** Most conversations, and most characters of them, that a trajectory keeps besides its own. */
const MOST_KEPT = 64;
const MOST_CHARACTERS = 2_000_000;

/** The conversations besides the main one, as a trajectory keeps them: the first ones, as far as there is room. */
export function keptBranches(conversations: readonly ChatMessage[][]): NonNullable<Trajectory['branches']> {
  const kept: ChatMessage[][] = [];
  let room = MOST_CHARACTERS;
  for (const one of conversations.slice(0, MOST_KEPT)) {
    room -= JSON.stringify(one).length;
    if (room < 0) break;
    kept.push(one);
  }
  return { count: conversations.length, kept };
}
