import type { LiveItem } from '@millrace/client';
import {
  type AskedApproval,
  emptyState,
  type FoldState,
  type ItemId,
  type ItemState,
  isId,
  itemId,
  type OpenPart,
  type Part,
  type PartId,
  partId,
  runId,
  sessionId,
  toItem,
  toolCallId,
} from '@millrace/core';
import type { ChatSource } from '../chat/state/chat-source.ts';
import type { ChatFacts } from '../chat/state/fact-index.ts';
import type { Notice } from '../chat/state/notice.ts';
import { type ChatHelpers, type ChatMessage, type ChatPart, textField } from './chat-helpers.ts';
import { type ConvertedCall, type ConvertedPart, convertPart, sourcesIn } from './message-parts.ts';

type ChatState = Pick<ChatHelpers, 'messages' | 'status' | 'error'>;

/** A message of the AI SDK as items, and the parts from which they were made. */
interface ConvertedMessage {
  readonly message: ChatMessage;
  readonly isOpen: boolean;
  readonly turn: number;
  readonly parts: readonly (ConvertedPart | undefined)[];
  readonly items: readonly ConvertedItem[];
  readonly calls: readonly ConvertedCall[];
  readonly open: readonly OpenPart[];
}

interface ConvertedItem {
  readonly state: ItemState;
  readonly item: LiveItem;
}

/**
 * The messages of `useChat` as a source for components. An unchanged part stays the same object, although
 * the AI SDK copies the whole message with each piece of text. So only changed parts render.
 */
export class MessagesSource implements ChatSource {
  readonly id: string;
  readonly #listeners = new Set<() => void>();
  #converted: readonly ConvertedMessage[] = [];
  #settled: readonly ItemState[] = [];
  #items: ReadonlyMap<ItemId, LiveItem> = new Map();
  #parts: ReadonlyMap<PartId, Part> = new Map();
  #itemIds: readonly ItemId[] = [];
  #startedAt: number | undefined;
  #state: FoldState;
  #facts: ChatFacts;

  constructor(id: string, chat: ChatState) {
    this.id = id;
    this.#state = emptyState(sessionId(usable(id, 'chat')));
    this.#facts = factsOf(chat, new Map(), [], undefined);
    this.#read(chat);
  }

  get state(): FoldState {
    return this.#state;
  }

  get facts(): ChatFacts {
    return this.#facts;
  }

  get itemIds(): readonly ItemId[] {
    return this.#itemIds;
  }

  item(id: ItemId): LiveItem | undefined {
    return this.#items.get(id);
  }

  part(id: PartId): Part | undefined {
    return this.#parts.get(id);
  }

  blob(): Promise<Blob> {
    return Promise.reject(new Error('The messages of useChat have no blobs'));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads the current messages, and notifies the components. */
  update(chat: ChatState): void {
    this.#read(chat);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns the id of the question about a call, for an answer to the AI SDK. */
  approvalId(callId: string): string | undefined {
    const calls = this.#converted.flatMap(({ calls }) => calls);
    return calls.findLast(({ id }) => id === callId)?.approvalId;
  }

  #read(chat: ChatState): void {
    const isBusy = chat.status === 'submitted' || chat.status === 'streaming';
    this.#startedAt = isBusy ? (this.#startedAt ?? Date.now()) : undefined;
    const before = new Map(this.#converted.map((one) => [one.message.id, one]));
    const last = chat.messages.length - 1;
    this.#converted = chat.messages.map((message, at) =>
      convert(message, at + 1, isBusy && at === last, before.get(message.id)),
    );
    const items = this.#converted.flatMap((one) => one.items);
    const ids = items.map(({ item }) => item.id);
    if (!isSameList(ids, this.#itemIds)) this.#itemIds = ids;
    this.#items = new Map(items.map(({ item }) => [item.id, item]));
    this.#parts = new Map(
      items.flatMap(({ item }) => item.partIds.map((id, at) => [id, item.parts[at]] as const)),
    ) as ReadonlyMap<PartId, Part>;
    this.#state = this.#stateOf(isBusy);
    const calls = this.#converted.flatMap((one) => one.calls);
    const facts = new Map(calls.map((call) => [call.id, call.facts]));
    this.#facts = factsOf(chat, facts, this.#itemIds, this.#startedAt);
  }

  #stateOf(isBusy: boolean): FoldState {
    // All messages except the newest form one chunk, which rarely changes. Lookups cache what they find in it.
    const settled = this.#converted.slice(0, -1).flatMap(({ items }) => items.map(stateIn));
    if (!isSameList(settled, this.#settled)) this.#settled = settled;
    const newest = this.#converted.at(-1)?.items.map(stateIn) ?? [];
    const asked = this.#converted.flatMap(({ calls, turn, parts }) =>
      calls.flatMap((call) => questionOf(call, turn, parts)),
    );
    return {
      ...emptyState(this.#state.session),
      items: { before: { before: undefined, chunk: this.#settled }, chunk: newest },
      open: this.#converted.flatMap(({ open }) => open),
      asked: isSameQuestions(asked, this.#state.asked) ? this.#state.asked : asked,
      run: isBusy ? run : undefined,
    };
  }
}

const run = runId('chat');
const stateIn = ({ state }: ConvertedItem) => state;

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

function isSameQuestions(a: readonly AskedApproval[], b: readonly AskedApproval[]): boolean {
  return a.length === b.length && a.every((one, at) => one.toolCallId === b[at]?.toolCallId);
}

function questionOf(
  { id, approvalId }: ConvertedCall,
  turn: number,
  parts: ConvertedMessage['parts'],
): readonly AskedApproval[] {
  if (approvalId === undefined) return [];
  const call = parts.find((one) => one?.call?.id === id)?.part;
  const name = call?.kind === 'tool_call' ? call.name : 'tool';
  const none = { reason: undefined, rule: undefined, from: undefined };
  return [{ turn, attempt: 1, toolCallId: toolCallId(id), name, ...none }];
}

function factsOf(
  { status, error }: ChatState,
  calls: ReadonlyMap<string, ReturnType<ChatFacts['call']>>,
  ids: readonly ItemId[],
  runStartedAt: number | undefined,
): ChatFacts {
  const text: Notice['text'] = (t) => error?.message || t.requestFailed;
  const notices: readonly Notice[] =
    status === 'error' ? [{ id: 1, after: ids.at(-1), time: 0, look: 'bad', text }] : none;
  return {
    ...{ notices, queued: none, runStartedAt },
    lastStop: status === 'error' ? { reason: 'error' } : undefined,
    call: (id) => calls.get(id),
  };
}

const none = [] as const;

/** The longest id of a message or a call that is used as it is. Ids of parts contain it. */
const maxIdLength = 400;

/** Returns an id of the AI SDK if it can be an id here. Returns another one for unusual ids. */
function usable(id: string, other: string): string {
  return id.length <= maxIdLength && isId(id) ? id : other;
}

function convert(
  message: ChatMessage,
  turn: number,
  isOpen: boolean,
  before: ConvertedMessage | undefined,
): ConvertedMessage {
  if (before?.message === message && before.isOpen === isOpen && before.turn === turn)
    return before;
  const name = usable(message.id, `message ${turn}`);
  const citations = sourcesIn(message.parts);
  const lastText = message.parts.findLastIndex(({ type }) => type === 'text');
  const parts = message.parts.map((part, at) => {
    const known = before?.message.parts[at];
    const isCited = at === lastText && citations.length > 0;
    return known !== undefined && !isCited && isSamePart(known, part)
      ? before?.parts[at]
      : convertPart(part, isCited ? citations : []);
  });
  const shown = parts.flatMap((converted, at) =>
    converted === undefined ? [] : [{ id: partId(turn, 1, `${name} ${at}`), converted }],
  );
  const calls = parts.flatMap((one) => one?.call ?? []);
  const itemOfParts = itemId(name);
  const main = makeItem(
    itemOfParts,
    message.role,
    turn,
    isOpen,
    shown.map(({ id, converted: { part } }) => ({ id, part })),
    before?.items[0],
  );
  const results = calls.flatMap(({ result }, at) =>
    result === undefined ? [] : [{ id: partId(turn, 1, `${name} result ${at}`), part: result }],
  );
  const tools = makeItem(
    itemId(`${name} results`),
    'tool',
    turn,
    isOpen,
    results,
    before?.items[1],
  );
  return {
    ...{ message, isOpen, turn, parts, calls },
    items: results.length === 0 ? [main] : [main, tools],
    open: isOpen
      ? shown.flatMap(({ id, converted }) =>
          converted.isOpen ? openPart(id, itemOfParts, converted.part) : [],
        )
      : none,
  };
}

/**
 * Returns true if a part has not changed. The AI SDK copies all parts of a message, so they are compared
 * by their content. A finished output never changes.
 */
function isSamePart(a: ChatPart, b: ChatPart): boolean {
  if (a === b) return true;
  if (a.type !== b.type || textField(a, 'state') !== textField(b, 'state')) return false;
  if (textField(a, 'text') !== undefined) return textField(a, 'text') === textField(b, 'text');
  const isFinal = /^output-(?:available|error|denied)$/.test(textField(b, 'state') ?? '');
  const isGrowing = 'preliminary' in b && b.preliminary === true;
  if (isFinal && !isGrowing) return textField(a, 'toolCallId') === textField(b, 'toolCallId');
  return JSON.stringify(a) === JSON.stringify(b);
}

function makeItem(
  id: ItemId,
  kind: ItemState['kind'],
  turn: number,
  isOpen: boolean,
  slots: readonly { readonly id: PartId; readonly part: Part }[],
  before: ConvertedItem | undefined,
): ConvertedItem {
  const parts = slots.map(({ part }) => part);
  if (before?.item.isOpen === isOpen && isSameList(before.item.parts, parts)) return before;
  const finished = isOpen ? undefined : { turn, attempt: 1 };
  const state: ItemState = {
    ...{ id, kind, turn, attempt: 1, parts: slots, finished, redacted: false },
    stop: isOpen ? undefined : { reason: 'stop' },
    ...{ author: undefined, metadata: undefined, run, startedAt: undefined, finishedAt: undefined },
  };
  const ids = slots.map((slot) => slot.id);
  const known = before?.item.partIds ?? [];
  const item: LiveItem = {
    ...toItem(state),
    ...{ parts, partIds: isSameList(known, ids) ? known : ids, isOpen },
    ...{ startedAt: undefined, finishedAt: undefined },
  };
  return { state, item };
}

/** Returns the record of a part that streams. Components read its id, its kind and its name. */
function openPart(id: PartId, of: ItemId, part: Part): readonly OpenPart[] {
  const head = { type: 'begin_part', partId: id, itemId: of } as const;
  const rest = {
    id,
    itemKind: 'assistant',
    bytes: undefined,
    value: undefined,
    metadata: undefined,
  } as const;
  switch (part.kind) {
    case 'text':
      return [{ ...rest, begin: { ...head, kind: 'text' }, text: part.text }];
    case 'reasoning':
      return [{ ...rest, begin: { ...head, kind: 'reasoning', form: part.form }, text: part.text }];
    case 'tool_call': {
      const { kind, name, toolCallId: callId } = part;
      return [
        { ...rest, begin: { ...head, kind, name, toolCallId: callId }, text: part.arguments },
      ];
    }
    default:
      return none;
  }
}
