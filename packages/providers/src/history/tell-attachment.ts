import { attachedText } from './attached-text.ts';
import type { Attachment } from './content-of.ts';

/** Longer ones are keys more than addresses. */
const maxAddressLength = 2000;

/**
 * In words, for a wire that does not take it as it is: a file of text is told with its name, anything
 * else is named. It stays in the history, where one that is refused would end the session.
 */
export function tellAttachment(part: Attachment): string {
  const text = attachedText(part);
  return text === undefined ? notShown(part) : textFile(part, text);
}

function textFile(part: Attachment, text: string): string {
  const name = part.kind === 'file' ? ` name=${quoted(part.name)}` : '';
  return `<file${name} type=${quoted(part.mimeType)}>\n${text}\n</file>`;
}

function notShown(part: Attachment): string {
  const type = part.mimeType.toWellFormed();
  const what = part.kind === 'file' ? `${quoted(part.name)} (${type})` : type;
  return `[An attachment cannot be shown: ${what}${place(part)}]`;
}

/** A model may have a tool that reads from there. */
function place({ source }: Attachment): string {
  if (source.type !== 'url' || source.url.length > maxAddressLength) return '';
  return /^https?:/i.test(source.url) ? `, at ${source.url.toWellFormed()}` : '';
}

function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
