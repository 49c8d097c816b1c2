import type { JsonObject, JsonValue, Stop } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Owner } from '../history/sendable-parts.ts';
import { isObject, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { stopOf } from '../wire/response-end.ts';
import type { AboutResponse, ReaderContext, WireReader } from '../wire/wire.ts';
import { failureOf, rawStopOf, stopWords, strangeAnswer, strangeEvent } from './errors.ts';
import { cutShort, OutputItems } from './items/output-items.ts';
import { usageOf } from './usage.ts';

/** Reads one response of the Responses API. */
export class ResponsesReader implements WireReader {
  readonly #items: OutputItems;
  #about: AboutResponse = {};
  #createdId: string | undefined;
  #stop: Stop | undefined;

  /** `otherTools` are declared besides those of the request. */
  constructor(context: ReaderContext, owner: Owner, otherTools: readonly string[]) {
    const names = (context.request.tools ?? []).map(({ name }) => name);
    const declared = new Set([...names, ...otherTools]);
    this.#items = new OutputItems({
      ...context,
      owner,
      callIds: new Set(),
      isDeclared: (name) => declared.has(name),
    });
  }

  get progress(): 'reading' | 'over' {
    return this.#stop === undefined ? 'reading' : 'over';
  }

  get about(): AboutResponse {
    return this.#about;
  }

  message(event: JsonObject): void {
    if (this.#stop !== undefined) return;
    const { type } = event;
    if (typeof type !== 'string') throw strangeEvent(event);
    const read = itemEvents.get(type);
    if (read === undefined) this.#read(type, event);
    else read(this.#items, event);
  }

  whole(body: JsonValue): void {
    if (!isObject(body) || !Array.isArray(body['output'])) throw strangeAnswer(body);
    this.#hear(body);
    const status = textIn(body, 'status') ?? 'completed';
    if (endings.has(status)) this.#end(status, body);
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
        this.#hear(response);
        return this.#progress(type, event);
    }
  }

  /** `response.web_search_call.searching` and its like; what else is not known is no content. */
  #progress(type: string, event: JsonObject): void {
    const item = this.#items.hosted(event);
    const prefix = item && `response.${item.type}.`;
    if (prefix && type.startsWith(prefix)) item.progress(type.slice(prefix.length));
  }

  /** The same one again is a repeat; another is a second response in the stream of the first. */
  #created(response: JsonObject): void {
    const id = textIn(response, 'id');
    if (this.#createdId !== undefined && id !== this.#createdId) {
      throw fault('protocol_error', 'a second response began before the first had ended');
    }
    this.#createdId = id;
    this.#hear(response);
  }

  #hear(response: JsonObject): void {
    const usage = objectIn(response, 'usage');
    this.#about = {
      usage: usage === undefined ? this.#about.usage : usageOf(usage),
      model: textIn(response, 'model') ?? this.#about.model,
      responseId: textIn(response, 'id') ?? this.#about.responseId,
    };
  }

  #ended(eventStatus: string, response: JsonObject): void {
    this.#hear(response);
    const said = textIn(response, 'status') ?? '';
    this.#end(endings.has(said) ? said : eventStatus, response);
  }

  #end(status: string, response: JsonObject): void {
    if (status === 'failed') throw failureOf(response);
    const isWhole = status === 'completed' || status === 'done';
    const output = objectsIn(response, 'output');
    const isLast = (index: number) => index === output.length - 1;
    const cut = (item: JsonObject, index: number) => cutShort(item, isLast(index));
    this.#items.settle(isWhole ? output : output.map(cut));
    this.#items.end(isWhole);
    const { hasCalls, isRefused } = this.#items;
    const stop = stopOf(isWhole ? 'completed' : rawStopOf(status, response), stopWords, hasCalls);
    const isAnswer = stop.reason === 'stop' || stop.reason === 'tool_use';
    this.#stop = isRefused && isAnswer ? { ...stop, reason: 'refusal' } : stop;
  }
}

const endings: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

type Read = (items: OutputItems, event: JsonObject) => void;

/** Pieces as they stream. */
const pieces: Readonly<Record<string, Read>> = {
  'output_text.delta': (items, event) =>
    items.message(event).append(contentIndex(event), deltaOf(event), false),
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

/** The same, said again as a whole. */
const wholes: Readonly<Record<string, Read>> = {
  'output_text.done': (items, event) =>
    items.message(event, true).settle(contentIndex(event), wholeOf(event, 'text'), false),
  'refusal.done': (items, event) =>
    items.message(event, true).settle(contentIndex(event), wholeOf(event, 'refusal'), true),
  'function_call_arguments.done': (items, event) =>
    items.call(event, 'function_call', true)?.settle(wholeOf(event, 'arguments')),
  'custom_tool_call_input.done': (items, event) =>
    items.call(event, 'custom_tool_call', true)?.settle(wholeOf(event, 'input')),
  'reasoning_summary_text.done': (items, event) =>
    items.reasoning(event, true).settle('summary', summaryIndex(event), wholeOf(event, 'text')),
  'reasoning_text.done': (items, event) =>
    items.reasoning(event, true).settle('full', contentIndex(event), wholeOf(event, 'text')),
  'reasoning_summary_part.done': (items, event) => {
    const whole = textIn(objectIn(event, 'part'), 'text') ?? '';
    items.reasoning(event, true).settle('summary', summaryIndex(event), whole);
  },
  'content_part.done': (items, event) => endPart(items, event, objectIn(event, 'part') ?? {}),
};

const items: Readonly<Record<string, Read>> = {
  'output_item.added': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.open(event, item);
  },
  'output_item.done': (all, event) => {
    const item = objectIn(event, 'item');
    if (item) all.close(event, item);
  },
};

/** What to do with the events that are about items of the output. */
const itemEvents: ReadonlyMap<string, Read> = new Map(
  Object.entries({ ...pieces, ...wholes, ...items }).map(([name, read]) => [
    `response.${name}`,
    read,
  ]),
);

function endPart(all: OutputItems, event: JsonObject, part: JsonObject): void {
  const at = contentIndex(event);
  const text = wholeOf(part, 'text');
  if (part['type'] === 'reasoning_text') return all.reasoning(event, true).settle('full', at, text);
  const refusal = textIn(part, 'refusal');
  // Some servers call reasoning output_text here.
  const thought = refusal === undefined ? all.thoughtAt(event) : undefined;
  if (thought !== undefined) return thought.settleContent(at, text);
  const message = all.message(event, true);
  message.settle(at, refusal ?? text, refusal !== undefined);
  if (refusal === undefined) message.settleCitations(at, part);
}

function deltaOf({ delta }: JsonObject): string {
  return typeof delta === 'string' ? delta : '';
}

function wholeOf(event: JsonObject, key: string): string {
  return textIn(event, key) ?? '';
}

function contentIndex({ content_index }: JsonObject): number {
  return typeof content_index === 'number' ? content_index : 0;
}

function summaryIndex({ summary_index }: JsonObject): number {
  return typeof summary_index === 'number' ? summary_index : 0;
}
