import {
  type AgentEvent,
  agentEvents,
  countingIds,
  Folder,
  itemId,
  type LogRecord,
  recordVersion,
  sessionId,
  transcript,
} from '@millrace/core';
import { openaiChat } from '@millrace/providers';
import type { Candidate, RunResult } from './candidate.ts';
import { LiveArguments } from './core.ts';
import { baseUrl, fetchOf } from './injected-fetch.ts';

const item = { id: itemId('item1'), turn: 1, attempt: 1 };

/**
 * The ways to use Millrace that are measured, from the bytes of a provider to the folded result.
 */
export const ours: readonly Candidate[] = [
  { name: 'Millrace, fold and events', run: (reads) => stream(reads, () => {}) },
  {
    name: 'Millrace, and live arguments',
    run: (reads) => {
      const live = new Map<string, LiveArguments>();
      return stream(reads, (event) => {
        if (event.type !== 'tool_call_arguments_delta') return;
        let json = live.get(event.partId);
        if (json === undefined) {
          json = new LiveArguments();
          live.set(event.partId, json);
        }
        json.add(event);
      });
    },
  },
];

async function stream(
  reads: readonly Uint8Array[],
  consume: (event: AgentEvent) => void,
): Promise<RunResult> {
  const provider = openaiChat({ model: 'bench', baseUrl, fetch: fetchOf(reads) });
  const folder = new Folder(sessionId('bench'));
  let offset = 0;
  let streamed = 0;
  const recordHead = () =>
    ({ v: recordVersion, offset: ++offset, time: 0, turn: 1, attempt: 1, producer: 'm' }) as const;
  const publish = (records: readonly LogRecord[]) => {
    const after = folder.state.through;
    folder.addBatch({ after, through: offset, records }, (before, record, state) => {
      for (const event of agentEvents(before, record, state)) {
        streamed += lengthOf(event);
        consume(event);
      }
    });
  };
  publish([
    { ...recordHead(), fact: { type: 'item_started', itemId: item.id, kind: 'assistant' } },
  ]);
  for await (const { deltas, end } of provider.stream(
    { items: [] },
    { item, ids: countingIds() },
  )) {
    publish(deltas.map((delta) => ({ ...recordHead(), delta })));
    if (end?.error !== undefined) throw end.error;
  }
  const parts = transcript(folder.state).flatMap((one) => one.parts);
  const characters = parts.reduce((sum, part) => {
    const text = part.kind === 'text' ? part.text : part.kind === 'tool_call' ? part.arguments : '';
    return sum + text.length;
  }, 0);
  return { characters, streamed };
}

function lengthOf(event: AgentEvent): number {
  switch (event.type) {
    case 'assistant_text_delta':
      return event.text.length;
    case 'tool_call_arguments_delta':
      return event.delta.length;
    default:
      return 0;
  }
}
