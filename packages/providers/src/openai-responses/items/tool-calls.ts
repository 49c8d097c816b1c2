import {
  isJsonObject,
  type JsonObject,
  type PartId,
  parseJson,
  type ToolCallId,
  toolCallId,
} from '@millrace/core';
import { fault } from '../../errors/wire-fault.ts';
import { objectIn, objectsIn, textIn } from '../../json/fields.ts';
import { type ItemContext, OutputItem, type ReasoningOrigin } from './output-item.ts';
import { JsonInput, PlainInput, StreamedText } from './streamed-text.ts';

export type CallType = 'function_call' | 'custom_tool_call';

/** A call that the client answers. The tool is a function, or a custom tool with plain text input. */
export class CallItem extends OutputItem {
  readonly type: CallType;
  readonly #input: StreamedText<JsonInput> = new StreamedText(() => this.#begin());
  /** The parts of the calls that a wrapper contains (see `isParallelWrapper`). */
  #unwrapped: readonly PartId[] = [];
  /** The call ids that this item uses. */
  #callIds: ToolCallId[] = [];
  #isCut = false;
  /** True if input arrived that could belong to this call or to a different call. */
  #isDoubtful = false;

  constructor(context: ItemContext, origin: ReasoningOrigin, type: CallType) {
    super(context, origin);
    this.type = type;
  }

  /** True if there is a call that can run. */
  get isCallable(): boolean {
    const isWritten = this.#input.sink !== undefined || this.#unwrapped.length > 0;
    return this.isClosed && !this.#isCut && isWritten;
  }

  /**
   * True if this is a call of a custom tool that the request does not declare. The provider may run such
   * tools itself.
   */
  get isUndeclared(): boolean {
    const name = textIn(this.fields, 'name') ?? '';
    return this.type === 'custom_tool_call' && !this.context.isDeclared(name);
  }

  /** The item with its fields and with the input that has arrived until now. */
  get item(): JsonObject {
    return { ...this.fields, type: this.type, [inputKeys[this.type]]: this.#input.text };
  }

  override differsFrom(item: JsonObject): boolean {
    return isChanged('call_id', this.fields, item) || isChanged('name', this.fields, item);
  }

  /**
   * Returns whether the item is this call with a different call id. The input of the item then replaces the
   * streamed input. Throws if the item has no input.
   */
  isRenamed(item: JsonObject): boolean {
    const isSame = item['type'] === this.type && this.sharesIdWith(item);
    if (!isSame || this.isClosed || isChanged('name', this.fields, item)) return false;
    if (this.#input.text !== '' && inputOf(item, this.type) === '') {
      throw fault('protocol_error', 'a tool call ended with another id and without its arguments');
    }
    return true;
  }

  override open(item: JsonObject): void {
    super.open(item);
    if (!this.isClosed) this.#input.start();
  }

  markDoubtful(): void {
    this.#isDoubtful = true;
  }

  append(chunk: string): void {
    if (!this.isClosed) this.#input.append(chunk);
  }

  setWhole(whole: string): void {
    if (this.isClosed || this.#repeatsEmptyArguments(whole)) return;
    this.#input.setWhole(whole);
    if (whole !== '') this.#isDoubtful = false;
  }

  override matches(item: JsonObject): boolean {
    const whole = inputOf(item, this.type);
    const isSameEnd = isIncomplete(item) === this.#isCut;
    return (
      isSameEnd &&
      !this.differsFrom(item) &&
      (this.#repeatsEmptyArguments(whole) || this.#input.matches(whole))
    );
  }

  override close(item: JsonObject): void {
    this.setWhole(inputOf(item, this.type));
    // If it is still unclear which input belongs to this call, the final output may contain the input.
    if (this.#isDoubtful && !isIncomplete(item)) this.open(item);
    else super.close(item);
  }

  override retract(): void {
    this.#input.retract('withdrawn');
    for (const partId of this.#unwrapped) this.context.writer.retract(partId, 'withdrawn');
    this.#unwrapped = [];
    // The ids become free, so that the item that replaces this one can use them.
    for (const id of this.#callIds) this.context.callIds.delete(id);
    this.#callIds = [];
  }

  override end(isResponseWhole: boolean): void {
    super.end(isResponseWhole);
    // A partial call is only displayed and never runs. Its part stays open until the end of the response.
    if (this.#isCut) this.#input.commit({ partial: true });
  }

  protected override finish(): void {
    this.#isCut = isIncomplete(this.fields);
    if (this.#isWrapper && (this.#isCut || this.#unwrap())) return;
    this.#input.start();
    if (this.#isCut) return;
    if (this.#input.sink === undefined) throw fault('protocol_error', 'a tool call has no name');
    this.#input.commit({ providerState: this.state(this.#ownFields) });
  }

  protected override endWithoutDone(isResponseWhole: boolean): void {
    if (isResponseWhole && this.#isDoubtful) {
      throw fault('protocol_error', 'arguments could belong to several tool calls');
    }
    // Only the end of the item confirms that the input is complete.
    if (isResponseWhole) throw fault('truncated_stream', 'a tool call has no end');
    this.#isCut = true;
  }

  /** Begins the part as soon as the id and the name are known. Returns undefined before that. */
  #begin(): JsonInput | undefined {
    const name = textIn(this.fields, 'name');
    const isEarly = textIn(this.fields, 'call_id') === undefined || this.#isWrapper;
    if (name === undefined || (isEarly && !this.isClosed)) return undefined;
    const id = this.#takeId(textIn(this.fields, 'call_id') ?? '');
    const part = this.context.writer.toolCall(id, name);
    const call = { kind: 'tool_call', toolCallId: id, name } as const;
    return this.type === 'function_call' ? new JsonInput(part, call) : new PlainInput(part, call);
  }

  get #isWrapper(): boolean {
    const name = textIn(this.fields, 'name') ?? '';
    return isParallelWrapper(name, (other) => this.context.isDeclared(other));
  }

  #unwrap(): boolean {
    const calls = unwrapCalls(this.#input.text);
    if (calls === undefined) return false;
    const givenId = textIn(this.fields, 'call_id');
    const providerState = this.state({ type: this.type });
    this.#unwrapped = calls.map((call, index) => {
      const id = this.#takeId(givenId === undefined ? '' : `${givenId}_${index}`);
      const part = { kind: 'tool_call', toolCallId: id, ...call, providerState } as const;
      return this.context.writer.whole(part);
    });
    return true;
  }

  #takeId(givenId: string): ToolCallId {
    const id = takeCallId(this.context, givenId);
    this.#callIds.push(id);
    return id;
  }

  /** The additional fields that the provider must get back with the call, such as its id and its caller. */
  get #ownFields(): JsonObject {
    const { call_id, name, arguments: _arguments, input, status, ...own } = this.fields;
    return { ...own, type: this.type };
  }

  /**
   * Returns whether the arguments are a `{}` that must be ignored. Some servers first send the arguments and
   * then end the item with `{}`.
   */
  #repeatsEmptyArguments(whole: string): boolean {
    const hasInput = this.#isDoubtful || this.#input.text !== '';
    return whole === '{}' && this.type === 'function_call' && hasInput;
  }
}

/** Returns the provider's id, or a new id if the provider's id is invalid or was used before. */
export function takeCallId({ callIds, ids }: ItemContext, givenId: string): ToolCallId {
  const isFree = isValidId(givenId) && !callIds.has(givenId);
  const id = isFree ? toolCallId(givenId) : ids.toolCall();
  callIds.add(id);
  return id;
}

const maxIdLength = 1024;

function isValidId(id: string): boolean {
  return id.length <= maxIdLength && /^\P{Cc}+$/u.test(id) && id.isWellFormed();
}

const inputKeys: Readonly<Record<CallType, string>> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
};

/** Returns whether both objects have a text under this key, and the two texts differ. */
export function isChanged(key: string, fields: JsonObject, item: JsonObject): boolean {
  const [own, other] = [textIn(fields, key), textIn(item, key)];
  return own !== undefined && other !== undefined && own !== other;
}

export function isIncomplete(item: JsonObject): boolean {
  return item['status'] === 'incomplete';
}

function inputOf(item: JsonObject, type: CallType): string {
  const input = item[inputKeys[type]];
  if (typeof input === 'string') return input;
  return isJsonObject(input) ? JSON.stringify(input) : '';
}

const wrapperNames: ReadonlySet<string> = new Set(['parallel', 'multi_tool_use.parallel']);

/**
 * Returns whether a call is a wrapper that contains several parallel calls. Models sometimes call such a tool
 * although no request declares it.
 */
function isParallelWrapper(name: string, isDeclared: (name: string) => boolean): boolean {
  return wrapperNames.has(name) && !isDeclared(name);
}

interface WrappedCall {
  readonly name: string;
  readonly arguments: string;
}

/** Returns the calls that a wrapper contains. Returns undefined if the text is not a wrapper. */
function unwrapCalls(wrapper: string): readonly WrappedCall[] | undefined {
  const parsed = parseJson(wrapper);
  const uses = parsed.ok && isJsonObject(parsed.value) ? objectsIn(parsed.value, 'tool_uses') : [];
  const calls = uses.flatMap((use) => unwrap(use) ?? []);
  return calls.length > 0 && calls.length === uses.length ? calls : undefined;
}

function unwrap(use: JsonObject): WrappedCall | undefined {
  const name = textIn(use, 'recipient_name')?.replace(/^functions\./, '');
  if (name === undefined || name === '') return undefined;
  return { name, arguments: JSON.stringify(objectIn(use, 'parameters') ?? {}) };
}
