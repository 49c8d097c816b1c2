import type { Item, Part } from '@millrace/core';

/** One line for each part of a transcript, for example `text: It is noon.` */
export type Line = `${LineKind}: ${string}`;
export type LineKind = 'user' | 'reasoning' | 'text' | 'call' | 'result';

/** Where a client of a door connects. */
export interface DoorAddress {
  /** The origin of a proxy that cuts connections. */
  readonly cut: string;
  /** Returns the origin of the server. Its connections are not cut. */
  readonly direct: () => Promise<string>;
  /** The name of a new conversation, for protocols in which the client chooses it. */
  readonly name: string;
  /** Called when the client has enough to resume. Default: it can resume from the first byte. */
  readonly onFirst?: (() => void) | undefined;
}

/** The content that a client shows after the end of a run. */
export interface ShownRun {
  /** Undefined if the client does not learn the id. Then the log must have only one session. */
  readonly session: string | undefined;
  readonly lines: readonly Line[];
  /** The progress that the client received, without spaces. Undefined if the protocol has no progress. */
  readonly progress?: string | undefined;
}

/**
 * Sends the message "Time?" and reads the run to its end. After a cut, the client resumes in the way of its
 * protocol. Returns what the client shows.
 */
export type Door = (at: DoorAddress) => Promise<ShownRun>;

/** Returns the lines of a transcript. Empty parts have no line. */
export function linesOf(items: readonly Item[]): readonly Line[] {
  return items.flatMap(({ kind, parts }) =>
    parts.flatMap((part) => (kind === 'user' ? userLine(part) : partLine(part)) ?? []),
  );
}

function userLine(part: Part): Line | undefined {
  return part.kind === 'text' ? `user: ${part.text}` : undefined;
}

function partLine(part: Part): Line | undefined {
  if (part.kind === 'text') return part.text === '' ? undefined : `text: ${part.text}`;
  if (part.kind === 'reasoning') return part.text === '' ? undefined : `reasoning: ${part.text}`;
  if (part.kind === 'tool_call') return `call: ${part.name} ${part.arguments}`;
  return part.kind === 'tool_result' ? `result: ${part.text}` : undefined;
}
