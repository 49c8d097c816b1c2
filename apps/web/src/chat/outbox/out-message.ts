import { type JsonValue, parseJson } from '@millrace/core';

/** Something that was said and that the server does not have for certain. */
export interface OutMessage {
  readonly task: string;
  /** What makes it count once, however often it is sent. */
  readonly key: string;
  readonly text: string;
  readonly when: 'steer' | 'follow_up';
  /** When it was said, in ms since 1970. */
  readonly at: number;
  /** `sent`: the server has it, and it is not shown otherwise yet. */
  readonly state: 'sending' | 'sent' | 'failed';
  /** Why it was not sent. */
  readonly error?: string | undefined;
}

/** More than anybody says to a server that does not answer. */
export const maxMessages = 100;
export const tooMany: string = `${maxMessages} messages wait to be sent. Wait until the server has them, or discard some`;

/** What was kept; of what is no message, nothing. */
export function readMessages(text: string | undefined): readonly OutMessage[] {
  const parsed = parseJson(text ?? '[]');
  if (!parsed.ok || !Array.isArray(parsed.value)) return [];
  return parsed.value.flatMap(messageOf).slice(0, maxMessages);
}

function messageOf(value: JsonValue): readonly OutMessage[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const { task, key, text, when, at, error } = value as Readonly<Record<string, JsonValue>>;
  if (typeof task !== 'string' || typeof key !== 'string' || typeof text !== 'string') return [];
  const known = { task, key, text, at: typeof at === 'number' ? at : 0 };
  const kept = { ...known, when: when === 'steer' ? 'steer' : 'follow_up' } as const;
  return [
    typeof error === 'string' ? { ...kept, state: 'failed', error } : { ...kept, state: 'sending' },
  ];
}

export function writeMessages(messages: readonly OutMessage[]): string | undefined {
  return messages.length === 0
    ? undefined
    : JSON.stringify(messages.map(({ state: _, ...kept }) => kept));
}
