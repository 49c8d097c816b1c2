import {
  type Fact,
  type Item,
  type ItemId,
  type LogRecord,
  liveTranscript,
  type ToolCallId,
  type ToolResultPart,
  transcript,
} from '@millrace/core';
import { type Death, session } from './deaths.ts';
import { folded } from './folded.ts';

// What the records say that a process left behind, read from the facts alone.

export function factsOf(records: readonly LogRecord[]): readonly Fact[] {
  return records.flatMap(({ fact }) => fact ?? []);
}

export function itemsOf(records: readonly LogRecord[]): readonly Item[] {
  return transcript(folded(session, records));
}

export function itemOf(items: readonly Item[], id: ItemId): Item | undefined {
  return items.find((item) => item.id === id);
}

export function resultsIn(items: readonly Item[]): readonly ToolResultPart[] {
  return items.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool_result' ? part : [])),
  );
}

export function has({ before }: Death, type: Fact['type']): boolean {
  return factsOf(before).some((fact) => fact.type === type);
}

/** The answer that was under way, as far as it had come. */
export function cutAnswer({ before }: Death): (Item & { readonly turn: number }) | undefined {
  const at = before.findLastIndex(({ fact }) => fact?.type === 'response_started');
  const { fact, turn = 0 } = before[at] ?? {};
  if (fact?.type !== 'response_started') return undefined;
  const isOver = factsOf(before.slice(at + 1)).some(
    (later) =>
      later.type === 'attempt_superseded' || ('itemId' in later && later.itemId === fact.itemId),
  );
  const item = itemOf(liveTranscript(folded(session, before)), fact.itemId);
  return isOver || item?.kind !== 'assistant' ? undefined : { ...item, turn };
}

/** Somebody had said so, and nobody had heard it yet. */
export function isUnheard({ before }: Death, command: string): boolean {
  const facts = factsOf(before);
  const heard = new Set(facts.map((fact) => (fact.type === 'command_consumed' ? fact.key : '')));
  return facts.some(
    (fact) =>
      fact.type === 'command_queued' && !heard.has(fact.key) && fact.command['type'] === command,
  );
}

/** The calls of a tool whose executions came to this, in the order in which they did. */
export function callsThat(
  records: readonly LogRecord[],
  came: 'started' | 'completed' | 'lost',
  tools: readonly string[],
): readonly ToolCallId[] {
  return factsOf(records).flatMap((fact) => {
    if (fact.type !== 'tool_execution_started' && fact.type !== 'tool_execution_finished')
      return [];
    const outcome = fact.type === 'tool_execution_started' ? 'started' : fact.outcome;
    return outcome === came && tools.includes(fact.name) ? fact.toolCallId : [];
  });
}
