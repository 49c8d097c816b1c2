import type { JsonArray, JsonObject, JsonValue, Stop, Usage } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { arrayIn, countIn, isObject, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { stopOf } from '../wire/response-end.ts';
import type { AboutResponse, LastAppend, ReaderContext, WireReader } from '../wire/wire.ts';
import { failureOf, otherWire, stopWords } from './errors.ts';
import { AudioBlock, writeImage } from './media.ts';
import { Flow, type ReasoningOwner, reasoningFieldNames, reasoningIn } from './text-blocks.ts';
import { ToolCalls } from './tool-calls.ts';
import { readUsage } from './usage.ts';

/** Reads `chat.completion.chunk`s. */
export class ChatReader implements WireReader {
  readonly #context: ReaderContext;
  readonly #flow: Flow;
  readonly #calls: ToolCalls;
  #audio: AudioBlock | undefined;
  #finishReason: string | undefined;
  /** The last that came: some servers say it once, some again and again. */
  #usage: JsonObject | undefined;
  #model: string | undefined;
  #responseId: string | undefined;
  #lastChunk: JsonObject | undefined;
  #hasStreamed = false;

  constructor(context: ReaderContext, owner: ReasoningOwner) {
    this.#context = context;
    this.#calls = new ToolCalls({ ...context, ...owner });
    this.#flow = new Flow(context, owner, () => this.#calls.takePlaces());
  }

  get progress(): 'reading' | 'done' {
    return this.#finishReason === undefined ? 'reading' : 'done';
  }

  get about(): AboutResponse {
    const usage: Usage | undefined = this.#usage && readUsage(this.#usage);
    return { usage, model: this.#model, responseId: this.#responseId };
  }

  get lastAppend(): LastAppend | undefined {
    const sole = this.#lastChunk && soleAppend(this.#lastChunk);
    return sole && { text: sole.text, append: (text) => this.#append({ ...sole, text }) };
  }

  message(chunk: JsonObject): void {
    this.#lastChunk = chunk;
    const { choices } = chunk;
    if (!Array.isArray(choices)) this.#withoutChoices(chunk);
    this.#responseId ??= textIn(chunk, 'id');
    this.#model ??= textIn(chunk, 'model');
    this.#noteUsage(chunk['usage'] ?? objectIn(chunk, 'x_groq')?.['usage']);
    for (const choice of arrayIn(chunk, 'choices')) {
      if (isObject(choice) && (choice['index'] ?? 0) === 0) this.#choice(choice);
    }
    if (chunk['citations'] !== undefined) this.#citations(chunk);
  }

  #citations(chunk: JsonObject): void {
    for (const url of arrayIn(chunk, 'citations')) {
      if (typeof url === 'string') this.#flow.cite({ url, raw: url });
    }
  }

  whole(body: JsonValue): void {
    if (!isObject(body) || !Array.isArray(body['choices'])) {
      throw fault('protocol_error', 'the answer is neither a stream nor a completion');
    }
    this.message(body);
  }

  finish(): Stop {
    const raw = this.#finishReason ?? '';
    const failure = failureOf(raw);
    if (failure !== undefined) throw failure;
    const stop = stopOf(raw, stopWords, this.#calls.count > 0);
    this.#flow.end();
    this.#audio?.commit();
    this.#calls.commit(stop.reason === 'length' || stop.reason === 'content_filter');
    return this.#flow.wasRefused && stop.reason === 'stop' ? { ...stop, reason: 'refusal' } : stop;
  }

  #append(sole: SoleAppend): void {
    if (sole.to === 'arguments') {
      this.#flow.breakOff();
      this.#calls.append(sole.index, sole.text);
    } else if (sole.text !== '') {
      if (sole.to === 'text') this.#flow.text(sole.text);
      else this.#flow.reasoning(sole.field, sole.text);
    }
  }

  #withoutChoices(chunk: JsonObject): void {
    const other = otherWire(textIn(chunk, 'type') ?? '');
    if (other !== undefined) throw other;
  }

  #noteUsage(usage: JsonValue | undefined): void {
    if (isObject(usage) && Object.keys(usage).length > 0) this.#usage = usage;
  }

  #choice(choice: JsonObject): void {
    const delta = objectIn(choice, 'delta') ?? this.#wholeMessage(choice);
    if (delta !== undefined) this.#delta(delta);
    this.#noteUsage(choice['usage']);
    this.#finishReason ??= textIn(choice, 'finish_reason');
  }

  /** Of a server that does not stream. After deltas it only repeats them. */
  #wholeMessage(choice: JsonObject): JsonObject | undefined {
    return this.#hasStreamed ? undefined : objectIn(choice, 'message');
  }

  #delta(delta: JsonObject): void {
    this.#hasStreamed = true;
    this.#reasoning(delta);
    const { content, tool_calls: calls } = delta;
    if (typeof content === 'string') {
      if (content !== '') this.#flow.text(content);
    } else if (Array.isArray(content)) this.#contentParts(objectsIn(delta, 'content'));
    if (Array.isArray(calls)) this.#toolCalls(calls);
    this.#seldom(delta);
  }

  #reasoning(delta: JsonObject): void {
    const reasoning = reasoningIn(delta);
    if (reasoning !== undefined) this.#flow.reasoning(reasoning.field, reasoning.text);
    if (delta['reasoning_details'] === undefined) return;
    for (const detail of objectsIn(delta, 'reasoning_details')) {
      this.#flow.detail(detail, reasoning === undefined);
    }
  }

  #toolCalls(entries: JsonArray): void {
    if (entries.length === 0) return;
    this.#flow.breakOff();
    this.#calls.add(entries);
  }

  /** Mistral's content is a list when there is more than text in it. */
  #contentParts(parts: readonly JsonObject[]): void {
    for (const part of parts) {
      switch (part['type']) {
        case 'text':
          this.#append({ to: 'text', text: textIn(part, 'text') ?? '' });
          break;
        case 'thinking':
          for (const thought of objectsIn(part, 'thinking')) {
            const text = textIn(thought, 'text') ?? '';
            this.#append({ to: 'reasoning', field: 'thinking', text });
          }
          break;
        case 'reference':
          this.#flow.cite({ raw: part });
          break;
        case 'image_url':
          writeImage(this.#context.writer, part);
      }
    }
  }

  #seldom(delta: JsonObject): void {
    const refusal = textIn(delta, 'refusal');
    if (refusal !== undefined) this.#flow.aside('refusal', refusal);
    const legacyCall = objectIn(delta, 'function_call');
    if (legacyCall !== undefined) this.#toolCalls([{ index: 0, function: legacyCall }]);
    const audio = objectIn(delta, 'audio');
    if (audio !== undefined) this.#sound(audio);
    for (const image of objectsIn(delta, 'images')) writeImage(this.#context.writer, image);
    for (const annotation of objectsIn(delta, 'annotations')) this.#cite(annotation);
  }

  #sound(audio: JsonObject): void {
    const transcript = textIn(audio, 'transcript');
    if (transcript !== undefined) this.#flow.aside('transcript', transcript);
    const data = textIn(audio, 'data');
    if (data === undefined) return;
    const options = objectIn(this.#context.request.providerOptions, 'audio');
    const format = textIn(options, 'format') ?? 'pcm16';
    this.#audio ??= new AudioBlock(this.#context.writer, `audio/${format}`);
    this.#audio.append(data);
  }

  #cite(annotation: JsonObject): void {
    const cited = objectIn(annotation, 'url_citation');
    if (cited === undefined) return;
    this.#flow.cite({ url: textIn(cited, 'url'), title: textIn(cited, 'title'), raw: annotation });
  }
}

/** What a chunk appends that says nothing else. */
type SoleAppend =
  | { readonly to: 'text'; readonly text: string }
  | { readonly to: 'reasoning'; readonly field: string; readonly text: string }
  | { readonly to: 'arguments'; readonly index: number; readonly text: string };

/** Looks at every field, because one that is not known may mean something. */
function soleAppend(chunk: JsonObject): SoleAppend | undefined {
  const [choice, ...others] = arrayIn(chunk, 'choices');
  if (!isObject(choice) || others.length > 0 || (choice['index'] ?? 0) !== 0) return undefined;
  const delta = objectIn(choice, 'delta');
  if (delta === undefined || !isEmpty(choice['finish_reason'])) return undefined;
  const said = Object.entries(delta).filter(([key, value]) => key !== 'role' && !isEmpty(value));
  const [[key, value] = ['', null]] = said;
  return said.length === 1 ? appendOf(key, value) : undefined;
}

function appendOf(key: string, value: JsonValue): SoleAppend | undefined {
  if (key === 'tool_calls') return argumentsOf(value);
  if (typeof value !== 'string') return undefined;
  if (key === 'content') return { to: 'text', text: value };
  return reasoningFieldNames.includes(key)
    ? { to: 'reasoning', field: key, text: value }
    : undefined;
}

/** A fragment that only its index assigns to its call. */
function argumentsOf(entries: JsonValue): SoleAppend | undefined {
  const [entry, ...others] = Array.isArray(entries) ? entries : [];
  if (!isObject(entry) || others.length > 0) return undefined;
  const { index: _index, type: _type, function: called, ...rest } = entry;
  const { arguments: _text, ...restOfCalled } = isObject(called) ? called : {};
  const index = countIn(entry, 'index');
  const text = textIn(objectIn(entry, 'function'), 'arguments');
  const isBare = Object.values({ ...rest, ...restOfCalled }).every(isEmpty);
  return isBare && index !== undefined && text !== undefined
    ? { to: 'arguments', index, text }
    : undefined;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}
