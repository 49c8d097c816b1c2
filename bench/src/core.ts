import {
  type AgentEvent,
  agentEvents,
  countingIds,
  type Delta,
  DeltaWriter,
  Folder,
  type FoldState,
  itemId,
  type LogRecord,
  PartialJson,
  recordVersion,
  sessionId,
  type TextWriter,
  toolCallId,
  transcript,
} from '@millrace/core';
import { type Chunk, eachChunk, macrotaskSource } from './floor.ts';

const item = itemId('item1');

/** Processes the chunks with writer, fold and events, and consumes every event. */
export async function throughCore(
  reads: readonly Uint8Array[],
  consume: (event: AgentEvent) => void = () => {},
  keep: (state: FoldState) => void = () => {},
): Promise<number> {
  const folder = new Folder(sessionId('bench'));
  const writer = new DeltaWriter({ itemId: item, turn: 1, attempt: 1, ids: countingIds() });
  const adapt = adapter(writer);
  let offset = 0;
  const recordHead = () =>
    ({ v: recordVersion, offset: ++offset, time: 0, turn: 1, attempt: 1, producer: 'm' }) as const;
  const publish = (records: readonly LogRecord[]) => {
    const after = folder.state.through;
    folder.addBatch({ after, through: offset, records }, (before, record, state) => {
      for (const event of agentEvents(before, record, state)) consume(event);
      keep(state);
    });
  };
  publish([{ ...recordHead(), fact: { type: 'item_started', itemId: item, kind: 'assistant' } }]);
  const commit = () => publish(writer.take().map((delta: Delta) => ({ ...recordHead(), delta })));
  await eachChunk(macrotaskSource(reads), adapt, commit);
  for (const part of writer.open) part.commit();
  commit();
  return transcript(folder.state)
    .flatMap(({ parts }) => parts)
    .reduce((sum, part) => sum + lengthOf(part), 0);
}

function lengthOf(part: {
  readonly kind: string;
  readonly text?: string;
  readonly arguments?: string;
}): number {
  return (part.text ?? part.arguments ?? '').length;
}

function adapter(writer: DeltaWriter): (chunk: Chunk) => void {
  let text: TextWriter | undefined;
  const calls = new Map<number, TextWriter>();
  return ({ choices }) => {
    const delta = choices[0]?.delta;
    if (delta?.content !== undefined) {
      text ??= writer.text();
      text.append(delta.content);
    }
    for (const { index, id, function: called } of delta?.tool_calls ?? []) {
      const known = calls.get(index);
      if (known !== undefined) {
        known.append(called.arguments);
        continue;
      }
      const started = writer.toolCall(toolCallId(id ?? `call_${index}`), called.name ?? '');
      calls.set(index, started);
      started.append(called.arguments);
    }
  };
}

/**
 * Computes the live change of the arguments after each fragment, and the whole value after every
 * 256th fragment.
 */
export class LiveArguments {
  readonly #json = new PartialJson();
  #fragments = 0;
  /** The amount of drawn output. The program uses it, so that the engine cannot skip the work. */
  drawn = 0;

  add(event: AgentEvent): void {
    if (event.type !== 'tool_call_arguments_delta') return;
    for (const change of this.#json.feed(event.delta)) {
      this.drawn += change.type === 'append' ? change.suffix.length : 1;
    }
    if (++this.#fragments % 256 === 0) this.drawn += Object.keys(this.#json.value ?? {}).length;
  }
}
