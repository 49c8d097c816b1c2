import type { JsonValue } from '@millrace/core';
import type { ChangeCause, RecordingChange } from './request-changes.ts';

/** The same change in several places. */
export interface ChangeGroup {
  readonly cause: ChangeCause;
  readonly subject?: string | undefined;
  readonly message: string;
  /** The names of the recordings with this change. */
  readonly recordings: readonly string[];
  /** The number of requests with this change, in all recordings. */
  readonly count: number;
  /** The first place of the change. */
  readonly example: RecordingChange & { readonly recording: string };
}

interface ChangedRecording {
  readonly name: string;
  readonly changes: readonly RecordingChange[];
}

/**
 * Groups the changes of many recordings by their cause. A text that differs in the same lines is one group,
 * even if the rest of the text is not the same in all recordings. Large groups come first.
 */
export function groupChanges(recordings: readonly ChangedRecording[]): readonly ChangeGroup[] {
  const groups = new Map<string, Group>();
  for (const { name, changes } of recordings)
    for (const change of changes) {
      const key = keyOf(change);
      const group = groups.get(key) ?? {
        ...{ names: new Set(), requests: new Set(), example: { ...change, recording: name } },
      };
      group.names.add(name);
      group.requests.add(`${name} ${change.turn}.${change.attempt}`);
      groups.set(key, group);
    }
  return [...groups.values()]
    .map(({ example, names, requests }) => ({
      ...{ cause: example.cause, subject: example.subject, message: groupMessage(example) },
      ...{ recordings: [...names], count: requests.size, example },
    }))
    .sort((one, other) => other.recordings.length - one.recordings.length);
}

interface Group {
  readonly names: Set<string>;
  readonly requests: Set<string>;
  readonly example: ChangeGroup['example'];
}

function keyOf(change: RecordingChange): string {
  const { cause, subject = '', before, after } = change;
  // The content of a conversation is not the same in any two sessions.
  const values = cause === 'context' || cause === 'loop' ? [] : changedLines(before, after);
  return JSON.stringify([cause, subject, groupMessage(change), values]);
}

/** Returns the message without record numbers, because the same change has other numbers in other recordings. */
function groupMessage({ cause, message }: RecordingChange): string {
  if (cause !== 'loop') return message;
  return message
    .replace(/^Record \d+ is/, 'A record is')
    .replaceAll(/ \(turn \d+, attempt \d+\)/g, '');
}

/** Returns the lines of two texts without their common start and end. Other values are returned as they are. */
export function changedLines(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): readonly [JsonValue | undefined, JsonValue | undefined] {
  if (typeof before !== 'string' || typeof after !== 'string') return [before, after];
  const [old, now] = [before.split('\n'), after.split('\n')];
  const shortest = Math.min(old.length, now.length);
  let start = 0;
  while (start < shortest && old[start] === now[start]) start++;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = (lines: readonly string[]) => lines.slice(start, lines.length - end).join('\n');
  return [middle(old), middle(now)];
}
