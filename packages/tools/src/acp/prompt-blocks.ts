import type { RemoteRequest } from '@millrace/agent/remote';
import { type Item, isJsonObject, type JsonObject, toBase64 } from '@millrace/core';

/** Maximum length of the earlier conversation that a new session of the agent gets, in characters. */
const maxHistory = 100_000;

/** Returns the content of a prompt: the messages, and the conversation so far for a new session. */
export function promptBlocks(
  { items, message }: RemoteRequest,
  { promptCapabilities: abilities }: JsonObject,
  isNew: boolean,
): JsonObject[] {
  const takesImages = isJsonObject(abilities) && abilities['image'] === true;
  const earlier = isNew ? historyText(items.filter((item) => !message.includes(item))) : '';
  const blocks = message.flatMap(({ parts }) =>
    parts.flatMap((part): readonly JsonObject[] => {
      if (part.kind === 'text') return [{ type: 'text', text: part.text }];
      if (part.kind !== 'media' && part.kind !== 'file') return [];
      const { source, mimeType } = part;
      const name = part.kind === 'file' ? part.name : mimeType;
      if (source.type === 'url')
        return [{ type: 'resource_link', uri: source.url, name, mimeType }];
      if (source.type !== 'bytes' || !takesImages || !mimeType.startsWith('image/')) return [];
      return [{ type: 'image', data: toBase64(source.bytes), mimeType }];
    }),
  );
  return earlier === '' ? blocks : [{ type: 'text', text: earlier }, ...blocks];
}

/** Returns the conversation so far, for an agent that does not have it. */
function historyText(items: readonly Item[]): string {
  const lines = items.flatMap(({ kind, parts }) => {
    if (kind !== 'user' && kind !== 'assistant') return [];
    const text = parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n');
    return text === '' ? [] : [`${kind}: ${text}`];
  });
  if (lines.length === 0) return '';
  const text = lines.join('\n\n').slice(-maxHistory).toWellFormed();
  return `The conversation so far:\n\n${text}\n\nThe new message:`;
}
