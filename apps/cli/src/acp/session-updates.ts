import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import type { AgentEvent, Item, JsonValue, Part, PartId, ToolCallId } from '@millrace/core';
import { endedCommand, type TodoTask } from '@millrace/tools';
import type { ChatState, EventOf } from '../chat/contract/chat-state.ts';
import { printable, printableOutput, withoutStyles } from '../text/cells/printable.ts';
import { describeCall, fenced, fieldsOf, kindOf, shortTitle, textContent } from './call-view.ts';
import { blockOfPart } from './prompt-content.ts';

/** The tool whose calls are shown as a plan. */
const planTool = 'todo';
/** Maximum length of the result of a call that is sent to the editor. */
const maxResultLength = 24_000;

interface SessionUpdatesOptions {
  readonly cwd: string;
  /** True if the editor shows terminals whose output the agent sends. */
  readonly hasTerminals: boolean;
  /** Returns true if the editor itself sent the message. It shows such a message already. */
  readonly isOwn: (itemId: Item['id']) => boolean;
}

interface SentCall {
  readonly turn: number;
  readonly attempt: number;
  /** True if the editor shows the output of the call as a terminal. */
  readonly isTerminal: boolean;
  /** True after output was sent to the terminal. */
  hasOutput: boolean;
  /** The start of a control sequence at the end of the output, which is not complete yet. */
  held?: string;
}

/**
 * Converts events of a session to updates of the protocol. It stores only what the editor has received:
 * the open calls, and the open parts that were streamed.
 */
export class SessionUpdates {
  readonly #options: SessionUpdatesOptions;
  readonly #calls = new Map<ToolCallId, SentCall>();
  readonly #streamed = new Set<PartId>();
  #tasks: readonly TodoTask[] = [];

  constructor(options: SessionUpdatesOptions) {
    this.#options = options;
  }

  /** Returns the updates for an event. `state` is the state of the chat after the event. */
  of(event: AgentEvent, state: ChatState): readonly SessionUpdate[] {
    return [...this.#updatesOf(event, state), ...this.plan(state)];
  }

  /** Returns the task list of the model as a plan, if the editor does not show this list yet. */
  plan({ tasks }: ChatState): readonly SessionUpdate[] {
    if (tasks === this.#tasks || (tasks.length === 0 && this.#tasks.length === 0)) return [];
    this.#tasks = tasks;
    return [planUpdate(tasks)];
  }

  /** Returns true if the editor shows the call. */
  shows(toolCallId: ToolCallId): boolean {
    return this.#calls.has(toolCallId);
  }

  /** Returns the updates for the items of a session that is loaded. */
  *load(items: readonly Item[], isRunning: boolean): Generator<SessionUpdate> {
    const parts = items.flatMap((item) => item.parts);
    const results = new Map(
      parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.toolCallId, part]] : [])),
    );
    for (const item of items) {
      yield* endUpdates(item);
      for (const part of item.parts)
        if (part.kind === 'tool_call') {
          const result = results.get(part.toolCallId);
          yield* this.#loadedCall(part, result, isRunning);
        } else yield* partUpdates(item, part);
    }
  }

  *#loadedCall(
    { toolCallId, name, input }: Extract<Part, { readonly kind: 'tool_call' }>,
    result: Extract<Part, { readonly kind: 'tool_result' }> | undefined,
    isRunning: boolean,
  ): Generator<SessionUpdate> {
    if (name === planTool) return;
    const view = describeCall(name, input, this.#options.cwd);
    const head = { toolCallId, name, ...view, ...(input !== undefined && { rawInput: input }) };
    if (result === undefined) {
      const status = isRunning ? 'pending' : 'failed';
      yield { sessionUpdate: 'tool_call', ...head, status };
      if (isRunning)
        this.#calls.set(toolCallId, {
          ...{ turn: 0, attempt: 0, isTerminal: false, hasOutput: false },
        });
      return;
    }
    const content = [...view.content, ...resultContent(name, result)];
    const status = result.isError ? 'failed' : 'completed';
    yield { sessionUpdate: 'tool_call', ...head, content, status, ...rawOutput(result.value) };
  }

  #updatesOf(event: AgentEvent, state: ChatState): readonly SessionUpdate[] {
    switch (event.type) {
      case 'assistant_text_delta':
      case 'reasoning_delta':
        return this.#delta(event, state);
      case 'item_started':
        return [...endUpdates({ ...event, id: event.itemId })];
      case 'part_finished':
        return this.#finishedPart(event, state);
      case 'tool_call_started':
        return this.#startedCall(event, state);
      case 'tool_call_ready':
        return this.#update(event, {
          ...describeCall(event.name, event.input, this.#options.cwd),
          rawInput: event.input,
        });
      case 'tool_execution_started':
        return this.#startedExecution(event);
      case 'tool_execution_finished':
        return this.#finishedExecution(event);
      case 'tool_call_rejected':
        // The result of the call contains the reason.
        return this.#update(event, { status: 'failed' });
      case 'attempt_superseded':
        return this.#superseded(event);
      case 'turn_finished':
        this.#streamed.clear();
        return [];
      case 'run_finished':
        this.#calls.clear();
        return [];
      default:
        return [];
    }
  }

  #delta(
    event: EventOf<'assistant_text_delta' | 'reasoning_delta'>,
    { items }: ChatState,
  ): readonly SessionUpdate[] {
    const { itemId, partId, text, type } = event;
    // A summary of older messages is not part of the conversation.
    if (items.get(itemId) === 'context') return [];
    this.#streamed.add(partId);
    const sessionUpdate =
      type === 'reasoning_delta' ? 'agent_thought_chunk' : 'agent_message_chunk';
    return [{ sessionUpdate, content: { type: 'text', text }, messageId: itemId }];
  }

  #finishedPart(
    { itemId, partId, part }: EventOf<'part_finished'>,
    { items }: ChatState,
  ): readonly SessionUpdate[] {
    if (part === undefined) return [];
    if (part.kind === 'tool_result') return this.#result(part);
    const kind = items.get(itemId);
    if (kind === 'user' && this.#options.isOwn(itemId)) return [];
    // The text was streamed already. A structured part contains the JSON that was streamed.
    if (kind === undefined || this.#streamed.has(partId)) return [];
    return [...partUpdates({ id: itemId, kind }, part)];
  }

  #result(part: Extract<Part, { readonly kind: 'tool_result' }>): readonly SessionUpdate[] {
    const { toolCallId, name, value, text } = part;
    const call = this.#calls.get(toolCallId);
    if (!call?.isTerminal) {
      const content = resultContent(name, part);
      const shown = content.length === 0 ? {} : { content };
      return this.#update(part, { ...shown, ...rawOutput(value) });
    }
    // A short command ends before its output is sent.
    const rest = call.hasOutput ? [] : this.output(toolCallId, text, text);
    const { exitCode = null, signal = null } = fieldsOf(value);
    const exit = { terminal_id: toolCallId, exit_code: exitCode, signal };
    return [
      ...rest,
      ...this.#update(part, { ...rawOutput(value), _meta: { terminal_exit: exit } }),
    ];
  }

  #startedCall(
    { toolCallId, name, itemId, turn, attempt }: EventOf<'tool_call_started'>,
    { items }: ChatState,
  ): readonly SessionUpdate[] {
    if (items.get(itemId) === 'context' || name === planTool) return [];
    const isTerminal = this.#options.hasTerminals && name === 'bash';
    this.#calls.set(toolCallId, { turn, attempt, isTerminal, hasOutput: false });
    const kind = kindOf(name);
    return [{ sessionUpdate: 'tool_call', toolCallId, name, title: name, kind, status: 'pending' }];
  }

  #startedExecution(event: EventOf<'tool_execution_started'>): readonly SessionUpdate[] {
    const { toolCallId, summary, name } = event;
    const call = this.#calls.get(toolCallId);
    // The title of a command is the command itself. The summary is the description of the model.
    const title = name === 'bash' ? {} : { title: shortTitle(summary) };
    if (!call?.isTerminal) return this.#update(event, { status: 'in_progress', ...title });
    return this.#update(event, {
      ...{ status: 'in_progress', content: [{ type: 'terminal', terminalId: toolCallId }] },
      _meta: { terminal_info: { terminal_id: toolCallId, cwd: this.#options.cwd } },
    });
  }

  /** Returns the update for new output of a running call. `tail` is the newest output. */
  output(toolCallId: ToolCallId, added: string, tail: string): readonly SessionUpdate[] {
    const call = this.#calls.get(toolCallId);
    if (!call?.isTerminal)
      return this.#update({ toolCallId }, { content: [textContent(fenced(plainOutput(tail)))] });
    call.hasOutput = true;
    // The terminal of the editor obeys control sequences, and a program that the command runs can print any.
    const { text, held } = printableOutput(`${call.held ?? ''}${added}`);
    call.held = held;
    const data = text.replaceAll(/(?<!\r)\n/g, '\r\n');
    return this.#update(
      { toolCallId },
      { _meta: { terminal_output: { terminal_id: toolCallId, data } } },
    );
  }

  #finishedExecution(event: EventOf<'tool_execution_finished'>): readonly SessionUpdate[] {
    const { outcome, isError } = event;
    if (outcome === 'parked') return this.#update(event, { status: 'pending' });
    const status = outcome === 'completed' && !isError ? 'completed' : 'failed';
    return this.#update(event, { status });
  }

  /** Marks the calls of a superseded attempt. The editor cannot remove them. */
  #superseded({ turn, attempt }: EventOf<'attempt_superseded'>): readonly SessionUpdate[] {
    const gone = [...this.#calls].filter(
      ([, call]) => call.turn === turn && call.attempt === attempt,
    );
    return gone.flatMap(([toolCallId]) => {
      const updates = this.#update({ toolCallId }, { status: 'failed' });
      this.#calls.delete(toolCallId);
      return updates;
    });
  }

  /** Returns the update of a call that the editor shows. */
  #update(
    { toolCallId }: { readonly toolCallId: ToolCallId },
    fields: Omit<
      Extract<SessionUpdate, { sessionUpdate: 'tool_call_update' }>,
      'sessionUpdate' | 'toolCallId'
    >,
  ): readonly SessionUpdate[] {
    if (!this.#calls.has(toolCallId) || Object.keys(fields).length === 0) return [];
    return [{ sessionUpdate: 'tool_call_update', toolCallId, ...fields }];
  }
}

const planStates = { open: 'pending', doing: 'in_progress', done: 'completed' } as const;

/** Returns the task list of the model as a plan. */
function planUpdate(tasks: readonly TodoTask[]): SessionUpdate {
  const entries = tasks.map(({ text: content, state }) => ({
    ...{ content, priority: 'medium' as const, status: planStates[state] },
  }));
  return { sessionUpdate: 'plan', entries };
}

/** Returns an update if the item reports the end of a background command. */
function* endUpdates({
  id: messageId,
  kind,
  metadata,
}: Pick<Item, 'id' | 'kind' | 'metadata'>): Generator<SessionUpdate> {
  const ended = kind === 'developer' ? endedCommand(metadata) : undefined;
  if (ended === undefined) return;
  const text = `Background command ${ended.id} ${ended.end}: ${ended.command}\n`;
  yield { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text }, messageId };
}

/** Returns the updates for a whole part that is not a call. */
function* partUpdates(
  { id: messageId, kind }: Pick<Item, 'id' | 'kind'>,
  part: Part,
): Generator<SessionUpdate> {
  if (kind === 'user') {
    const content = blockOfPart(part);
    if (content !== undefined) yield { sessionUpdate: 'user_message_chunk', content, messageId };
    return;
  }
  if (kind === 'notification' && part.kind === 'text')
    yield {
      sessionUpdate: 'agent_thought_chunk',
      content: { type: 'text', text: part.text },
      messageId,
    };
  if (kind !== 'assistant') return;
  if (part.kind === 'reasoning') {
    const content = { type: 'text', text: part.text } as const;
    if (part.text !== '') yield { sessionUpdate: 'agent_thought_chunk', content, messageId };
    return;
  }
  const content =
    part.kind === 'structured'
      ? ({ type: 'text', text: fenced(JSON.stringify(part.value, null, 2)) } as const)
      : blockOfPart(part);
  if (content !== undefined) yield { sessionUpdate: 'agent_message_chunk', content, messageId };
}

/** Tools whose results are shown as they are. Their diffs already show the change. */
const changing = new Set(['edit', 'write']);

function resultContent(
  name: string,
  { text, isError, attachments = [] }: Extract<Part, { readonly kind: 'tool_result' }>,
): ToolCallContent[] {
  if (changing.has(name) && !isError) return [];
  const half = maxResultLength / 2;
  const plain = plainOutput(text);
  const isLong = plain.length > maxResultLength;
  const shown = isLong ? `${plain.slice(0, half)}\n…\n${plain.slice(-half)}`.toWellFormed() : plain;
  const isPlain = kindOf(name) === 'other' || kindOf(name) === 'think' || isError;
  const pictures = attachments.flatMap((part): ToolCallContent[] => {
    const block = blockOfPart(part);
    return block?.type === 'image' ? [{ type: 'content', content: block }] : [];
  });
  return [...(shown === '' ? [] : [textContent(isPlain ? shown : fenced(shown))]), ...pictures];
}

/** Returns the output of a tool as the terminal shows it, without control sequences. */
function plainOutput(text: string): string {
  return printable(withoutStyles(text));
}

function rawOutput(value: JsonValue | undefined): { readonly rawOutput?: unknown } {
  const fields = fieldsOf(value);
  return Object.keys(fields).length === 0 ? {} : { rawOutput: fields };
}
