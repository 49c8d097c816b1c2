import { isJsonObject, type JsonObject, parseJson } from '@millrace/core';
import { fault } from '../../errors/wire-fault.ts';
import { textIn } from '../../json/fields.ts';
import { builtInCall } from '../built-ins/built-in-calls.ts';
import { BuiltInItem } from './built-in-item.ts';
import { HostedItem, ImageItem } from './hosted-items.ts';
import { ItemIndex, isUnlisted, matchItems } from './item-index.ts';
import type { ItemContext, OutputItem, ReasoningOrigin } from './output-item.ts';
import { MessageItem, ReasoningItem } from './text-items.ts';
import { CallItem, type CallType } from './tool-calls.ts';

/** Maximum number of items. No response has this many. */
const maxItems = 4096;

/** The items of a response. For each event, it finds the item or creates it. */
export class OutputItems {
  readonly #context: ItemContext;
  readonly #index = new ItemIndex();

  constructor(context: ItemContext) {
    this.#context = context;
  }

  get hasCalls(): boolean {
    const isCall = (item: OutputItem) => item instanceof CallItem || item instanceof BuiltInItem;
    return this.#index.all.some((item) => isCall(item) && item.isCallable);
  }

  get isRefused(): boolean {
    return this.#index.all.some((item) => item instanceof MessageItem && item.isRefused);
  }

  /** Handles the event `output_item.added`. */
  open(event: JsonObject, item: JsonObject): void {
    const found = this.#find(event, item);
    if (found.some((one) => one instanceof CallItem && one.isClosed && one.sharesIdWith(item)))
      return;
    // The item already exists if its pieces arrived before its start, or if the start was sent twice.
    const started = found.find((one) => !one.isClosed && (!one.isOpened || one.sharesIdWith(item)));
    const opened = started ?? this.#add(event, item);
    opened.open(item);
    this.#index.addId(opened, textIn(item, 'id'));
  }

  /** Handles the event `output_item.done`. */
  close(event: JsonObject, item: JsonObject): void {
    const found = this.#find(event, item);
    // Items end in the order in which they started, so the first open item is chosen.
    const known = found.find((one) => !one.isClosed) ?? found.at(-1);
    if (known === undefined) return this.#closeNew(event, item);
    this.#index.addId(known, textIn(item, 'id'));
    if (!known.isClosed) return known.close(item);
    if (known.matches(item)) return;
    // This is a second end of the same item, or the end of a different item at a reused index.
    if (known.sharesIdWith(item)) this.#remove(known);
    this.#add(event, item).close(item);
  }

  message(event: JsonObject, isRepeat = false): MessageItem {
    const found = this.#at(event, 'message', isRepeat).at(-1);
    if (found instanceof MessageItem) return found;
    return this.#put(new MessageItem(this.#context, this.#origin), event);
  }

  reasoning(event: JsonObject, isRepeat = false): ReasoningItem {
    const found = this.#at(event, 'reasoning', isRepeat).at(-1);
    if (found instanceof ReasoningItem) return found;
    return this.#put(new ReasoningItem(this.#context, this.#origin), event);
  }

  /**
   * Returns the call of an event. Returns undefined if several calls match. In this case, only the end events
   * of the calls contain the right input.
   */
  call(event: JsonObject, type: CallType, isRepeat = false): CallItem | undefined {
    const candidates = this.#at(event, type, isRepeat);
    const [first] = candidates;
    if (first === undefined) {
      return this.#put(new CallItem(this.#context, this.#origin, type), event);
    }
    if (candidates.length === 1) return first instanceof CallItem ? first : undefined;
    for (const item of candidates) if (item instanceof CallItem) item.markDoubtful();
    return undefined;
  }

  /** Returns the reasoning item at the index of an event. The type of the event does not matter. */
  reasoningAt(event: JsonObject): ReasoningItem | undefined {
    const { id, index } = locationOf(event);
    const open = this.#index.all.filter((item) => !item.isClosed && isTextItem(item));
    const found = this.#index.single(id, index) ?? (open.length === 1 ? open[0] : undefined);
    return found instanceof ReasoningItem ? found : undefined;
  }

  /**
   * Returns the hosted item of an event, if the item has started. Events before its start are ignored,
   * because the item's end repeats their content.
   */
  hosted(event: JsonObject): HostedItem | undefined {
    const { id, index } = locationOf(event);
    const open = this.#index.all.findLast((item) => item instanceof HostedItem && !item.isClosed);
    const found = this.#index.single(id, index) ?? open;
    return found instanceof HostedItem ? found : undefined;
  }

  image(event: JsonObject): ImageItem | undefined {
    const found = this.hosted(event);
    return found instanceof ImageItem ? found : undefined;
  }

  /**
   * Applies the final output. If an item is missing or different, that item and all later items are written
   * again, so that the order is right.
   */
  applyFinalOutput(output: readonly JsonObject[]): void {
    const matched = matchItems(output, this.#index.all);
    for (const item of this.#index.all) if (isUnlisted(item, output, matched)) this.#remove(item);
    const deviates = (item: JsonObject, index: number) => {
      const known = matched[index];
      if (known === undefined) return true;
      if (!known.isClosed) known.close(item);
      return !known.matches(item);
    };
    const from = output.findIndex(deviates);
    if (from < 0) return;
    for (const item of matched.slice(from)) if (item !== undefined) this.#remove(item);
    for (const item of output.slice(from)) this.#add({}, item).close(item);
  }

  /** Ends the response. Items without an end event are kept, except incomplete calls. */
  end(isResponseWhole: boolean): void {
    if (!isResponseWhole) this.#cutLast();
    this.#releaseServerCalls();
    for (const item of this.#index.all) item.end(isResponseWhole);
  }

  /**
   * Converts calls of undeclared custom tools to hosted items, if the provider has run them. The model always
   * waits for the results of the client's calls. If a message follows a call, the provider itself has
   * therefore run that call.
   */
  #releaseServerCalls(): void {
    const { all } = this.#index;
    const last = all.findLastIndex((item) => item instanceof MessageItem && !item.isEmpty);
    for (const item of all.slice(0, Math.max(last, 0))) {
      if (!(item instanceof CallItem && item.isUndeclared && item.isCallable)) continue;
      const { item: whole } = item;
      this.#remove(item);
      this.#put(new HostedItem(this.#context, this.#origin, item.type), {}).close(whole);
    }
  }

  /**
   * Marks the last call as incomplete if the response was cut short in that call. The call can be incomplete
   * even if it has an end event.
   */
  #cutLast(): void {
    const last = this.#index.all.at(-1);
    if (!(last instanceof CallItem && last.isCallable)) return;
    const cut = markIncomplete(last.item, true);
    if (cut['status'] !== 'incomplete') return;
    this.#remove(last);
    this.#add({}, cut).close(cut);
  }

  #closeNew(event: JsonObject, item: JsonObject): void {
    // Some servers change the call id at the end of a call.
    const renamed = this.#index.all.find((one) => one instanceof CallItem && one.isRenamed(item));
    if (renamed !== undefined) this.#remove(renamed);
    this.#add(event, item).close(item);
  }

  #find(event: JsonObject, item: JsonObject): readonly OutputItem[] {
    const { index } = locationOf(event);
    return this.#index.find({ type: typeOf(item), id: textIn(item, 'id'), index, item });
  }

  /** Returns the items to which an event can belong. Usually exactly one item matches the id or the index. */
  #at(event: JsonObject, type: string, isRepeat: boolean): readonly OutputItem[] {
    const { id, index } = locationOf(event);
    const only = this.#index.single(id, index);
    if (only?.type === type && !only.isClosed) return [only];
    return this.#index.find({ type, id, index, isRepeat });
  }

  get #origin(): ReasoningOrigin {
    const { all } = this.#index;
    const at = all.findLastIndex((item) => item instanceof ReasoningItem);
    const reasoning = all[at];
    // Items without parts are not sent back. An item after them therefore still directly follows the
    // reasoning.
    const isNext = reasoning !== undefined && all.slice(at + 1).every(({ isEmpty }) => isEmpty);
    return { reasoning, isNext };
  }

  #add(event: JsonObject, item: JsonObject): OutputItem {
    const created = createItem(item, this.#context, this.#origin);
    return this.#put(created, { ...event, item_id: textIn(item, 'id') ?? null });
  }

  #put<Item extends OutputItem>(item: Item, event: JsonObject): Item {
    if (this.#index.size >= maxItems) {
      throw fault('protocol_error', `the output has more than ${maxItems} items`);
    }
    const { id, index } = locationOf(event);
    this.#index.add(item, id, index);
    return item;
  }

  #remove(item: OutputItem): void {
    item.retract();
    this.#index.remove(item);
  }
}

interface ItemLocation {
  readonly id: string | undefined;
  readonly index: number | undefined;
}

function locationOf(event: JsonObject): ItemLocation {
  const index = event['output_index'];
  return { id: textIn(event, 'item_id'), index: typeof index === 'number' ? index : undefined };
}

function typeOf(item: JsonObject): string {
  return textIn(item, 'type') ?? 'unknown';
}

function isTextItem(item: OutputItem): boolean {
  return item instanceof MessageItem || item instanceof ReasoningItem;
}

function createItem(item: JsonObject, context: ItemContext, origin: ReasoningOrigin): OutputItem {
  const type = typeOf(item);
  switch (type) {
    case 'message':
      return new MessageItem(context, origin);
    case 'reasoning':
      return new ReasoningItem(context, origin);
    case 'custom_tool_call':
      return context.runsCustomCalls && !context.isDeclared(textIn(item, 'name') ?? '')
        ? new HostedItem(context, origin, type)
        : new CallItem(context, origin, type);
    case 'function_call':
      return new CallItem(context, origin, type);
    case 'image_generation_call':
      return new ImageItem(context, origin, type);
    default: {
      const builtIn = builtInCall(type);
      return builtIn !== undefined && context.isClientRun(builtIn, item)
        ? new BuiltInItem(context, origin, type, builtIn)
        : new HostedItem(context, origin, type);
    }
  }
}

/**
 * Marks an item of a response that was cut short. An item in progress is incomplete. The last call is
 * complete only if its status is `completed` and its arguments are valid JSON. Both conditions are required,
 * because some servers mark every call as completed.
 */
export function markIncomplete(item: JsonObject, isLast: boolean): JsonObject {
  const isCut = item['status'] === 'in_progress' || (isLast && isCall(item) && !isWholeCall(item));
  return isCut ? { ...item, status: 'incomplete' } : item;
}

function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function isWholeCall(item: JsonObject): boolean {
  if (item['status'] !== 'completed') return false;
  if (item['type'] === 'custom_tool_call') return true;
  if (isJsonObject(item['arguments'])) return true;
  const parsed = parseJson(textIn(item, 'arguments') ?? '');
  return parsed.ok && isJsonObject(parsed.value);
}
