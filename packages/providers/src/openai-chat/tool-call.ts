import {
  type DeltaWriter,
  type Ids,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProviderState,
  parseJson,
  type TextWriter,
  toolCallId,
} from '@millrace/core';
import { isNamePiece } from '../answer/alternatives.ts';
import { fault } from '../errors/wire-fault.ts';
import { GrowingObject } from '../json/fields.ts';
import { PlainInputEncoder } from '../wire/plain-input.ts';

export interface ToolCallContext {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly provider: string;
  readonly model: string;
}

/**
 * One call while it streams. Its part begins with the first argument. Before that, the id can be missing and
 * the name can be incomplete.
 */
export class ChatToolCall {
  readonly #context: ToolCallContext;
  #part: TextWriter | undefined;
  #id: string | undefined;
  #name = '';
  #arguments = '';
  /**
   * The text `{}`, if these arguments may be a placeholder for the real arguments. Otherwise an empty text.
   */
  #placeholder = '';
  readonly #extra = new GrowingObject();
  #nesting: BracketNesting | undefined;
  /** Encodes the plain text input of a custom tool. Undefined for other tools. */
  #plainInput: PlainInputEncoder | undefined;

  /** True if the server sends an index for this call. */
  readonly hasIndex: boolean;

  constructor(context: ToolCallContext, id: string | undefined, hasIndex: boolean) {
    this.#context = context;
    this.#id = id;
    this.hasIndex = hasIndex;
  }

  get id(): string | undefined {
    return this.#id;
  }

  get name(): string {
    return this.#name;
  }

  get hasArguments(): boolean {
    return this.#arguments !== '' || this.#placeholder !== '';
  }

  /**
   * True if all brackets of the arguments are closed. Used only if no other information separates two calls.
   */
  get isComplete(): boolean {
    if (this.#nesting === undefined) {
      this.#nesting = new BracketNesting();
      this.#nesting.feed(this.#arguments);
    }
    return this.#placeholder !== '' || this.#nesting.isClosed;
  }

  setId(id: string): void {
    this.#id ??= id;
    this.#begin();
  }

  /** Adds a complete name, or a piece of a name. */
  addName(name: string): void {
    const isFixed = this.#part !== undefined || this.hasArguments;
    if (isNamePiece(this.#name, name, isFixed)) this.#name += name;
  }

  /** Begins the part if the id and the name are known. Must be called before different content begins. */
  beginIfKnown(): void {
    if (this.#part === undefined && this.#id !== undefined && this.#name !== '') this.#open();
  }

  addArguments(fragment: string): void {
    if (this.#placeholder !== '') {
      if (!fragment.startsWith('{')) this.#write(this.#placeholder);
      this.#placeholder = '';
    }
    if (this.#arguments === '' && fragment === '{}') this.#placeholder = fragment;
    else if (!this.#isRepeat(fragment)) this.#write(fragment);
  }

  /** Adds plain text input of a custom tool. The part stores the input as JSON. */
  addPlainInput(fragment: string): void {
    if (this.#plainInput === undefined) {
      this.#plainInput = new PlainInputEncoder();
      this.addExtra({ type: 'custom' });
      this.#write(PlainInputEncoder.start);
    }
    if (fragment !== '') this.#write(this.#plainInput.append(fragment));
  }

  /** Stores additional fields. They are sent back to the provider unchanged. */
  addExtra(extra: JsonObject): void {
    for (const [name, value] of Object.entries(extra)) this.#extra.set(name, value);
  }

  /**
   * Commits the call at the end of the response. If the response was cut short, the call counts as complete
   * only if its JSON is complete.
   */
  commit(isCutShort: boolean): void {
    if (this.#name === '') throw fault('protocol_error', 'a tool call has no name');
    this.#write(this.#placeholder);
    // Only the end of the response shows whether plain text is complete.
    if (this.#plainInput !== undefined && !isCutShort) this.#write(this.#plainInput.end());
    this.#id ??= this.#context.ids.toolCall();
    const part = this.#begin() ?? this.#open();
    const providerState = this.#state();
    if (isCutShort && !parseJson(this.#arguments).ok) return part.commit({ partial: true });
    const single = deduplicatedArguments(this.#arguments);
    if (single === undefined) return part.commit({ providerState });
    const [id, name] = [toolCallId(this.#id), this.#name];
    const whole = { kind: 'tool_call', toolCallId: id, name, arguments: single } as const;
    part.replace(providerState === undefined ? whole : { ...whole, providerState });
  }

  #isRepeat(fragment: string): boolean {
    // Reading the arguments copies them, which is slow. They are read only if the fragment is likely to be a
    // repetition.
    const isLikely = mayRepeat(fragment, this.#arguments.length);
    return isLikely && isRepeat(fragment, this.#arguments);
  }

  #write(fragment: string): void {
    this.#arguments += fragment;
    this.#nesting?.feed(fragment);
    if (this.#part === undefined) this.#begin();
    else this.#part.append(fragment);
  }

  /** Begins the part as soon as the id, the name and the first argument are known. */
  #begin(): TextWriter | undefined {
    const isKnown = this.#id !== undefined && this.#name !== '' && this.#arguments !== '';
    return this.#part === undefined && isKnown ? this.#open() : this.#part;
  }

  #open(): TextWriter {
    const id = this.#id ?? this.#context.ids.toolCall();
    const part = this.#context.writer.toolCall(toolCallId(id), this.#name);
    part.append(this.#arguments);
    this.#part = part;
    return part;
  }

  #state(): ProviderState | undefined {
    const { provider, model } = this.#context;
    return this.#extra.isEmpty ? undefined : { provider, model, data: this.#extra.value };
  }
}

/** Checks whether all brackets of a JSON text are closed. It reads each character only once. */
class BracketNesting {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasOpened = false;

  feed(text: string): void {
    for (const char of text) {
      if (this.#isInString) this.#inString(char);
      else this.#outside(char);
    }
  }

  get isClosed(): boolean {
    return this.#hasOpened && this.#depth <= 0;
  }

  #inString(char: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (char === '\\') this.#isEscaped = true;
    else if (char === '"') this.#isInString = false;
  }

  #outside(char: string): void {
    if (char === '"') this.#isInString = true;
    else if (char === '{' || char === '[') {
      this.#depth++;
      this.#hasOpened = true;
    } else if (char === '}' || char === ']') this.#depth--;
  }
}

/**
 * Matches texts that may contain several JSON values. A second value can only follow a closing
 * bracket.
 */
const mayBeSeveral = /\}\s*[{"]/;

/**
 * Returns the arguments without repetitions. Some proxies send arguments twice, or send `{}` before the real
 * arguments. Returns undefined if the text is already valid JSON, or if its meaning is unclear.
 */
function deduplicatedArguments(text: string): string | undefined {
  if (!mayBeSeveral.test(text) || parseJson(text).ok) return undefined;
  const [first, ...rest] = separateValues(text) ?? [];
  if (first === undefined || rest.length === 0) return undefined;
  const isRepeated = rest.every((other) => isSameValue(other, first));
  if (isRepeated) return first;
  const real = rest[0];
  return isEmptyObject(first) && rest.length === 1 && real !== undefined ? real : undefined;
}

const brace = 123; // {
const quote = 34; // "

/**
 * Returns whether a fragment may repeat all arguments that arrived before. It checks only lengths and first
 * characters.
 */
function mayRepeat(fragment: string, lengthBefore: number): boolean {
  const first = fragment.charCodeAt(0);
  if (first === brace) return fragment.length === lengthBefore;
  return first === quote && fragment.length >= lengthBefore + 2 && fragment.endsWith('"');
}

/**
 * Returns whether a fragment repeats the arguments, as text or as a JSON string. Only complete arguments can
 * be repeated.
 */
function isRepeat(fragment: string, before: string): boolean {
  const repeated = fragment.startsWith('"') ? parsedValue(fragment) : fragment;
  return repeated === before && parseJson(before).ok;
}

/** Splits a text into JSON values. Returns undefined if a value is incomplete. */
function separateValues(text: string): readonly string[] | undefined {
  const values: string[] = [];
  let rest = text.trim();
  while (rest !== '' && values.length < maxValues) {
    const parsed = parseJson(rest);
    // If more text follows a value, the parser fails at the start of that text.
    const end = parsed.ok ? rest.length : parsed.failure.position;
    const value = rest.slice(0, end).trim();
    if (end === 0 || !parseJson(value).ok) return undefined;
    values.push(value);
    rest = rest.slice(end).trim();
  }
  return rest === '' ? values : undefined;
}

const maxValues = 4;

function isSameValue(text: string, first: string): boolean {
  if (text === first) return true;
  const decoded = parsedValue(text);
  return typeof decoded === 'string' && decoded === first;
}

function isEmptyObject(text: string): boolean {
  const value = parsedValue(text);
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function parsedValue(text: string): JsonValue | undefined {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}
