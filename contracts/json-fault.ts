/**
 * What is wrong with a text that is no JSON, without what it holds: V8 quotes the text around a wrong character, and a
 * link may have led to a file that the reader of the message may not read.
 */
export const jsonFault = ({ message }: SyntaxError): string =>
  /is not valid JSON$/.test(message) ? 'it has a character where JSON allows none' : message;
