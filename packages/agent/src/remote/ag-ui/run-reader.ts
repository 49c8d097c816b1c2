import { isJsonObject, type JsonObject, type JsonValue, type Stop } from '@millrace/core';
import type { RemoteEvent } from '../contract.ts';
import { inputOf } from '../step-writer.ts';
import { CallIds } from './history.ts';
import { textIn } from './read-events.ts';

interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** The id of the message that contains the call. */
  readonly parent: string | undefined;
  input: string;
}

interface MadeCall {
  readonly name: string;
  readonly input: JsonValue;
}

interface RunEnd {
  readonly stop: Stop;
  /** The reason of a run that failed. Default: it did not fail. */
  readonly problem?: string | undefined;
  readonly interrupts: readonly JsonObject[];
}

/** Maximum number of calls whose arguments stream at the same time. */
const maxOpenCalls = 1000;
/** Maximum length of the arguments of a call, in characters. */
const maxInputLength = 8 * 2 ** 20;
const maxInterrupts = 100;
/** Maximum number of messages, calls and results for one message. */
const maxMessages = 10_000;

/** Maximum length of all texts, arguments, results and ids that are kept for one message, in characters. */
const maxKeptLength = 32 * 2 ** 20;
/** The memory that a kept piece needs besides its characters, as a number of characters. */
const pieceLength = 16;

/** Converts the events of the runs for one message. */
export class RunReader {
  /** The ids of the messages that the session has. */
  readonly #known: Set<string>;
  readonly #calls = new Map<string, OpenCall>();
  /** The calls of this turn that have ended, by id. */
  readonly #made = new Map<string, MadeCall>();
  readonly #ids = new CallIds();
  /** The last message or call of events without an id. */
  #lastMessage: string | undefined;
  #lastCall: string | undefined;
  /** The messages of the runs so far. The key of an answer is its id. */
  readonly #messages = new Map<string, JsonObject>();
  #keptLength = 0;
  end: RunEnd | undefined;

  constructor(known: Set<string>) {
    this.#known = known;
  }

  /** The messages of the earlier runs for the same message. The next run contains them. */
  get messages(): readonly JsonObject[] {
    return [...this.#messages.values()];
  }

  /** Returns a call of this turn that has ended. */
  madeCall(id: string | undefined): MadeCall | undefined {
    return this.#made.get(id ?? '');
  }

  /** Prepares for the next run, which answers the interrupts. */
  next(): RemoteEvent {
    this.end = undefined;
    return this.#memory([]);
  }

  /** Returns what the next message needs. An interrupt without an answer is cancelled then. */
  #memory(interrupts: readonly JsonObject[]): RemoteEvent {
    const open = interrupts.flatMap((one) => textIn(one, 'id') ?? []);
    const value = { ...this.#ids.value, ...(open.length > 0 && { interrupts: open }) };
    return { type: 'memory', value };
  }

  add(event: JsonObject): readonly RemoteEvent[] {
    const message = textIn(event, 'messageId') ?? this.#lastMessage;
    const delta = textIn(event, 'delta') ?? '';
    switch (event['type']) {
      case 'TEXT_MESSAGE_START':
        this.#lastMessage = message;
        return [];
      case 'TEXT_MESSAGE_CONTENT':
      case 'TEXT_MESSAGE_CHUNK':
        this.#lastMessage = message;
        return this.#text('text', message, delta);
      case 'REASONING_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CHUNK':
        return this.#text('reasoning', message, delta);
      case 'TOOL_CALL_START':
        this.#startCall(event);
        return [];
      case 'TOOL_CALL_ARGS':
      case 'TOOL_CALL_CHUNK':
        this.#startCall(event);
        this.#appendInput(textIn(event, 'toolCallId') ?? this.#lastCall, delta);
        return [];
      case 'TOOL_CALL_END':
        return this.#endCall(textIn(event, 'toolCallId'));
      case 'TOOL_CALL_RESULT':
        return this.#result(event);
      case 'MESSAGES_SNAPSHOT':
        return this.#snapshot(event['messages']);
      case 'RUN_FINISHED':
        return this.#finish(event['outcome']);
      case 'RUN_ERROR': {
        const problem = textIn(event, 'message') ?? 'The run of the agent failed';
        this.end = { stop: { reason: 'error' }, problem, interrupts: [] };
        return this.#endCalls();
      }
      default:
        return [];
    }
  }

  #text(
    type: 'text' | 'reasoning',
    message: string | undefined,
    text: string,
  ): readonly RemoteEvent[] {
    if (text === '') return [];
    if (message !== undefined) this.#know(message);
    const state = message === undefined ? {} : { state: { id: message } };
    if (type === 'text' && message !== undefined) {
      this.#count(text);
      const known = this.#messages.get(message);
      const content = `${textIn(known, 'content') ?? ''}${text}`;
      this.#keep(message, { id: message, role: 'assistant', ...known, content });
    }
    return [{ type, text, message, ...state }];
  }

  #know(message: string): void {
    if (this.#known.has(message)) return;
    this.#count(message);
    this.#known.add(message);
  }

  /** Counts pieces before they are kept. Throws if all kept pieces together are too long. */
  #count(...pieces: readonly (string | undefined)[]): void {
    for (const piece of pieces) this.#keptLength += pieceLength + (piece?.length ?? 0);
    if (this.#keptLength > maxKeptLength)
      throw new Error(
        `The agent sent more than ${maxKeptLength} characters of texts, calls and results for one message`,
      );
  }

  #keep(key: string, message: JsonObject): void {
    this.#messages.set(key, message);
    if (this.#messages.size > maxMessages) throw tooManyMessages();
  }

  #startCall(event: JsonObject): void {
    const [id, name] = [textIn(event, 'toolCallId'), textIn(event, 'toolCallName')];
    if (id === undefined || name === undefined || this.#calls.has(id)) return;
    // Some agents send a call again when an answer resumes it.
    if (this.#made.has(id)) return;
    if (this.#calls.size >= maxOpenCalls) throw new Error('The agent made too many calls');
    const parent = textIn(event, 'parentMessageId');
    this.#count(id, name, parent);
    this.#calls.set(id, { id, name, parent, input: '' });
    this.#lastCall = id;
  }

  #appendInput(id: string | undefined, delta: string): void {
    const call = this.#calls.get(id ?? '');
    if (call === undefined) return;
    if (call.input.length + delta.length > maxInputLength)
      throw new Error('The agent made a call whose arguments are too long');
    this.#count(delta);
    call.input += delta;
  }

  #endCall(callId: string | undefined): readonly RemoteEvent[] {
    const call = this.#calls.get(callId ?? '');
    if (call === undefined) return [];
    this.#calls.delete(call.id);
    const { name, input: text, parent = `call-${call.id}` } = call;
    const input = inputOf(text);
    this.#made.set(call.id, { name, input });
    if (this.#made.size > maxMessages) throw tooManyMessages();
    if (call.parent !== undefined) this.#ids.ofCalls.set(call.id, call.parent);
    const known = this.#messages.get(parent);
    // The list grows in place, because one message can have thousands of calls.
    const toolCalls = (known?.['toolCalls'] as JsonObject[] | undefined) ?? [];
    toolCalls.push({ id: call.id, type: 'function', function: { name, arguments: text } });
    this.#keep(parent, { id: parent, role: 'assistant', ...known, toolCalls });
    return [{ type: 'call', id: call.id, name, input }];
  }

  #endCalls(): readonly RemoteEvent[] {
    return [...this.#calls.keys()].flatMap((id) => this.#endCall(id));
  }

  #result(event: JsonObject): readonly RemoteEvent[] {
    const id = textIn(event, 'toolCallId');
    if (id === undefined) return [];
    const ended = this.#endCall(id);
    if (!this.#made.has(id)) return ended;
    const text = plainText(event['content']);
    const { metadata } = event;
    const isError =
      isJsonObject(metadata) &&
      isJsonObject(metadata['millrace']) &&
      metadata['millrace']['isError'] === true;
    const messageId = textIn(event, 'messageId') ?? `result-${id}`;
    this.#count(text);
    this.#know(messageId);
    this.#ids.ofResults.set(id, messageId);
    const key = `result-${messageId}-${id}`;
    this.#keep(key, { id: messageId, role: 'tool', toolCallId: id, content: text });
    return [...ended, { type: 'result', id, text, isError }];
  }

  /** Reads the texts that the agent did not stream: the messages after the last one of the user. */
  #snapshot(given: JsonValue | undefined): readonly RemoteEvent[] {
    const messages = Array.isArray(given) ? given.filter(isJsonObject) : [];
    const from = messages.findLastIndex(({ role }) => role === 'user') + 1;
    if (messages.length - from > maxMessages) throw tooManyMessages();
    // The agent recognizes its messages in later runs by the ids of the snapshot.
    for (const message of messages.slice(from)) {
      this.#count(textIn(message, 'id'));
      this.#ids.read(message, this.#made);
    }
    return messages.slice(from).flatMap((message) => {
      const id = textIn(message, 'id');
      if (message['role'] !== 'assistant' || id === undefined || this.#known.has(id)) return [];
      return this.#text('text', id, plainText(message['content']));
    });
  }

  #finish(outcome: JsonValue | undefined): readonly RemoteEvent[] {
    const given = isJsonObject(outcome) ? outcome : {};
    const list = given['type'] === 'interrupt' ? given['interrupts'] : [];
    const interrupts = Array.isArray(list) ? list.filter(isJsonObject).slice(0, maxInterrupts) : [];
    const reason = given['type'] === 'cancelled' ? 'aborted' : 'stop';
    this.end = { stop: { reason }, interrupts };
    const ended = this.#endCalls();
    if (this.#made.size === 0 && interrupts.length === 0) return ended;
    return [...ended, this.#memory(interrupts)];
  }
}

function tooManyMessages(): Error {
  return new Error(`The agent sent more than ${maxMessages} messages for one message`);
}

/** Returns the text of a content, which can have parts. */
function plainText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content === undefined ? '' : JSON.stringify(content);
  return content.flatMap((part) => textIn(part, 'text') ?? []).join('\n');
}
