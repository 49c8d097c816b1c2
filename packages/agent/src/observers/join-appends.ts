import type { AgentEvent } from '@millrace/core';

/** An event that says what was added to a part, and where. */
export type AppendEvent = Extract<AgentEvent, { readonly at: number }>;

/** A bound on what one event may become. */
export const maxJoinedLength: number = 2 ** 16;

/** Both in one, where the second goes on where the first ends; it has the place in the log of the second. */
export function joinAppends(first: AgentEvent, second: AgentEvent): AppendEvent | undefined {
  if (!isAppend(first) || !isAppend(second) || !follows(first, second)) return undefined;
  const { at } = first;
  const added = addedBy(first);
  switch (second.type) {
    case 'tool_call_arguments_delta':
      return { ...second, at, delta: `${added}${second.delta}` };
    case 'media_delta':
      return { ...second, at, bytes: joinBytes(added, second.bytes) };
    default:
      return { ...second, at, text: `${added}${second.text}` };
  }
}

function isAppend(event: AgentEvent): event is AppendEvent {
  return 'at' in event;
}

function follows(first: AppendEvent, second: AppendEvent): boolean {
  const length = addedBy(first).length;
  return (
    first.partId === second.partId &&
    first.session === second.session &&
    first.type === second.type &&
    first.at + length === second.at &&
    length + addedBy(second).length <= maxJoinedLength
  );
}

function addedBy(event: AppendEvent): string | Uint8Array {
  switch (event.type) {
    case 'tool_call_arguments_delta':
      return event.delta;
    case 'media_delta':
      return event.bytes;
    default:
      return event.text;
  }
}

function joinBytes(first: string | Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  if (typeof first !== 'string') bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
