import {
  type DeltaWriter,
  type Ids,
  type JsonValue,
  type PartWriter,
  type ProviderState,
  type TextWriter,
  type ToolCallId,
  toolCallId,
  type ValueWriter,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import type { PartOf } from './model.ts';
import { ownStateOf, stateOf, toJsonValue } from './part-state.ts';

/** One that streams, by the id that the package gives it. */
interface OpenCall {
  readonly call: AiSdkToolCall;
  /** Deltas of custom tools are plain text; the input that they make is that text as JSON. */
  readonly isPlainText: boolean;
}

interface ToolCallContext extends StateOwner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
}

/** The calls that the client is to run. */
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
      this.#add(new AiSdkToolCall(this.#context.writer, this.#context.ids.toolCall())).complete(
        whole,
      );
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

/** What the package says of a call when it is whole. */
interface WholeCall {
  readonly name: string;
  readonly input: string;
  readonly providerState: ProviderState | undefined;
}

/**
 * A call for the client, while it streams. Whole is not yet sure: packages call what a cut stream
 * left of a call whole too, before they say that it was cut. So it is committed at the end.
 */
class AiSdkToolCall {
  readonly #writer: DeltaWriter;
  readonly #id: ToolCallId;
  /** What came of the input, as it was sent; read only when the call is whole. */
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

  /** The package's last word on the input: what is missing is added, a contradiction waits for the end. */
  complete(whole: WholeCall): void {
    if (whole.name === '') throw fault('protocol_error', 'a tool call has no name');
    this.#whole = whole;
    this.begin(whole.name);
    if (this.#isContinued(whole)) this.append(whole.input.slice(this.#streamed.length));
  }

  /** The response is complete. A call that never became whole goes. */
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

  /** It was the provider's after all: gives the part to be replaced. */
  handOver(): TextWriter | undefined {
    const part = this.#part;
    this.#part = undefined;
    return part;
  }

  #isContinued({ name, input }: WholeCall): boolean {
    return name === this.#name && input.startsWith(this.#streamed);
  }
}

/** The id that the package gives, or one of ours where that is not fit to be one. */
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

/** What only the provider can do something with: kept as it came, to be sent again. */
export class HostedBlocks {
  readonly #writer: DeltaWriter;
  readonly #owner: StateOwner;
  /** Results that are preliminary still, by the id of their call. */
  readonly #results = new Map<string, { readonly part: ValueWriter; metadata: unknown }>();

  constructor(writer: DeltaWriter, owner: StateOwner) {
    this.#writer = writer;
    this.#owner = owner;
  }

  /** `instead` is what it was taken for. */
  keep(part: HostedPart, instead?: PartWriter | undefined): void {
    const { providerMetadata, ...rest } = part;
    const block = {
      kind: 'custom',
      name: part.type === 'custom' ? part.kind : part.type,
      value: toJson(rest),
      providerState: ownStateOf(this.#owner, providerMetadata),
    } as const;
    if (instead === undefined) this.#writer.whole(block);
    else instead.replace(block);
  }

  /** Preliminary results replace each other until the last one comes. */
  result(given: PartOf<'tool-result'>): void {
    const { providerMetadata, ...rest } = given;
    const { toolCallId, type } = rest;
    const result = this.#results.get(toolCallId) ?? {
      part: this.#writer.custom(type),
      metadata: undefined,
    };
    result.metadata = providerMetadata ?? result.metadata;
    result.part.set(toJson(rest));
    this.#results.set(toolCallId, result);
    if (!('preliminary' in rest && rest.preliminary)) this.#commit(toolCallId);
  }

  /** The response is complete, and so is what it has of results. */
  end(): void {
    for (const id of [...this.#results.keys()]) this.#commit(id);
  }

  #commit(id: string): void {
    const result = this.#results.get(id);
    this.#results.delete(id);
    result?.part.commit({ providerState: ownStateOf(this.#owner, result.metadata) });
  }
}

function toJson(part: object): JsonValue {
  return toJsonValue(part) ?? null;
}
