import {
  type Delta,
  DeltaWriter,
  type DeltaWriterOptions,
  isId,
  type JsonValue,
  type ProviderState,
  parseJson,
  type TextWriter,
  toolCallId,
} from '@millrace/core';
import { closeParts } from '@millrace/providers';
import type { RemoteEvent, RemotePeer } from './contract.ts';

/** The name of the part that contains what the next request to the remote agent needs. */
export const memoryPart = 'remote_agent';

type TextEvent = Extract<RemoteEvent, { readonly type: 'text' | 'reasoning' }>;

interface OpenText {
  readonly kind: 'text' | 'reasoning';
  readonly message: string | undefined;
  readonly state: JsonValue | undefined;
  readonly writer: TextWriter;
}

/** Writes the events of one step of a remote agent as deltas of an item. */
export class StepWriter {
  readonly #writer: DeltaWriter;
  readonly #peer: Omit<ProviderState, 'data'>;
  /** The last value on the log. */
  #memory: JsonValue | undefined;
  #open: OpenText | undefined;
  /** The calls of this step. */
  readonly calls: Set<string> = new Set();

  constructor(options: DeltaWriterOptions, peer: RemotePeer, memory: JsonValue | undefined) {
    this.#peer = { provider: peer.protocol, model: peer.name };
    this.#writer = new DeltaWriter(options);
    this.#memory = memory;
  }

  take(): readonly Delta[] {
    return this.#writer.take();
  }

  text({ type, text, message, state }: TextEvent): void {
    if (text === '') return;
    const isSame = this.#open?.kind === type && this.#open.message === message;
    if (!isSame) {
      this.#close();
      const writer = type === 'text' ? this.#writer.text() : this.#writer.reasoning();
      this.#open = { kind: type, message, state, writer };
    }
    this.#open?.writer.append(text);
  }

  file({ part }: Extract<RemoteEvent, { type: 'file' }>): void {
    this.#close();
    this.#writer.whole(part);
  }

  /** Writes a call. Returns false if its id or its name cannot be stored. */
  call(id: string, name: string, input: JsonValue): boolean {
    if (!isId(id) || !isId(name) || this.calls.has(id)) return false;
    this.#close();
    const call = this.#writer.toolCall(toolCallId(id), name);
    call.append(JSON.stringify(input));
    call.commit();
    this.calls.add(id);
    return true;
  }

  memory(value: JsonValue): void {
    if (JSON.stringify(value) === JSON.stringify(this.#memory)) return;
    this.#memory = value;
    this.#close();
    this.#writer.whole({ kind: 'custom', name: memoryPart, value });
  }

  finish(): readonly Delta[] {
    this.#close();
    return this.take();
  }

  cut(isAborted: boolean): readonly Delta[] {
    closeParts(this.#writer, isAborted ? 'aborted' : 'cut');
    return this.take();
  }

  #close(): void {
    const { writer, state: data } = this.#open ?? {};
    writer?.commit(data === undefined ? {} : { providerState: { ...this.#peer, data } });
    this.#open = undefined;
  }
}

/** Returns a text as JSON, or as an object that contains it. */
export function inputOf(text: string): JsonValue {
  if (text.trim() === '') return {};
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : { text };
}
