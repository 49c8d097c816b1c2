import {
  type DeltaWriter,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Stop,
} from '@millrace/core';
import { Alternatives } from '../answer/alternatives.ts';
import { hasSources, ratingsIn } from '../answer/grounding.ts';
import { geminiLogprobs } from '../answer/logprobs.ts';
import { SafetyRatings } from '../answer/reported-details.ts';
import { fault, ReportedFault, reportsError } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { stopOf } from '../wire/response-end.ts';
import type { ReaderContext, ReportedResponse, WireReader } from '../wire/wire.ts';
import { clip, failureOf, stopReasons } from './errors.ts';
import { TextBlocks } from './text-blocks.ts';
import { GeminiToolCalls } from './tool-calls.ts';
import { UsageTally } from './usage.ts';

interface GeminiReaderOptions extends StateOwner {
  readonly keepsGivenIds: boolean;
}

/** Reads `GenerateContentResponse` events. Each event contains the next parts of the answer. */
export class GeminiReader implements WireReader {
  readonly #blocks: TextBlocks;
  readonly #calls: GeminiToolCalls;
  readonly #usage = new UsageTally();
  readonly #safety = new SafetyRatings();
  readonly #alternatives: Alternatives;
  readonly #writer: DeltaWriter;
  #isUsageFinal = false;
  #finish: { readonly raw: string; readonly message: string | undefined } | undefined;
  /** The reason why the provider blocked the prompt. A blocked prompt has no answer. */
  #blockedPrompt: { readonly raw: string; readonly message: string | undefined } | undefined;
  /** The event with the finish reason. The API can send this event twice. */
  #finishEvent: Finish | undefined;
  #model: string | undefined;
  #responseId: string | undefined;

  constructor(context: ReaderContext, options: GeminiReaderOptions) {
    this.#writer = context.writer;
    this.#alternatives = new Alternatives(context.request);
    this.#blocks = new TextBlocks(context, options);
    this.#calls = new GeminiToolCalls({ ...context, ...options });
  }

  get progress(): 'reading' | 'answered' | 'done' {
    if (this.#blockedPrompt !== undefined) return 'done';
    if (this.#finish === undefined) return 'reading';
    return this.#alternatives.areFinished ? 'done' : 'answered';
  }

  get details(): ReportedResponse {
    return {
      usage: this.#usage.usage(this.#isUsageFinal),
      model: this.#model,
      responseId: this.#responseId,
      serviceTier: this.#usage.trafficType,
      safety: this.#safety.list,
    };
  }

  readMessage(response: JsonObject): void {
    this.#responseId ??= textIn(response, 'responseId');
    this.#model ??= textIn(response, 'modelVersion');
    // The candidates can have any order. The main answer has the index 0, or no index.
    const candidates = objectsIn(response, 'candidates');
    const first = candidates.find(({ index }) => (index ?? 0) === 0);
    if (first !== undefined) this.#candidate(first, response);
    for (const candidate of candidates) {
      const index = countIn(candidate, 'index') ?? 0;
      if (index > 0) this.#alternative(index, candidate);
    }
    const feedback = objectIn(response, 'promptFeedback');
    if (feedback !== undefined) this.#safety.add(ratingsIn(feedback, 'input'));
    const blockReason = textIn(feedback, 'blockReason');
    if (blockReason !== undefined) {
      this.#blockedPrompt = { raw: blockReason, message: textIn(feedback, 'blockReasonMessage') };
    }
    const usage = objectIn(response, 'usageMetadata');
    if (usage !== undefined && this.#usage.add(usage))
      this.#isUsageFinal = this.progress !== 'reading';
  }

  /** Reads a body that is not SSE. Without `alt=sse` in the URL, the body is a JSON array of events. */
  readWholeBody(body: JsonValue): void {
    for (const response of Array.isArray(body) ? body : [body]) {
      if (reportsError(response)) throw new ReportedFault(response);
      if (!isJsonObject(response)) throw fault('protocol_error', 'the answer is not a response');
      this.readMessage(response);
    }
  }

  finish(): Stop {
    const { raw, message } = this.#finish ?? this.#blockedPrompt ?? { raw: '', message: undefined };
    this.#blocks.end();
    this.#calls.close(raw === 'STOP');
    this.#alternatives.write(this.#writer);
    const failure = failureOf(raw, message);
    if (failure !== undefined) throw failure;
    const stop: Stop =
      this.#finish === undefined
        ? { reason: 'content_filter', raw }
        : stopOf(raw, stopReasons, this.#calls.count > 0);
    return message === undefined ? stop : { ...stop, cause: clip(message) };
  }

  #candidate(candidate: JsonObject, response: JsonObject): void {
    const finish = { candidate, response };
    if (this.#finishEvent !== undefined && isRepeatedFinish(this.#finishEvent, finish)) return;
    if (hasSources(candidate)) this.#blocks.cite(candidate);
    if (candidate['safetyRatings'] !== undefined) this.#safety.add(ratingsIn(candidate, 'output'));
    const parts = objectsIn(objectIn(candidate, 'content'), 'parts');
    this.#calls.nextEvent(parts);
    for (const part of parts) this.#part(part);
    const logprobs = objectIn(candidate, 'logprobsResult');
    if (logprobs !== undefined) this.#blocks.logprobs(geminiLogprobs(logprobs));
    const raw = textIn(candidate, 'finishReason');
    if (raw === undefined) return;
    this.#finish = { raw, message: textIn(candidate, 'finishMessage') };
    this.#finishEvent = finish;
  }

  /** Reads a piece of an additional answer. Only the first answer becomes the item. */
  #alternative(index: number, candidate: JsonObject): void {
    const answer = this.#alternatives.at(index);
    if (answer === undefined) return;
    for (const [position, part] of objectsIn(objectIn(candidate, 'content'), 'parts').entries()) {
      const text = textIn(part, 'text') ?? '';
      if (part['thought'] === true) answer.reasoning(text);
      else answer.text(text);
      const call = objectIn(part, 'functionCall');
      const name = textIn(call, 'name');
      // Calls of additional answers arrive complete and have no id, so each call gets its own key.
      if (name !== undefined)
        answer.call(`${answer.length} ${position}`, name, JSON.stringify(call?.['args'] ?? {}));
    }
    const logprobs = objectIn(candidate, 'logprobsResult');
    if (logprobs !== undefined) answer.logprobs(geminiLogprobs(logprobs));
    answer.stop = textIn(candidate, 'finishReason') ?? answer.stop;
  }

  #part(part: JsonObject): void {
    const { text } = part;
    const signature = textIn(part, 'thoughtSignature');
    const isThought = part['thought'] === true;
    const call = objectIn(part, 'functionCall');
    if (typeof text === 'string' && call === undefined) {
      if (isThought) this.#blocks.thought(text, signature);
      else this.#blocks.text(text, signature);
    } else if (call !== undefined) {
      if (typeof text === 'string') this.#blocks.text(text, undefined);
      this.#blocks.close();
      this.#calls.add(call, signature);
    } else this.#otherPart(part, signature, isThought);
  }

  #otherPart(part: JsonObject, signature: string | undefined, isThought: boolean): void {
    const data = objectIn(part, 'inlineData');
    if (data !== undefined) return this.#blocks.media(data, signature, isThought);
    const name = Object.keys(part).find((key) => key !== 'thought' && key !== 'thoughtSignature');
    if (name !== undefined) return this.#blocks.custom(name, part);
    // The part contains only a signature. The signature belongs to an empty text that the API omitted.
    if (isThought) this.#blocks.thought('', signature);
    else this.#blocks.text('', signature);
  }
}

/** A response that has a finish reason, and its candidate, which is the answer. */
interface Finish {
  readonly response: JsonObject;
  readonly candidate: JsonObject;
}

/**
 * Returns true if the last event was sent twice, and false if it is a new event with equal content. If both
 * events have a token count, equal counts mean a repetition. Without counts, equal text is new text, and
 * equal calls are a repetition.
 */
function isRepeatedFinish(earlier: Finish, later: Finish): boolean {
  if (JSON.stringify(earlier.candidate) !== JSON.stringify(later.candidate)) return false;
  const parts = objectsIn(objectIn(later.candidate, 'content'), 'parts');
  const [before, now] = [outputTokens(earlier.response), outputTokens(later.response)];
  if (before !== undefined && now !== undefined) return before === now;
  return parts.every((part) => objectIn(part, 'functionCall') !== undefined || isEmpty(part));
}

function outputTokens(response: JsonObject): number | undefined {
  return countIn(objectIn(response, 'usageMetadata'), 'candidatesTokenCount');
}

function isEmpty({ text = '', inlineData }: JsonObject): boolean {
  return text === '' && inlineData === undefined;
}
