import { DeltaWriter, noUsage, type ToolCallPart, toolCallId } from '@millrace/core';
import { createProvider, type Provider } from '@millrace/providers';

/** Returns a tool call part. An input that is a text is used as the arguments. */
export function call(id: string, name: string, input: unknown): ToolCallPart {
  const given = typeof input === 'string' ? input : JSON.stringify(input);
  return { kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: given };
}

interface Flood {
  readonly provider: Provider;
  /** Returns the number of pieces that were read so far. */
  asked(): number;
}

/** Returns a provider that streams `drop ` this many times, one piece per read, without delays. */
export function flood(count: number): Flood {
  let asked = 0;
  const provider = createProvider('flood', 'm', async function* (_request, { item, ids }) {
    const { id: itemId, turn, attempt } = item;
    const writer = new DeltaWriter({ itemId, turn, attempt, ids });
    const text = writer.text();
    for (; asked < count; asked++) {
      text.append('drop ');
      yield { deltas: writer.take() };
    }
    text.commit();
    yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage: noUsage } };
  });
  return { provider, asked: () => asked };
}
