/**
 * Why a text is not JSON, without quoting it. V8's message quotes the text, and a link may have led to a file that the
 * reader of the message may not see.
 */
export const jsonFault = ({ message }: SyntaxError): string =>
  /is not valid JSON$/.test(message) ? 'it has a character where JSON allows none' : message;
