import type { JsonObject } from '@millrace/core';
import { textIn } from '../wire/fields.ts';
import { fault } from '../wire/wire-fault.ts';
import { CallItem, type CallType } from './call-item.ts';
import { HostedItem } from './hosted-item.ts';
import { ImageItem } from './image-item.ts';
import { matchItems } from './match-items.ts';
import { MessageItem } from './message-item.ts';
import type { ItemContext, Origin, OutputItem } from './output-item.ts';
import { ReasoningItem } from './reasoning-item.ts';

/** Far more than any response has. */
const maxItems = 4096;

/** The items of a response, by their places: ids may differ from event to event. */
export class OutputItems {
  readonly #context: ItemContext;
  readonly #byIndex = new Map<number, OutputItem>();
  /** In the order in which they began. */
  #all: OutputItem[] = [];
  #latestIndex = -1;

  constructor(context: ItemContext) {
    this.#context = context;
  }

  get hasCalls(): boolean {
    return this.#all.some((item) => item instanceof CallItem && item.isCallable);
  }

  get isRefused(): boolean {
    return this.#all.some((item) => item instanceof MessageItem && item.isRefused);
  }

  /** `output_item.added` */
  open(event: JsonObject, item: JsonObject): void {
    const index = indexOf(event) ?? this.#latestIndex + 1;
    const type = typeOf(item);
    const there = this.#byIndex.get(index);
    // Its pieces came first, or the event came twice; else the place is used again.
    const isSame = there?.type === type && !there.isClosed && isSameId(there, item);
    const opened = isSame ? there : this.#add(index, type);
    opened.open(item);
  }

  /** `output_item.done` */
  close(event: JsonObject, item: JsonObject): void {
    const type = typeOf(item);
    const index = this.#place(event);
    const there = this.#byIndex.get(index);
    const known = there?.type === type ? there : this.#all.findLast((one) => isOpen(one, type));
    if (known === undefined) return this.#add(index, type).close(item);
    if (!known.isClosed) return known.close(item);
    if (!known.agrees(item)) this.#settleAgain(known, index, item);
  }

  message(event: JsonObject): MessageItem {
    const there = this.#at(event);
    if (there instanceof MessageItem) return there;
    return this.#put(this.#place(event), new MessageItem(this.#context, this.#origin));
  }

  reasoning(event: JsonObject): ReasoningItem {
    const there = this.#at(event);
    if (there instanceof ReasoningItem) return there;
    return this.#put(this.#place(event), new ReasoningItem(this.#context, this.#origin));
  }

  call(event: JsonObject, type: CallType): CallItem {
    const there = this.#at(event);
    if (there instanceof CallItem && there.type === type) return there;
    return this.#put(this.#place(event), new CallItem(this.#context, this.#origin, type));
  }

  /** Only one that was opened: its events have nothing that its end does not have. */
  hosted(event: JsonObject): HostedItem | undefined {
    const there = this.#at(event);
    return there instanceof HostedItem ? there : undefined;
  }

  image(event: JsonObject): ImageItem | undefined {
    const there = this.#at(event);
    return there instanceof ImageItem ? there : undefined;
  }

  /**
   * The output as the end of the response has it. From the first item on that streamed otherwise, or
   * not at all, everything is written anew, so that the order is right.
   */
  settle(output: readonly JsonObject[]): void {
    const matched = matchItems(output, this.#all);
    const deviates = (item: JsonObject, index: number) => {
      const known = matched[index];
      if (known === undefined) return true;
      if (!known.isClosed) known.close(item);
      return !known.agrees(item);
    };
    const from = output.findIndex(deviates);
    if (from < 0) return;
    const stale = new Set(matched.slice(from));
    for (const item of stale) item?.retract();
    this.#all = this.#all.filter((item) => !stale.has(item));
    for (const item of output.slice(from))
      this.#add(this.#latestIndex + 1, typeOf(item)).close(item);
  }

  /** The response ended: what has no end of its own is kept, as far as it cannot be half a call. */
  end(isResponseWhole: boolean): void {
    for (const item of this.#all) item.end(isResponseWhole);
  }

  /** A second end of the same item, or the end of another at a place that is used again. */
  #settleAgain(known: OutputItem, index: number, item: JsonObject): void {
    if (known.id !== undefined && known.id === textIn(item, 'id')) {
      known.retract();
      this.#all = this.#all.filter((one) => one !== known);
    }
    this.#add(index, known.type).close(item);
  }

  #at(event: JsonObject): OutputItem | undefined {
    return this.#byIndex.get(this.#place(event));
  }

  #place(event: JsonObject): number {
    return indexOf(event) ?? Math.max(this.#latestIndex, 0);
  }

  get #origin(): Origin {
    const reasoning = this.#all.findLast((item) => item instanceof ReasoningItem);
    return { reasoning, isNext: reasoning !== undefined && this.#all.at(-1) === reasoning };
  }

  #add(index: number, type: string): OutputItem {
    return this.#put(index, createItem(type, this.#context, this.#origin));
  }

  #put<Item extends OutputItem>(index: number, item: Item): Item {
    if (this.#all.length >= maxItems) {
      throw fault('protocol_error', `the output has more than ${maxItems} items`);
    }
    this.#all.push(item);
    this.#byIndex.set(index, item);
    this.#latestIndex = index;
    return item;
  }
}

function createItem(type: string, context: ItemContext, origin: Origin): OutputItem {
  switch (type) {
    case 'message':
      return new MessageItem(context, origin);
    case 'reasoning':
      return new ReasoningItem(context, origin);
    case 'function_call':
    case 'custom_tool_call':
      return new CallItem(context, origin, type);
    case 'image_generation_call':
      return new ImageItem(context, origin, type);
    default:
      return new HostedItem(context, origin, type);
  }
}

function indexOf(event: JsonObject): number | undefined {
  const index = event['output_index'];
  return typeof index === 'number' ? index : undefined;
}

function typeOf(item: JsonObject): string {
  return textIn(item, 'type') ?? 'unknown';
}

function isOpen(item: OutputItem, type: string): boolean {
  return item.type === type && !item.isClosed;
}

function isSameId({ id }: OutputItem, item: JsonObject): boolean {
  return id === undefined || id === textIn(item, 'id');
}
