import {
  type JsonObject,
  type JsonValue,
  parseJson,
  type TextWriter,
  type ToolCallId,
  toolCallId,
  type ValueWriter,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { arrayIn, textIn } from '../json/fields.ts';
import { isProgrammatic } from './container.ts';
import {
  type BlockContext,
  type BlockEnd,
  initialInput,
  inputFragment,
  type OpenBlock,
} from './open-block.ts';

/** A call to one of the client's tools. */
export class OpenToolUse implements OpenBlock {
  readonly #context: BlockContext;
  readonly #start: JsonObject;
  readonly #part: TextWriter;
  /**
   * The arguments received until now. They are read only when they are complete, because reading a growing
   * string copies it.
   */
  #arguments = '';

  constructor(context: BlockContext, start: JsonObject) {
    const name = textIn(start, 'name');
    if (name === undefined) throw fault('protocol_error', 'a tool call has no name');
    this.#context = context;
    this.#start = start;
    this.#part = context.writer.toolCall(uniqueCallId(textIn(start, 'id'), context), name);
  }

  delta(delta: JsonObject): void {
    this.#append(inputFragment(delta));
  }

  /**
   * True if the call needs data from the end of the message. Only the end shows whether missing arguments
   * mean `{}` or a cut. It also names the container in which the calling code waits.
   */
  get waitsForMessageEnd(): boolean {
    return isProgrammatic(this.#start) || !this.#hasCompleteInput;
  }

  close(end?: BlockEnd): void {
    if (end?.isCut && !this.#hasCompleteInput) return this.#part.commit({ partial: true });
    if (this.#arguments === '') this.#append(initialInput(this.#start));
    const { type: _type, id: _id, name: _name, input: _input, ...rest } = this.#start;
    const container = isProgrammatic(this.#start) ? end?.container : undefined;
    const extra = { ...rest, ...(container === undefined ? {} : { container }) };
    const hasExtra = Object.keys(extra).length > 0;
    this.#part.commit({ providerState: hasExtra ? this.#context.state(extra) : undefined });
  }

  get #hasCompleteInput(): boolean {
    return parseJson(this.#arguments || initialInput(this.#start)).ok;
  }

  #append(fragment: string): void {
    this.#arguments += fragment;
    this.#part.append(fragment);
  }
}

/** Returns the provider's id, or a new id if the provider's id is not valid or is already used. */
function uniqueCallId(given: string | undefined, { ids, usedIds }: BlockContext): ToolCallId {
  const own = given === undefined ? undefined : validCallId(given);
  const id = own === undefined || usedIds.has(own) ? ids.toolCall() : own;
  usedIds.add(id);
  return id;
}

function validCallId(text: string): ToolCallId | undefined {
  try {
    return toolCallId(text);
  } catch {
    return undefined;
  }
}

/** The structured output of the answer. It arrives as the input of the output tool. */
export class OpenOutput implements OpenBlock {
  readonly #start: JsonObject;
  readonly #part: TextWriter;
  readonly #name: string;
  /**
   * The JSON text received until now. It is read only when it is complete, because reading a growing string
   * copies it.
   */
  #json = '';

  constructor({ writer, request, outputTool = '' }: BlockContext, start: JsonObject) {
    this.#start = start;
    this.#part = writer.text({ mimeType: 'application/json' });
    this.#name = request.output?.name ?? outputTool;
  }

  delta(delta: JsonObject): void {
    this.#append(inputFragment(delta));
  }

  /**
   * True if the JSON is not valid yet. Only the end of the message shows whether the output is empty or was
   * cut off.
   */
  get waitsForMessageEnd(): boolean {
    return !parseJson(this.#json || initialInput(this.#start)).ok;
  }

  close(end?: BlockEnd): void {
    const isCut = end?.isCut === true;
    if (this.#json === '') this.#append(initialInput(this.#start) || (isCut ? '' : '{}'));
    const parsed = parseJson(this.#json);
    if (parsed.ok) {
      this.#part.replace({ kind: 'structured', value: parsed.value, name: this.#name });
    } else if (this.#json === '') this.#part.retract('cut');
    else this.#part.commit(isCut ? { partial: true } : {});
  }

  #append(fragment: string): void {
    this.#json += fragment;
    this.#part.append(fragment);
  }
}

/**
 * A block of any other type: a call of a hosted tool, its result, a compaction, or an unknown type. It is
 * stored in the provider's format, including the fields that streamed.
 */
export class OpenCustom implements OpenBlock {
  readonly #context: BlockContext;
  readonly #start: JsonObject;
  readonly #part: ValueWriter;
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, JsonValue>();
  readonly #cited: JsonValue[] = [];

  constructor(context: BlockContext, start: JsonObject) {
    this.#context = context;
    this.#start = start;
    this.#part = context.writer.custom(textIn(start, 'type') ?? 'block');
    this.#part.set(start);
  }

  delta({ type: _type, ...fields }: JsonObject): void {
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'string') this.#texts.set(name, (this.#texts.get(name) ?? '') + value);
      else if (name === 'citation') this.#cited.push(value);
      else if (value !== null) this.#values.set(name, value);
    }
  }

  close(): void {
    const hasGrown = this.#texts.size + this.#values.size + this.#cited.length > 0;
    if (hasGrown) this.#part.set(this.#grown());
    this.#part.commit({ providerState: this.#context.state({}) });
  }

  #grown(): JsonObject {
    const texts = [...this.#texts].map(([name, text]) =>
      name === 'partial_json' ? ['input', this.#input(text)] : [name, this.#text(name, text)],
    );
    const citations = [...arrayIn(this.#start, 'citations'), ...this.#cited];
    return {
      ...this.#start,
      ...Object.fromEntries([...texts, ...this.#values]),
      ...(this.#cited.length === 0 ? {} : { citations }),
    };
  }

  #text(name: string, text: string): string {
    const before = this.#start[name];
    return typeof before === 'string' ? before + text : text;
  }

  /** Returns the parsed value of the streamed text, or the text itself if it is not valid JSON. */
  #input(text: string): JsonValue {
    if (text === '') return this.#start['input'] ?? {};
    const parsed = parseJson(text);
    return parsed.ok ? parsed.value : text;
  }
}
