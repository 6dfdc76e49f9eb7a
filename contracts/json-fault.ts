/**
 * Why a text is not JSON, without a quote of the text. V8's message quotes the text. A link may have led to a file that
 * the reader of the message must not see.
 */
export const jsonFault = ({ message }: SyntaxError): string =>
  /is not valid JSON$/.test(message) ? 'it has a character where JSON allows none' : message;
