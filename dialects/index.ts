export { chatDialect } from './chat';
export { readStream, readWhole, toChatMessage } from './chat-messages';
export { type AnswerNames, type Dialect, DialectError, type Fields } from './dialect';
export { messagesDialect } from './messages';
export { COUNT_TOKENS_PATH, countedTokens, countIn, countToChat } from './messages/count-tokens';
export { responsesDialect } from './responses';
export { type Said, saidIn } from './said';
export { eventsIn } from './server-sent-events';
export { eventsOf, StreamTranslation } from './stream-translation';
