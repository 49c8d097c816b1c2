import { isJsonObject, type JsonObject, type JsonValue, type Stop } from '@millrace/core';
import { containerIn } from '../answer/reported-details.ts';
import { fault } from '../errors/wire-fault.ts';
import { withSession } from '../history/remote-state.ts';
import { refusalExplanation } from '../history/sendable-parts.ts';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { LastAppend, ReaderContext, ReportedResponse, WireReader } from '../wire/wire.ts';
import { MessageBlocks } from './blocks.ts';
import { containerName } from './container.ts';
import { isCutShort, stopOfMessage } from './errors.ts';
import type { BlockContext } from './open-block.ts';
import { AnthropicUsage } from './usage.ts';

interface AnthropicReaderOptions {
  readonly provider: string;
  readonly model: string;
  readonly outputTool: string | undefined;
}

/** Reads the events of one message: its start, its blocks, the delta with the stop reason, and its stop. */
export class AnthropicReader implements WireReader {
  progress: 'reading' | 'over' = 'reading';
  readonly #context: BlockContext;
  readonly #blocks: MessageBlocks;
  readonly #usage = new AnthropicUsage();
  #about: Pick<ReportedResponse, 'model' | 'responseId'> | undefined;
  #lastMessage: JsonObject = {};
  #reason: string | undefined;
  #details: JsonObject | undefined;
  #container: JsonObject | undefined;
  readonly #session: string | undefined;
  #stopSequence: string | undefined;

  constructor({ writer, ids, request, session }: ReaderContext, options: AnthropicReaderOptions) {
    this.#session = session;
    const { provider, model, outputTool } = options;
    this.#context = {
      writer,
      ids,
      request,
      outputTool,
      textRequest: outputTool === undefined ? request : { items: [] },
      usedIds: new Set(),
      state: (data) => ({ provider, model, data }),
    };
    this.#blocks = new MessageBlocks(this.#context);
  }

  get details(): ReportedResponse {
    return {
      ...this.#about,
      usage: this.#usage.total,
      serviceTier: this.#usage.serviceTier,
      stopSequence: this.#stopSequence,
      container: containerIn(this.#container),
    };
  }

  get lastAppend(): LastAppend | undefined {
    const { index } = this.#lastMessage;
    const sole = textAppendIn(this.#lastMessage);
    return (
      sole && { text: sole.text, append: (text) => this.#blocks.append(index, sole.deltaOf(text)) }
    );
  }

  readMessage(data: JsonObject): void {
    if (this.progress === 'over') return;
    this.#lastMessage = data;
    switch (data['type']) {
      case 'content_block_delta':
        return this.#blocks.append(data['index'], objectIn(data, 'delta') ?? {});
      case 'content_block_start':
        return this.#blocks.start(data['index'], objectIn(data, 'content_block'));
      case 'content_block_stop':
        return this.#blocks.stop(data['index']);
      case 'message_start':
        return this.#start(objectIn(data, 'message') ?? {});
      case 'message_delta':
        this.#usage.add(objectIn(data, 'usage'), true);
        return this.#end(objectIn(data, 'delta'));
      case 'message_stop':
        this.progress = 'over';
        return;
      default:
        if (Array.isArray(data['choices'])) throw wrongApiFault();
    }
  }

  readWholeBody(body: JsonValue): void {
    if (!isJsonObject(body) || !Array.isArray(body['content'])) throw wrongApiFault();
    this.#start(body);
    this.progress = 'over';
  }

  finish(): Stop {
    this.#blocks.stopAll({ isCut: isCutShort(this.#reason), container: this.#ownContainer });
    const { hasClientCalls, hasOutput } = this.#blocks;
    const [reason, details] = [this.#reason, this.#details];
    const stop = stopOfMessage({ reason, details, hasClientCalls, hasOutput });
    if (stop.reason === 'refusal') this.#explain();
    if (stop.reason === 'pause') this.#keepContainer();
    return stop;
  }

  #start(message: JsonObject): void {
    const responseId = textIn(message, 'id');
    if (this.#about !== undefined) return this.#startAgain(responseId, this.#about.responseId);
    this.#about = { model: textIn(message, 'model'), responseId };
    this.#end(message);
    this.#usage.add(objectIn(message, 'usage'), this.#reason !== undefined);
    for (const block of objectsIn(message, 'content')) {
      this.#blocks.start('whole', block);
      this.#blocks.stop('whole');
    }
  }

  /**
   * Handles a second start event. A proxy may repeat the start of the same message. If the start belongs to a
   * different message, two streams were mixed, so the method throws.
   */
  #startAgain(id: string | undefined, known: string | undefined): void {
    const isSame = id === known && id !== undefined;
    const isUnclear = id === undefined || known === undefined;
    if (isSame || (isUnclear && this.#blocks.isEmpty)) return;
    throw fault('protocol_error', 'another message starts inside this one');
  }

  /** Reads the fields that describe the end of the message, from a message or a message delta. */
  #end(fields: JsonObject | undefined): void {
    this.#reason = textIn(fields, 'stop_reason') ?? this.#reason;
    this.#details = objectIn(fields, 'stop_details') ?? this.#details;
    this.#container = objectIn(fields, 'container') ?? this.#container;
    this.#stopSequence = textIn(fields, 'stop_sequence') ?? this.#stopSequence;
  }

  /** Writes the provider's explanation of a refusal as text, because a refusal may have no other content. */
  #explain(): void {
    const text = textIn(this.#details, 'explanation');
    if (text === undefined) return;
    const providerState = this.#context.state({ stop_details: this.#details ?? {} });
    this.#context.writer.whole({ kind: 'text', text, metadata: refusalExplanation, providerState });
  }

  /** The container, with the session that it belongs to. */
  get #ownContainer(): JsonObject | undefined {
    return this.#container && withSession(this.#container, this.#session);
  }

  /** Stores the container in a part, so that the next request can continue in the same container. */
  #keepContainer(): void {
    const value = this.#ownContainer;
    if (value === undefined) return;
    const providerState = this.#context.state({});
    const part = { kind: 'custom', name: containerName, value } as const;
    this.#context.writer.whole({ ...part, providerState });
  }
}

function wrongApiFault() {
  return fault('protocol_error', 'the answer does not match the Messages API');
}

/** For each delta type that contains only text, the field that contains the text. */
const textFields: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
};

interface TextAppend {
  readonly text: string;
  /** Creates the same delta with a different text. */
  readonly deltaOf: (text: string) => JsonObject;
}

/** Returns the text that an event appends. Returns undefined if the event has a different effect. */
function textAppendIn(message: JsonObject): TextAppend | undefined {
  const delta = message['type'] === 'content_block_delta' ? objectIn(message, 'delta') : undefined;
  const type = textIn(delta, 'type') ?? '';
  const field = Object.hasOwn(textFields, type) ? (textFields[type] ?? '') : '';
  const text = textIn(delta, field);
  if (delta === undefined || text === undefined || Object.keys(delta).length > 2) return undefined;
  return { text, deltaOf: (other) => ({ type, [field]: other }) };
}
