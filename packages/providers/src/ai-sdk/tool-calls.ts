import {
  type DeltaWriter,
  type Ids,
  isJsonObject,
  type JsonValue,
  type PartWriter,
  type ProviderState,
  type TextWriter,
  type ToolCallId,
  toolCallId,
  type ValueWriter,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { withContainerSession } from '../history/remote-state.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import type { PartOf } from './model.ts';
import { ownStateOf, type SessionOwner, stateOf, toJsonValue } from './part-state.ts';

/** A call that streams. The package's id identifies the call. */
interface OpenCall {
  readonly call: AiSdkToolCall;
  /**
   * True for a custom tool, whose deltas are plain text. The input of the call is that text as a JSON string.
   */
  readonly isPlainText: boolean;
}

interface ToolCallContext extends StateOwner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
}

/** The calls that the client must run. */
export class AiSdkToolCalls {
  readonly #context: ToolCallContext;
  readonly #calls: AiSdkToolCall[] = [];
  readonly #open = new Map<string, OpenCall>();

  constructor(context: ToolCallContext) {
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

  /** Handles a complete call. Its input may have streamed before. */
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
    // If two different calls have the same id, the second call gets a new id, because each call needs its own
    // result.
    if (!isRepeated)
      this.#add(new AiSdkToolCall(this.#context.writer, this.#context.ids.toolCall())).complete(
        whole,
      );
  }

  /** Removes a call that the provider runs itself. If the part of the call has begun, returns that part. */
  release(id: string): TextWriter | undefined {
    const entry = this.#open.get(id);
    if (entry === undefined || entry.call.whole !== undefined) return undefined;
    this.#open.delete(id);
    return entry.call.handOver();
  }

  /** Ends the response. Returns true if there is a call that the client must run. */
  end(): boolean {
    for (const call of this.#calls) call.end();
    return this.#calls.some(({ whole }) => whole !== undefined);
  }

  #create(id: string, isPlainText: boolean): OpenCall {
    const { writer, ids } = this.#context;
    const call = this.#add(new AiSdkToolCall(writer, validCallId(id, ids)));
    const entry = { call, isPlainText };
    this.#open.set(id, entry);
    return entry;
  }

  #add(call: AiSdkToolCall): AiSdkToolCall {
    this.#calls.push(call);
    return call;
  }
}

/** A complete call that the package reported. */
interface WholeCall {
  readonly name: string;
  readonly input: string;
  readonly providerState: ProviderState | undefined;
}

/**
 * A call for the client while it streams. It is committed only at the end of the response. If a stream is cut
 * off, packages report its incomplete calls first and the cut later.
 */
class AiSdkToolCall {
  readonly #writer: DeltaWriter;
  readonly #id: ToolCallId;
  /** The input that has streamed until now. It is compared with the final input when the call is complete. */
  #streamed = '';
  #part: TextWriter | undefined;
  #name = '';
  #whole: WholeCall | undefined;

  constructor(writer: DeltaWriter, id: ToolCallId) {
    this.#writer = writer;
    this.#id = id;
  }

  get whole(): WholeCall | undefined {
    return this.#whole;
  }

  begin(name: string): void {
    if (name === '' || this.#part !== undefined) return;
    this.#name = name;
    this.#part = this.#writer.toolCall(this.#id, name);
    this.#part.append(this.#streamed);
  }

  append(fragment: string): void {
    this.#streamed += fragment;
    this.#part?.append(fragment);
  }

  /**
   * Sets the final input. If the final input continues the streamed input, the missing text is appended now.
   * Otherwise a new part replaces the streamed part at the end of the response.
   */
  complete(whole: WholeCall): void {
    if (whole.name === '') throw fault('protocol_error', 'a tool call has no name');
    this.#whole = whole;
    this.begin(whole.name);
    if (this.#isContinued(whole)) this.append(whole.input.slice(this.#streamed.length));
  }

  /** Ends the response. If the call was never completed, it is retracted. */
  end(): void {
    if (this.#whole === undefined) return this.#part?.retract('cut');
    const { name, input, providerState } = this.#whole;
    if (this.#isContinued(this.#whole)) return this.#part?.commit({ providerState });
    this.#part?.replace({
      kind: 'tool_call',
      toolCallId: this.#id,
      name,
      arguments: input,
      ...(providerState === undefined ? {} : { providerState }),
    });
  }

  /** Returns the part of a call that the provider runs itself. The caller can then replace the part. */
  handOver(): TextWriter | undefined {
    const part = this.#part;
    this.#part = undefined;
    return part;
  }

  #isContinued({ name, input }: WholeCall): boolean {
    return name === this.#name && input.startsWith(this.#streamed);
  }
}

/** Returns the package's id as a tool call id, or a new id if the package's id is not valid. */
function validCallId(id: unknown, ids: Ids): ToolCallId {
  try {
    return toolCallId(String(id ?? ''));
  } catch {
    return ids.toolCall();
  }
}

type HostedPart =
  | PartOf<'tool-call'>
  | PartOf<'custom'>
  | PartOf<'reasoning-file'>
  | PartOf<'tool-approval-request'>;

/** The result of a hosted call. */
interface HostedResult {
  readonly part: ValueWriter;
  value: JsonValue;
  metadata: unknown;
}

/**
 * Stores parts that only the provider can interpret. They are stored unchanged and sent back in later
 * requests.
 */
export class HostedBlocks {
  readonly #writer: DeltaWriter;
  readonly #owner: SessionOwner;
  /** Preliminary results, by the id of their call. */
  readonly #results = new Map<string, HostedResult>();

  constructor(writer: DeltaWriter, owner: SessionOwner) {
    this.#writer = writer;
    this.#owner = owner;
  }

  /** Stores the part. It replaces the part `instead`, which began as a call for the client. */
  keep(part: HostedPart, instead?: PartWriter | undefined): void {
    const { providerMetadata, ...rest } = part;
    const value = toJson(rest);
    const block = {
      kind: 'custom',
      name: part.type === 'custom' ? part.kind : part.type,
      value,
      providerState: this.#stateOf(value, providerMetadata),
    } as const;
    if (instead === undefined) this.#writer.whole(block);
    else instead.replace(block);
  }

  /** Stores a result. Each preliminary result replaces the previous one until the final result arrives. */
  result(given: PartOf<'tool-result'>): void {
    const { providerMetadata, ...rest } = given;
    const { toolCallId, type } = rest;
    const result = this.#results.get(toolCallId) ?? {
      part: this.#writer.custom(type),
      value: null,
      metadata: undefined,
    };
    result.metadata = providerMetadata ?? result.metadata;
    result.value = toJson(rest);
    result.part.set(result.value);
    this.#results.set(toolCallId, result);
    if (!('preliminary' in rest && rest.preliminary)) this.#commit(toolCallId);
  }

  /** Ends the response. The remaining preliminary results become final. */
  end(): void {
    for (const id of [...this.#results.keys()]) this.#commit(id);
  }

  #stateOf(value: JsonValue, metadata: unknown): ProviderState {
    const { provider, model, session } = this.#owner;
    const { data } = ownStateOf({ provider, model }, metadata);
    const state = isJsonObject(data) ? data : {};
    return { provider, model, data: withContainerSession(state, value, session) };
  }

  #commit(id: string): void {
    const result = this.#results.get(id);
    this.#results.delete(id);
    result?.part.commit({ providerState: this.#stateOf(result.value, result.metadata) });
  }
}

function toJson(part: object): JsonValue {
  return toJsonValue(part) ?? null;
}
