import {
  addUsage,
  attemptOf,
  type FoldState,
  findItemOfPart,
  findOpen,
  type LogRecord,
  noUsage,
  type OpenPart,
  type Part,
  type PartId,
  toArray,
} from '@millrace/core';
import { openPart, partOf } from '../../messages/part-content.ts';
import type { ResponseEnd, ResponseStep } from '../openai/response-log.ts';
import { type RunEvent, runEnd, usageEntry } from './run-end.ts';
import {
  messageIdOf,
  messagesOf,
  parentOfCall,
  streamedText,
  type ThreadMessage,
  toolMessage,
} from './thread-messages.ts';

/** What a client knows when a run starts. */
interface RunViewOptions {
  readonly threadId: string;
  readonly runId: string;
  /** The messages before the part of the log that the view receives. */
  readonly earlier: readonly ThreadMessage[];
  /** The ids of the messages that the client has. */
  readonly shown: Iterable<string>;
  /** False if the client needs the whole list of messages, because it has other messages than the session. */
  readonly isInSync: boolean;
  /** The names of the tools that the client runs. */
  readonly callerTools: Iterable<string>;
}

type StreamKind = 'text' | 'reasoning' | 'tool_call';

/**
 * Converts the records of a run to events of AG-UI. It stores the ids of the messages that the client has, but
 * no content. All content comes from the folded state.
 */
export class RunView {
  readonly #options: RunViewOptions;
  readonly #callerTools: ReadonlySet<string>;
  /** The parts that the client receives now, with the ids that the events have. */
  readonly #open = new Map<PartId, { readonly kind: StreamKind; readonly id: string }>();
  /** The parts of which the client received something in this run. */
  readonly #sent = new Set<PartId>();
  readonly #turns = new Set<number>();
  readonly #models = new Map<string, { readonly provider: string; readonly model: string }>();
  /** The calls whose results come from a client. */
  readonly #clientCalls = new Set<string>();
  #shown: Set<string>;
  #isInSync: boolean;
  /** True if the client needs the list of messages, because it has content that is not in the session. */
  #isStale = false;
  /** The ids of retracted reasoning that the client has. */
  #dropped: string[] = [];

  constructor(options: RunViewOptions) {
    this.#options = options;
    this.#callerTools = new Set(options.callerTools);
    this.#shown = new Set(options.shown);
    this.#isInSync = options.isInSync;
  }

  /** True after a turn of the run has started. The messages of the user are then in the state. */
  get hasTurn(): boolean {
    return this.#turns.size > 0;
  }

  /**
   * Returns the events of a record. If records retract messages, the list of messages follows only after the `isLast`
   * record that was read together with them, because one answer can retract thousands of messages.
   */
  add(step: ResponseStep, isLast: boolean): readonly RunEvent[] {
    const { record, before, after, end } = step;
    for (const { toolCallId } of before.fold.awaited) this.#clientCalls.add(toolCallId);
    const events = this.#eventsOf(before.fold, record, after.fold);
    const isListed = this.#isStale && (isLast || end !== undefined);
    const listed = isListed ? this.#snapshot(after.fold) : [];
    const ending = end === undefined ? [] : this.#ending(after.fold, end);
    const all = [...events, ...listed, ...ending];
    return all.map((event) => ({ ...event, timestamp: record.time }));
  }

  /** Reads a record that the client does not need as an event, because a snapshot contains it. */
  skip({ record, before }: ResponseStep): void {
    for (const { toolCallId } of before.fold.awaited) this.#clientCalls.add(toolCallId);
    this.#track(record);
  }

  /** Returns the whole list of messages, and opens the messages that continue. */
  resume(state: FoldState): readonly RunEvent[] {
    const opened = state.open.flatMap((part) => {
      const isOwn = this.#turns.has(attemptOf(part.id).turn);
      return isOwn ? this.#start(state, part) : [];
    });
    return [...this.#snapshot(state), ...opened];
  }

  /** Returns the end of a run whose records are all in a snapshot. */
  end(state: FoldState, end: ResponseEnd): readonly RunEvent[] {
    return this.#ending(state, end);
  }

  #track({ fact, turn, attempt }: LogRecord): void {
    if (fact?.type === 'turn_started') this.#turns.add(turn);
    if (fact?.type !== 'response_started') return;
    const { provider, model } = fact;
    this.#models.set(`${turn}.${attempt}`, { provider, model });
  }

  #eventsOf(before: FoldState, record: LogRecord, after: FoldState): readonly RunEvent[] {
    this.#track(record);
    const { delta, fact, turn, attempt } = record;
    if (fact !== undefined) {
      switch (fact.type) {
        case 'turn_started':
          return this.#synchronize(after);
        case 'attempt_superseded':
          return this.#drop(
            before,
            [...this.#sent].filter((id) => {
              const at = attemptOf(id);
              return at.turn === turn && at.attempt === attempt;
            }),
          );
        case 'snapshot':
          return this.#settled(after, turn);
        default:
          return [];
      }
    }
    if (before === after) return [];
    switch (delta.type) {
      case 'begin_part': {
        const open = findOpen(after, delta.partId);
        return open === undefined || !this.#turns.has(turn) ? [] : this.#start(after, open);
      }
      case 'append_text': {
        const open = findOpen(before, delta.partId);
        return open ? this.#grow(delta.partId, delta.chunk.slice(open.text.length - delta.at)) : [];
      }
      case 'commit_part':
        return this.#commit(before, delta.partId, after);
      case 'retract_part':
        return this.#sent.has(delta.partId) ? this.#drop(before, [delta.partId]) : [];
      default:
        return [];
    }
  }

  /** Opens the message of a part, with the content that the client does not have. */
  #start(state: FoldState, { id: partId, begin, itemKind }: OpenPart): readonly RunEvent[] {
    if (itemKind !== 'assistant') return [];
    if (begin.kind === 'tool_call') return this.#startCall(state, partId, begin);
    if (begin.kind === 'reasoning' && begin.form === 'redacted') return [];
    if (begin.kind !== 'text' && begin.kind !== 'reasoning') return [];
    return this.#startMessage(partId, begin.kind);
  }

  #startMessage(partId: PartId, kind: 'text' | 'reasoning'): readonly RunEvent[] {
    const messageId = messageIdOf(partId);
    this.#open.set(partId, { kind, id: messageId });
    this.#sent.add(partId);
    this.#shown.add(messageId);
    if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }];
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    ];
  }

  #startCall(
    state: FoldState,
    partId: PartId,
    { toolCallId, name }: { readonly toolCallId: string; readonly name: string },
  ): readonly RunEvent[] {
    const parentMessageId = parentOfCall(state, partId);
    this.#open.set(partId, { kind: 'tool_call', id: toolCallId });
    this.#sent.add(partId);
    this.#shown.add(parentMessageId);
    return [{ type: 'TOOL_CALL_START', toolCallId, toolCallName: name, parentMessageId }];
  }

  #grow(partId: PartId, delta: string): readonly RunEvent[] {
    const open = this.#open.get(partId);
    if (open === undefined || delta === '') return [];
    const { kind, id } = open;
    if (kind === 'tool_call') return [{ type: 'TOOL_CALL_ARGS', toolCallId: id, delta }];
    const type = kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT';
    return [{ type, messageId: id, delta }];
  }

  #close(partId: PartId): readonly RunEvent[] {
    const open = this.#open.get(partId);
    if (open === undefined) return [];
    this.#open.delete(partId);
    const { kind, id } = open;
    if (kind === 'tool_call') return [{ type: 'TOOL_CALL_END', toolCallId: id }];
    if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId: id }];
    return [
      { type: 'REASONING_MESSAGE_END', messageId: id },
      { type: 'REASONING_END', messageId: id },
    ];
  }

  #commit(before: FoldState, partId: PartId, after: FoldState): readonly RunEvent[] {
    const part = partOf(after, partId);
    if (part === undefined) return [];
    if (!this.#open.has(partId)) return this.#whole(after, partId, part);
    const sent = findOpen(before, partId)?.text ?? '';
    const text = streamedText(part) ?? '';
    const isMore = text.startsWith(sent);
    const rest = isMore ? this.#grow(partId, text.slice(sent.length)) : [];
    this.#isStale ||= !isMore;
    return [...rest, ...this.#close(partId)];
  }

  /** Emits a part that did not stream: a tool result, or a part without deltas. */
  #whole(state: FoldState, partId: PartId, part: Part): readonly RunEvent[] {
    if (this.#sent.has(partId)) return [];
    if (part.kind === 'tool_result') {
      // The client that ran the tool has the result. Others receive it with the next list of messages.
      const { toolCallId, name } = part;
      if (this.#clientCalls.has(toolCallId) || this.#callerTools.has(name)) return [];
      const { id: messageId, content, metadata } = toolMessage(state, partId, part);
      if (this.#shown.has(messageId)) return [];
      this.#sent.add(partId);
      this.#shown.add(messageId);
      const more = metadata && { metadata };
      return [{ type: 'TOOL_CALL_RESULT', messageId, toolCallId, role: 'tool', content, ...more }];
    }
    const item = findItemOfPart(state, partId);
    const text = streamedText(part);
    if (item?.kind !== 'assistant' || !this.#turns.has(item.turn) || text === undefined) return [];
    const kind = part.kind === 'reasoning' ? 'reasoning' : 'text';
    const started =
      part.kind === 'tool_call'
        ? this.#startCall(state, partId, part)
        : this.#startMessage(partId, kind);
    return [...started, ...this.#grow(partId, text), ...this.#close(partId)];
  }

  /** Emits the parts of a turn whose deltas were replaced by a snapshot. */
  #settled(after: FoldState, turn: number): readonly RunEvent[] {
    const items = toArray(after.items).filter((item) => item.turn === turn);
    return items.flatMap(({ parts }) =>
      parts.flatMap(({ id, part }) => (part === undefined ? [] : this.#settle(after, id, part))),
    );
  }

  #settle(after: FoldState, id: PartId, part: Part): readonly RunEvent[] {
    return this.#open.has(id) ? this.#close(id) : this.#whole(after, id, part);
  }

  /** Ends the messages of retracted parts. The list of messages without them follows. */
  #drop(before: FoldState, dropped: readonly PartId[]): readonly RunEvent[] {
    for (const id of dropped) {
      this.#isStale = true;
      this.#sent.delete(id);
      const part = partOf(before, id) ?? openPart(before, id);
      if (part?.kind === 'reasoning') this.#dropped.push(messageIdOf(id));
    }
    return dropped.flatMap((id) => this.#close(id));
  }

  /** Sends the list of messages if the client does not have all of them. */
  #synchronize(state: FoldState): readonly RunEvent[] {
    const isComplete = messagesOf(state).every(({ id }) => this.#shown.has(id));
    return this.#isInSync && isComplete ? [] : this.#snapshot(state);
  }

  /**
   * Returns the whole list of messages. A client keeps reasoning that is not in the list, unless the list has
   * some reasoning.
   */
  #snapshot(state: FoldState): readonly RunEvent[] {
    const listed = [...this.#options.earlier, ...messagesOf(state)];
    const hasReasoning = listed.some(({ role }) => role === 'reasoning');
    const emptied = hasReasoning ? [] : this.#dropped.slice(0, 1);
    this.#dropped = [];
    this.#isStale = false;
    const messages = [
      ...listed,
      ...emptied.map((id): ThreadMessage => ({ id, role: 'reasoning', content: '' })),
    ];
    this.#shown = new Set(messages.map(({ id }) => id));
    this.#isInSync = true;
    return [{ type: 'MESSAGES_SNAPSHOT', messages }];
  }

  #ending(state: FoldState, end: ResponseEnd): readonly RunEvent[] {
    const closed = [...this.#open.keys()].flatMap((id) => this.#close(id));
    const { threadId, runId } = this.#options;
    const last = runEnd({ threadId, runId, end, state, usage: this.#usage(state) });
    return [...closed, ...this.#synchronize(state), last];
  }

  /** Returns the usage of the run, for each model. */
  #usage({ usage }: FoldState) {
    const own = toArray(usage).filter(({ turn }) => this.#turns.has(turn));
    const byModel = Map.groupBy(own, ({ turn, attempt, of }) =>
      of === undefined ? JSON.stringify(this.#models.get(`${turn}.${attempt}`) ?? {}) : '{}',
    );
    return [...byModel].map(([model, list]) =>
      usageEntry(JSON.parse(model), list.map((one) => one.usage).reduce(addUsage, noUsage)),
    );
  }
}
