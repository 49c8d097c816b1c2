import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type Stop,
  type Usage,
} from '@millrace/core';
import { Alternatives } from '../answer/alternatives.ts';
import { chatLogprobs } from '../answer/logprobs.ts';
import {
  filterRatings,
  knownNumbers,
  moderationRatings,
  type Reported,
  SafetyRatings,
} from '../answer/reported-details.ts';
import { fault } from '../errors/wire-fault.ts';
import { arrayIn, countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { optionsFor } from '../wire/provider-options.ts';
import { stopOf } from '../wire/response-end.ts';
import type { LastAppend, ReaderContext, ReportedResponse, WireReader } from '../wire/wire.ts';
import { failureOf, otherWireFault, stopReasons } from './errors.ts';
import { ExecutedTools } from './executed-tools.ts';
import { AudioBlock, writeImage } from './media.ts';
import {
  type ReasoningOwner,
  reasoningFieldNames,
  reasoningIn,
  TextBlocks,
} from './text-blocks.ts';
import { ChatToolCalls } from './tool-calls.ts';
import { readUsage, timingsOf } from './usage.ts';

/** Reads `chat.completion.chunk` events. */
export class ChatReader implements WireReader {
  readonly #context: ReaderContext;
  readonly #owner: ReasoningOwner;
  readonly #blocks: TextBlocks;
  readonly #calls: ChatToolCalls;
  #audio: AudioBlock | undefined;
  #finishReason: string | undefined;
  /** The last usage report. Some servers send usage once, and others with every chunk. */
  #usage: JsonObject | undefined;
  #model: string | undefined;
  #responseId: string | undefined;
  #lastChunk: JsonObject | undefined;
  #hasStreamed = false;
  readonly #alternatives: Alternatives;
  readonly #executed: ExecutedTools;
  readonly #safety = new SafetyRatings();
  #about: Reported = {};

  constructor(context: ReaderContext, owner: ReasoningOwner) {
    this.#context = context;
    this.#owner = owner;
    this.#calls = new ChatToolCalls({ ...context, ...owner });
    this.#blocks = new TextBlocks(context, owner, () => this.#calls.beginKnownCalls());
    this.#alternatives = new Alternatives(context.request);
    this.#executed = new ExecutedTools(context.writer);
  }

  get progress(): 'reading' | 'answered' | 'done' {
    if (this.#finishReason === undefined) return 'reading';
    return this.#alternatives.areFinished ? 'done' : 'answered';
  }

  get details(): ReportedResponse {
    const usage: Usage | undefined = this.#usage && readUsage(this.#usage);
    return {
      usage,
      model: this.#model,
      responseId: this.#responseId,
      timings: timingsOf(this.#usage),
      ...this.#about,
      safety: this.#safety.list,
    };
  }

  get lastAppend(): LastAppend | undefined {
    const append = this.#lastChunk && textAppendIn(this.#lastChunk);
    return append && { text: append.text, append: (text) => this.#append({ ...append, text }) };
  }

  readMessage(chunk: JsonObject): void {
    this.#lastChunk = chunk;
    const { choices } = chunk;
    if (!Array.isArray(choices)) this.#withoutChoices(chunk);
    const isFirst = this.#responseId === undefined;
    this.#responseId ??= textIn(chunk, 'id');
    this.#model ??= textIn(chunk, 'model');
    this.#noteUsage(chunk['usage'] ?? objectIn(chunk, 'x_groq')?.['usage']);
    const all = arrayIn(chunk, 'choices');
    for (const choice of all) {
      if (!isJsonObject(choice)) continue;
      if ((choice['index'] ?? 0) === 0) this.#choice(choice);
      else this.#otherChoice(choice);
    }
    // Chunks in the middle of an answer only repeat these fields. They are not read again.
    if (isFirst || all.length === 0 || this.#finishReason !== undefined) this.#readAbout(chunk);
    if (chunk['citations'] !== undefined) this.#citations(chunk);
  }

  #citations(chunk: JsonObject): void {
    for (const url of arrayIn(chunk, 'citations')) {
      if (typeof url === 'string') this.#blocks.cite({ url, raw: url });
    }
  }

  readUsageOfError(chunk: JsonObject): void {
    this.#noteUsage(chunk['usage']);
  }

  readWholeBody(body: JsonValue): void {
    if (!isJsonObject(body) || !Array.isArray(body['choices'])) {
      throw fault('protocol_error', 'the answer is neither a stream nor a completion');
    }
    // Perplexity sends an empty delta together with the whole message. The delta is removed.
    const choices = objectsIn(body, 'choices').map(({ delta, ...choice }) =>
      delta === undefined || 'message' in choice ? choice : { ...choice, delta },
    );
    this.readMessage({ ...body, choices });
  }

  finish(): Stop {
    const raw = this.#finishReason ?? '';
    const failure = failureOf(raw);
    if (failure !== undefined) throw failure;
    const stop = stopOf(raw, stopReasons, this.#calls.count > 0);
    this.#blocks.end();
    this.#audio?.commit(this.#owner);
    this.#executed.commit();
    this.#alternatives.write(this.#context.writer);
    this.#calls.commit(stop.reason === 'length' || stop.reason === 'content_filter');
    return this.#blocks.wasRefused && stop.reason === 'stop'
      ? { ...stop, reason: 'refusal' }
      : stop;
  }

  #append(append: TextAppend): void {
    if (append.to === 'arguments') {
      this.#blocks.endCurrent();
      this.#calls.append(append.index, append.text);
    } else if (append.text !== '') {
      if (append.to === 'text') this.#blocks.text(append.text);
      else this.#blocks.reasoning(append.field, append.text);
    }
  }

  #withoutChoices(chunk: JsonObject): void {
    const other = otherWireFault(textIn(chunk, 'type') ?? '');
    if (other !== undefined) throw other;
  }

  #noteUsage(usage: JsonValue | undefined): void {
    if (isJsonObject(usage) && Object.keys(usage).length > 0) this.#usage = usage;
  }

  /** Reads those fields of a chunk that describe the whole response. */
  #readAbout(chunk: JsonObject): void {
    const known = this.#about;
    this.#about = {
      ...known,
      serviceTier: textIn(chunk, 'service_tier') ?? known.serviceTier,
      fingerprint: textIn(chunk, 'system_fingerprint') ?? known.fingerprint,
      upstream: textIn(chunk, 'provider') ?? known.upstream,
      ...serverTimings(chunk),
    };
    for (const { content_filter_results: results } of objectsIn(chunk, 'prompt_filter_results'))
      if (isJsonObject(results)) this.#safety.add(filterRatings(results, 'input'));
    this.#safety.add(moderationRatings(objectIn(chunk, 'moderation')));
  }

  #choice(choice: JsonObject): void {
    const delta = objectIn(choice, 'delta') ?? this.#wholeMessage(choice);
    if (delta !== undefined) this.#delta(delta);
    this.#noteUsage(choice['usage']);
    const { logprobs, content_filter_results: filter } = choice;
    if (isJsonObject(logprobs)) this.#blocks.logprobs(chatLogprobs(logprobs));
    if (isJsonObject(filter)) this.#safety.add(filterRatings(filter, 'output'));
    const reason = textIn(choice, 'finish_reason');
    if (reason === undefined || this.#finishReason !== undefined) return;
    this.#finishReason = reason;
    this.#about = {
      ...this.#about,
      nativeStop: textIn(choice, 'native_finish_reason'),
      // vLLM and SGLang report the stop sequence that ended the answer.
      stopSequence: textIn(choice, 'stop_reason') ?? textIn(choice, 'matched_stop'),
    };
  }

  /** Reads a piece of an additional answer. Only the first answer becomes the item. */
  #otherChoice(choice: JsonObject): void {
    const answer = this.#alternatives.at(countIn(choice, 'index') ?? 0);
    if (answer === undefined) return;
    const delta = objectIn(choice, 'delta') ?? objectIn(choice, 'message') ?? {};
    answer.text(textIn(delta, 'content') ?? '');
    answer.reasoning(reasoningIn(delta)?.text ?? '');
    for (const [position, call] of objectsIn(delta, 'tool_calls').entries()) {
      const called = objectIn(call, 'function');
      const key = String(countIn(call, 'index') ?? position);
      answer.call(key, textIn(called, 'name'), textIn(called, 'arguments') ?? '');
    }
    answer.logprobs(chatLogprobs(choice['logprobs']));
    answer.stop ??= textIn(choice, 'finish_reason');
  }

  /**
   * Returns the message of a server that does not stream. If deltas arrived before, the message only repeats
   * them and is ignored.
   */
  #wholeMessage(choice: JsonObject): JsonObject | undefined {
    return this.#hasStreamed ? undefined : objectIn(choice, 'message');
  }

  #delta(delta: JsonObject): void {
    this.#hasStreamed = true;
    this.#reasoning(delta);
    const { content, tool_calls: calls } = delta;
    if (typeof content === 'string') {
      if (content !== '') this.#blocks.text(content);
    } else if (Array.isArray(content)) this.#contentParts(objectsIn(delta, 'content'));
    if (Array.isArray(calls)) this.#toolCalls(calls);
    this.#rareFields(delta);
  }

  #reasoning(delta: JsonObject): void {
    const reasoning = reasoningIn(delta);
    if (reasoning !== undefined) this.#blocks.reasoning(reasoning.field, reasoning.text);
    if (delta['reasoning_details'] === undefined) return;
    for (const detail of objectsIn(delta, 'reasoning_details')) {
      this.#blocks.detail(detail, reasoning === undefined);
    }
  }

  #toolCalls(entries: JsonArray): void {
    if (entries.length === 0) return;
    this.#blocks.endCurrent();
    this.#calls.add(entries);
  }

  /** Reads a list of content parts. Mistral sends a list if the content contains more than text. */
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
          this.#blocks.cite({ raw: part });
          break;
        case 'image_url':
          writeImage(this.#context.writer, part);
      }
    }
  }

  #rareFields(delta: JsonObject): void {
    if (delta['executed_tools'] !== undefined) {
      this.#blocks.endCurrent();
      this.#executed.add(objectsIn(delta, 'executed_tools'));
    }
    const refusal = textIn(delta, 'refusal');
    if (refusal !== undefined) this.#blocks.sideText('refusal', refusal);
    const legacyCall = objectIn(delta, 'function_call');
    // Snowflake sends an empty `function_call` with every answer. It is ignored.
    const isCall = textIn(legacyCall, 'name') !== undefined || this.#calls.count > 0;
    if (legacyCall !== undefined && isCall) this.#toolCalls([{ index: 0, function: legacyCall }]);
    const audio = objectIn(delta, 'audio');
    if (audio !== undefined) this.#audioDelta(audio);
    for (const image of objectsIn(delta, 'images')) writeImage(this.#context.writer, image);
    for (const annotation of objectsIn(delta, 'annotations')) this.#cite(annotation);
  }

  #audioDelta(audio: JsonObject): void {
    const transcript = textIn(audio, 'transcript');
    if (transcript !== undefined) this.#blocks.sideText('transcript', transcript);
    this.#audio ??= new AudioBlock(this.#context.writer, `audio/${this.#audioFormat}`);
    this.#audio.add(audio);
  }

  get #audioFormat(): string {
    const options = optionsFor(this.#owner.provider, this.#context.request);
    return textIn(objectIn(options, 'audio'), 'format') ?? 'pcm16';
  }

  #cite(annotation: JsonObject): void {
    const cited = objectIn(annotation, 'url_citation');
    if (cited === undefined) return;
    this.#blocks.cite({
      url: textIn(cited, 'url'),
      title: textIn(cited, 'title'),
      raw: annotation,
    });
  }
}

/** Returns the times that llama.cpp reports, in milliseconds. */
function serverTimings(chunk: JsonObject): Pick<Reported, 'timings'> {
  const times = objectIn(chunk, 'timings');
  const inputMs = times?.['prompt_ms'];
  const outputMs = times?.['predicted_ms'];
  const timings = knownNumbers({
    inputMs: typeof inputMs === 'number' ? inputMs : undefined,
    outputMs: typeof outputMs === 'number' ? outputMs : undefined,
  });
  return timings === undefined ? {} : { timings };
}

/** The text that a chunk appends, if appending is the only effect of the chunk. */
type TextAppend =
  | { readonly to: 'text'; readonly text: string }
  | { readonly to: 'reasoning'; readonly field: string; readonly text: string }
  | { readonly to: 'arguments'; readonly index: number; readonly text: string };

/**
 * Returns the text that a chunk appends, or undefined if the chunk has any other effect. It checks every
 * field, because an unknown field can have a meaning.
 */
function textAppendIn(chunk: JsonObject): TextAppend | undefined {
  const [choice, ...others] = arrayIn(chunk, 'choices');
  if (!isJsonObject(choice) || others.length > 0 || (choice['index'] ?? 0) !== 0) return undefined;
  const delta = objectIn(choice, 'delta');
  if (delta === undefined || !isEmpty(choice['finish_reason'])) return undefined;
  // Each chunk has its own log probabilities, so the chunk does more than append text.
  if (!isEmpty(choice['logprobs'])) return undefined;
  const fields = Object.entries(delta).filter(([key, value]) => key !== 'role' && !isEmpty(value));
  const [[key, value] = ['', null]] = fields;
  return fields.length === 1 ? toTextAppend(key, value) : undefined;
}

function toTextAppend(key: string, value: JsonValue): TextAppend | undefined {
  if (key === 'tool_calls') return argumentAppend(value);
  if (typeof value !== 'string') return undefined;
  if (key === 'content') return { to: 'text', text: value };
  return reasoningFieldNames.includes(key)
    ? { to: 'reasoning', field: key, text: value }
    : undefined;
}

/**
 * Returns a fragment of arguments if only an index identifies its call. Returns undefined for other entries.
 */
function argumentAppend(entries: JsonValue): TextAppend | undefined {
  const [entry, ...others] = Array.isArray(entries) ? entries : [];
  if (!isJsonObject(entry) || others.length > 0) return undefined;
  const { index: _index, type: _type, function: called, ...rest } = entry;
  const { arguments: _text, ...restOfCalled } = isJsonObject(called) ? called : {};
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
