import type { DeltaWriter, Ids, TextWriter } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import type { PartOf } from './model.ts';
import { stateOf } from './provider-state.ts';
import { callIdOf, ToolCall, type WholeCall } from './tool-call.ts';

/** One that streams, by the id that the package gives it. */
interface Entry {
  readonly call: ToolCall;
  /** Deltas of custom tools are plain text; the input that they make is that text as JSON. */
  readonly isPlainText: boolean;
}

export interface ToolCallsContext extends Owner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
}

/** The calls that the client is to run. */
export class ToolCalls {
  readonly #context: ToolCallsContext;
  readonly #calls: ToolCall[] = [];
  readonly #open = new Map<string, Entry>();

  constructor(context: ToolCallsContext) {
    this.#context = context;
  }

  start(part: PartOf<'tool-input-start'>): void {
    const isPlainText = 'inputEncoding' in part && part.inputEncoding === 'text';
    const { call } = this.#open.get(part.id) ?? this.#create(part.id, isPlainText);
    if (!part.providerExecuted) call.begin(part.toolName);
    if (isPlainText) call.append('"');
  }

  append({ id, delta }: PartOf<'tool-input-delta'>): void {
    const { call, isPlainText } = this.#open.get(id) ?? this.#create(id, false);
    call.append(isPlainText ? JSON.stringify(delta).slice(1, -1) : delta);
  }

  /** A call that came whole, or what streamed is one now. */
  complete(part: PartOf<'tool-call'>): void {
    const { toolCallId, toolName, input, providerMetadata } = part;
    const whole: WholeCall = {
      name: toolName,
      input: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
      providerState: stateOf(this.#context, providerMetadata),
    };
    const known = this.#open.get(toolCallId)?.call;
    if (known?.whole === undefined) {
      return (known ?? this.#create(toolCallId, false).call).complete(whole);
    }
    const isRepeated = known.whole.name === whole.name && known.whole.input === whole.input;
    // Two calls of one id: each needs a result, and so an id of its own.
    if (!isRepeated)
      this.#add(new ToolCall(this.#context.writer, this.#context.ids.toolCall())).complete(whole);
  }

  /** The provider runs it by itself: forgets it, and gives the part that it has already. */
  release(id: string): TextWriter | undefined {
    const entry = this.#open.get(id);
    if (entry === undefined || entry.call.whole !== undefined) return undefined;
    this.#open.delete(id);
    return entry.call.handOver();
  }

  /** The response is complete. True where there is a call to run. */
  end(): boolean {
    for (const call of this.#calls) call.end();
    return this.#calls.some(({ whole }) => whole !== undefined);
  }

  #create(id: string, isPlainText: boolean): Entry {
    const { writer, ids } = this.#context;
    const call = this.#add(new ToolCall(writer, callIdOf(id, ids)));
    const entry = { call, isPlainText };
    this.#open.set(id, entry);
    return entry;
  }

  #add(call: ToolCall): ToolCall {
    this.#calls.push(call);
    return call;
  }
}
