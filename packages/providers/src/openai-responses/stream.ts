import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ResponseTimings,
  type SafetyRating,
  type Stop,
} from '@millrace/core';
import {
  filterRatings,
  millisOf,
  moderationRatings,
  SafetyRatings,
} from '../answer/reported-details.ts';
import type { BuiltInTool } from '../contract/built-in-tool.ts';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import { stopOf } from '../wire/response-end.ts';
import type { ReaderContext, ReportedResponse, Resumption, WireReader } from '../wire/wire.ts';
import { isInContainer } from './built-ins/built-in-calls.ts';
import {
  failureOf,
  rawStopOf,
  stopReasons,
  unknownAnswerFault,
  unknownEventFault,
} from './errors.ts';
import { markIncomplete, OutputItems } from './items/output-items.ts';
import { usageOf } from './usage.ts';

interface ResponsesReaderOptions {
  /** Tools that are declared besides those of the request. Default: none. */
  readonly extraTools?: readonly JsonObject[];
  /** True if the provider runs calls of custom tools that the request does not declare. Default: false. */
  readonly runsCustomCalls?: boolean;
  /** Called with each complete response. */
  readonly onWhole?: (response: JsonObject) => void;
  /** True if the server reports that it cut an answer. Default: true. */
  readonly reportsCut?: boolean;
}

/** Reads one response of the Responses API. */
export class ResponsesReader implements WireReader {
  readonly #items: OutputItems;
  #details: ReportedResponse = {};
  readonly #safety = new SafetyRatings();
  #createdId: string | undefined;
  #stop: Stop | undefined;

  /** If the server does not report cuts, an answer with at least this many output tokens counts as cut. */
  readonly #cutTokens: number;
  readonly #onWhole: ResponsesReaderOptions['onWhole'];
  #sequence = -1;

  constructor(context: ReaderContext, owner: StateOwner, options: ResponsesReaderOptions = {}) {
    const { extraTools = [], runsCustomCalls = false, onWhole, reportsCut = true } = options;
    const { maxOutputTokens = Number.POSITIVE_INFINITY } = context.request;
    this.#cutTokens = reportsCut ? Number.POSITIVE_INFINITY : maxOutputTokens;
    this.#onWhole = onWhole;
    const { tools = [] } = context.request;
    const extraNames = extraTools.flatMap((tool) => textIn(tool, 'name') ?? []);
    const declared = new Set([...tools.map(({ name }) => name), ...extraNames]);
    const hosted = new Set(
      extraTools.flatMap((tool) =>
        isInContainer(objectIn(tool, 'environment')) ? [textIn(tool, 'type')] : [],
      ),
    );
    const answering = new Map<BuiltInTool | undefined, string>(
      tools.map(({ answers, name }) => [answers, name]),
    );
    this.#items = new OutputItems({
      ...context,
      owner,
      runsCustomCalls,
      callIds: new Set(),
      isDeclared: (name) => declared.has(name),
      isClientRun: (builtIn, item) => !hosted.has(builtIn.tool) && builtIn.isClientRun(item),
      nameOf: (builtIn) => answering.get(builtIn.id) ?? builtIn.tool,
    });
  }

  get progress(): 'reading' | 'over' {
    return this.#stop === undefined ? 'reading' : 'over';
  }

  get details(): ReportedResponse {
    return this.#details;
  }

  get resumption(): Resumption | undefined {
    const { responseId } = this.#details;
    return responseId === undefined ? undefined : { responseId, sequence: this.#sequence };
  }

  readMessage(event: JsonObject): void {
    if (this.#stop !== undefined) return;
    const { type, sequence_number: sequence } = event;
    if (typeof sequence === 'number') this.#sequence = sequence;
    if (typeof type !== 'string') throw unknownEventFault(event);
    const read = itemEvents.get(type);
    if (read === undefined) this.#read(type, event);
    else read(this.#items, event);
  }

  readWholeBody(body: JsonValue): void {
    if (!isJsonObject(body) || !Array.isArray(body['output'])) throw unknownAnswerFault(body);
    this.#updateDetails(body);
    const status = textIn(body, 'status') ?? 'completed';
    if (finalStatuses.has(status)) this.#end(status, body);
  }

  finish(): Stop {
    return this.#stop ?? { reason: 'unknown' };
  }

  #read(type: string, event: JsonObject): void {
    const response = objectIn(event, 'response') ?? {};
    switch (type) {
      case 'response.created':
        return this.#created(response);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
      case 'response.done':
        return this.#ended(type.slice('response.'.length), response);
      default:
        this.#updateDetails(response);
        return this.#progress(type, event);
    }
  }

  /**
   * Handles events such as `response.web_search_call.searching`. All other unknown events are ignored,
   * because they have no content.
   */
  #progress(type: string, event: JsonObject): void {
    const item = this.#items.hosted(event);
    const prefix = item && `response.${item.type}.`;
    if (prefix && type.startsWith(prefix)) item.progress(type.slice(prefix.length));
  }

  /**
   * Handles the start of a response. A start with the same id is a repetition. A different id means that the
   * stream contains a second response, so the method throws.
   */
  #created(response: JsonObject): void {
    const id = textIn(response, 'id');
    if (this.#createdId !== undefined && id !== this.#createdId) {
      throw fault('protocol_error', 'a second response began before the first had ended');
    }
    this.#createdId = id;
    this.#updateDetails(response);
  }

  #updateDetails(response: JsonObject): void {
    const usage = objectIn(response, 'usage');
    const known = this.#details;
    this.#safety.add(moderationRatings(objectIn(response, 'moderation')));
    for (const filter of objectsIn(response, 'content_filters'))
      this.#safety.add(ratingsIn(filter));
    this.#details = {
      usage: usage === undefined ? known.usage : usageOf(usage),
      model: textIn(response, 'model') ?? known.model,
      responseId: textIn(response, 'id') ?? known.responseId,
      // The request may contain `auto`. The answer contains the tier that was actually used.
      serviceTier: textIn(response, 'service_tier') ?? known.serviceTier,
      fingerprint: textIn(response, 'system_fingerprint') ?? known.fingerprint,
      upstream: textIn(response, 'provider') ?? known.upstream,
      safety: this.#safety.list,
      timings: timingsIn(response) ?? known.timings,
    };
  }

  #ended(eventStatus: string, response: JsonObject): void {
    this.#updateDetails(response);
    const status = textIn(response, 'status') ?? '';
    this.#end(finalStatuses.has(status) ? status : eventStatus, response);
  }

  #end(status: string, response: JsonObject): void {
    if (status === 'failed') throw failureOf(response);
    const isFinal = status === 'completed' || status === 'done';
    const isCut = isFinal && (this.#details.usage?.output ?? 0) >= this.#cutTokens;
    const isWhole = isFinal && !isCut;
    const output = objectsIn(response, 'output');
    const isLast = (index: number) => index === output.length - 1;
    const cut = (item: JsonObject, index: number) => markIncomplete(item, isLast(index));
    this.#items.applyFinalOutput(isWhole ? output : output.map(cut));
    this.#items.end(isWhole);
    if (isWhole) this.#onWhole?.(response);
    const { hasCalls, isRefused } = this.#items;
    const stop: Stop = isCut
      ? { reason: 'length', raw: status, cause: 'max_output_tokens' }
      : stopOf(isWhole ? 'completed' : rawStopOf(status, response), stopReasons, hasCalls);
    const isAnswer = stop.reason === 'stop' || stop.reason === 'tool_use';
    this.#stop = isRefused && isAnswer ? { ...stop, reason: 'refusal' } : stop;
  }
}

/**
 * Reads the ratings of one of Azure's filters: `{ source_type: 'prompt', content_filter_results }`.
 */
function ratingsIn(filter: JsonObject): readonly SafetyRating[] {
  const about = filter['source_type'] === 'prompt' ? 'input' : 'output';
  return filterRatings(objectIn(filter, 'content_filter_results'), about);
}

/** Returns the duration of the response. The provider reports the start time and the end time in seconds. */
function timingsIn({ created_at, completed_at }: JsonObject): ResponseTimings | undefined {
  if (typeof created_at !== 'number' || typeof completed_at !== 'number') return undefined;
  const totalMs = millisOf(completed_at - created_at);
  return totalMs === undefined ? undefined : { totalMs };
}

const finalStatuses: ReadonlySet<string> = new Set([
  'completed',
  'incomplete',
  'failed',
  'cancelled',
]);

type EventHandler = (items: OutputItems, event: JsonObject) => void;

/** The handlers for events that contain a piece of content. */
const deltaEvents: Readonly<Record<string, EventHandler>> = {
  'output_text.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), false, event['logprobs']),
  'refusal.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), true),
  'function_call_arguments.delta': (items, event) =>
    items.call(event, 'function_call')?.append(deltaOf(event)),
  'custom_tool_call_input.delta': (items, event) =>
    items.call(event, 'custom_tool_call')?.append(deltaOf(event)),
  'reasoning_summary_text.delta': (items, event) =>
    items.reasoning(event).append('summary', summaryIndex(event), deltaOf(event)),
  'reasoning_text.delta': (items, event) =>
    items.reasoning(event).append('full', contentIndex(event), deltaOf(event)),
  'output_text.annotation.added': (items, event) => {
    const annotation = objectIn(event, 'annotation');
    if (annotation) items.message(event, true).cite(contentIndex(event), annotation);
  },
  'image_generation_call.partial_image': (items, event) => items.image(event)?.preview(event),
};

/** The handlers for events that repeat a whole content. */
const doneEvents: Readonly<Record<string, EventHandler>> = {
  'output_text.done': (items, event) => {
    const message = items.message(event, true);
    message.setWhole(contentIndex(event), wholeText(event, 'text'), false);
    message.setLogprobs(contentIndex(event), event);
  },
  'refusal.done': (items, event) =>
    items.message(event, true).setWhole(contentIndex(event), wholeText(event, 'refusal'), true),
  'function_call_arguments.done': (items, event) =>
    items.call(event, 'function_call', true)?.setWhole(wholeText(event, 'arguments')),
  'custom_tool_call_input.done': (items, event) =>
    items.call(event, 'custom_tool_call', true)?.setWhole(wholeText(event, 'input')),
  'reasoning_summary_text.done': (items, event) =>
    items.reasoning(event, true).setWhole('summary', summaryIndex(event), wholeText(event, 'text')),
  'reasoning_text.done': (items, event) =>
    items.reasoning(event, true).setWhole('full', contentIndex(event), wholeText(event, 'text')),
  'reasoning_summary_part.done': (items, event) => {
    const whole = textIn(objectIn(event, 'part'), 'text') ?? '';
    items.reasoning(event, true).setWhole('summary', summaryIndex(event), whole);
  },
  'content_part.done': (items, event) =>
    endContentPart(items, event, objectIn(event, 'part') ?? {}),
};

const itemEventsByName: Readonly<Record<string, EventHandler>> = {
  'output_item.added': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.open(event, item);
  },
  'output_item.done': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.close(event, item);
  },
};

/** The handlers for all events about output items. */
const itemEvents: ReadonlyMap<string, EventHandler> = new Map(
  Object.entries({ ...deltaEvents, ...doneEvents, ...itemEventsByName }).map(([name, read]) => [
    `response.${name}`,
    read,
  ]),
);

function endContentPart(all: OutputItems, event: JsonObject, part: JsonObject): void {
  const at = contentIndex(event);
  const text = wholeText(part, 'text');
  if (part['type'] === 'reasoning_text')
    return all.reasoning(event, true).setWhole('full', at, text);
  const refusal = textIn(part, 'refusal');
  // Some servers send reasoning as output text in this event.
  const thought = refusal === undefined ? all.reasoningAt(event) : undefined;
  if (thought !== undefined) return thought.setWholeContent(at, text);
  const message = all.message(event, true);
  message.setWhole(at, refusal ?? text, refusal !== undefined);
  if (refusal === undefined) message.setCitations(at, part);
  message.setLogprobs(at, part);
}

function deltaOf({ delta }: JsonObject): string {
  return typeof delta === 'string' ? delta : '';
}

function wholeText(event: JsonObject, key: string): string {
  return textIn(event, key) ?? '';
}

function contentIndex({ content_index }: JsonObject): number {
  return typeof content_index === 'number' ? content_index : 0;
}

function summaryIndex({ summary_index }: JsonObject): number {
  return typeof summary_index === 'number' ? summary_index : 0;
}
