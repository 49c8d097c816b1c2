import type { DraftRecord, PartId } from '@millrace/core';
import type { ModelRequest, Provider, StreamStep } from '@millrace/providers';
import type { ContentInput } from '../../contract/content.ts';
import type { TaskMessage, Update, UpdateInput } from '../../contract/message.ts';
import type { OpenMessage, Streaming, UpdateSink } from '../../contract/served-agent.ts';
import { readUpdate } from '../../updates/read-update.ts';
import { UpdateWriter } from '../../updates/update-writer.ts';
import { forwardStream } from './provider-stream.ts';
import { type TurnContext, TurnWriter } from './turn-context.ts';

/** Creates the `stream` object of a handler's context. */
export function createStreaming(context: TurnContext): Streaming {
  return {
    auto: (...args: AutoArguments) => forwardStream(context, stepsFrom(context, args)),
    open: (content, { sinks = [] } = {}) => openMessage(context, content, sinks),
  };
}

type AutoArguments =
  | readonly [steps: AsyncIterable<StreamStep>]
  | readonly [provider: Pick<Provider, 'stream'>, request: ModelRequest];

function stepsFrom(
  { turn: { turn, attempt }, ids, signal, trace }: TurnContext,
  args: AutoArguments,
) {
  if (args.length === 1) return args[0];
  const [provider, request] = args;
  const item = { id: ids.item(), turn, attempt };
  return provider.stream(request, { item, ids, signal, trace });
}

/**
 * Opens a message that the handler writes in several updates. The promise resolves when the log contains the
 * start of the message.
 */
async function openMessage(
  context: TurnContext,
  content: ContentInput,
  sinks: readonly UpdateSink[],
): Promise<OpenMessage> {
  const message = new ManualMessage(context, sinks);
  await message.write({ type: 'start', content });
  return message;
}

class ManualMessage implements OpenMessage {
  readonly #context: TurnContext;
  readonly #sinks: readonly UpdateSink[];
  readonly #writer: UpdateWriter;
  readonly #log: TurnWriter;
  readonly #index: number;
  readonly #parts = new Set<PartId>();
  #message: TaskMessage | undefined;

  constructor(context: TurnContext, sinks: readonly UpdateSink[]) {
    const { turn, ids } = context;
    this.#context = context;
    this.#sinks = sinks;
    this.#writer = new UpdateWriter({ turn: turn.turn, attempt: turn.attempt, ids });
    this.#log = new TurnWriter(turn);
    this.#index = context.takeIndex();
  }

  get message(): TaskMessage {
    if (this.#message === undefined) throw new Error('Cannot read the message: it is not open yet');
    return this.#message;
  }

  async write(input: UpdateInput): Promise<void> {
    const wasOpen = this.#message === undefined || this.#writer.isOpen;
    const drafts = this.#writer.write({ ...input, index: this.#index });
    for (const draft of drafts) this.#trackPart(draft);
    await this.#log.add(drafts);
    const isChanging = this.#message === undefined || !this.#writer.isOpen;
    if (this.#sinks.length > 0 || isChanging) await this.#log.flush();
    if (isChanging) await this.#refresh();
    // The writer drops an update that arrives after the message was closed, and the sinks do not get it.
    if (wasOpen) await this.#notifySinks(readUpdate({ ...input, index: this.#index }));
  }

  async close(content?: ContentInput): Promise<TaskMessage> {
    if (this.#writer.isOpen)
      await this.write(content === undefined ? { type: 'done' } : { type: 'full', content });
    return this.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // If the signal is aborted, the end of the turn has already closed the message.
    if (this.#context.signal.aborted) return;
    await this.close();
  }

  async #notifySinks(update: Update): Promise<void> {
    const published = { ...update, parent_task_message: this.message };
    for (const sink of this.#sinks) await sink(published);
  }

  #trackPart({ delta }: DraftRecord): void {
    if (delta?.type === 'begin_part' || delta?.type === 'commit_part')
      this.#parts.add(delta.partId);
  }

  async #refresh(): Promise<void> {
    const found = await this.#context.messages(this.#parts);
    this.#message = found.at(-1) ?? this.#message;
  }
}
