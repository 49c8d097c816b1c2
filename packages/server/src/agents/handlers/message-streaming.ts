import type { DraftRecord, PartId } from '@millrace/core';
import type { ModelRequest, Provider, StreamStep } from '@millrace/providers';
import type { ContentInput } from '../../contract/content.ts';
import type { TaskMessage, Update, UpdateInput } from '../../contract/message.ts';
import type { OpenMessage, Sink, Streaming } from '../../contract/served-agent.ts';
import { readUpdate } from '../../updates/read-update.ts';
import { UpdateWriter } from '../../updates/update-writer.ts';
import { sendOn } from './provider-stream.ts';
import { type TurnDesk, TurnFlow } from './turn-context.ts';

/** What a handler streams with. */
export function streamingOf(desk: TurnDesk): Streaming {
  return {
    auto: (...asked: Asked) => sendOn(desk, stepsOf(desk, asked)),
    open: (content, { sinks = [] } = {}) => openMessage(desk, content, sinks),
  };
}

type Asked =
  | readonly [steps: AsyncIterable<StreamStep>]
  | readonly [provider: Pick<Provider, 'stream'>, request: ModelRequest];

function stepsOf({ turn: { turn, attempt }, ids, signal, trace }: TurnDesk, asked: Asked) {
  if (asked.length === 1) return asked[0];
  const [provider, request] = asked;
  const item = { id: ids.item(), turn, attempt };
  return provider.stream(request, { item, ids, signal, trace });
}

/** A message that its caller writes by hand. It is on the log from its start. */
async function openMessage(
  desk: TurnDesk,
  content: ContentInput,
  sinks: readonly Sink[],
): Promise<OpenMessage> {
  const message = new HandMessage(desk, sinks);
  await message.write({ type: 'start', content });
  return message;
}

class HandMessage implements OpenMessage {
  readonly #desk: TurnDesk;
  readonly #sinks: readonly Sink[];
  readonly #writer: UpdateWriter;
  readonly #flow: TurnFlow;
  readonly #index: number;
  readonly #parts = new Set<PartId>();
  #message: TaskMessage | undefined;

  constructor(desk: TurnDesk, sinks: readonly Sink[]) {
    const { turn, ids } = desk;
    this.#desk = desk;
    this.#sinks = sinks;
    this.#writer = new UpdateWriter({ turn: turn.turn, attempt: turn.attempt, ids });
    this.#flow = new TurnFlow(turn);
    this.#index = desk.takeIndex();
  }

  get message(): TaskMessage {
    if (this.#message === undefined) throw new Error('A message is there when it was opened');
    return this.#message;
  }

  async write(given: UpdateInput): Promise<void> {
    const wasOpen = this.#message === undefined || this.#writer.isOpen;
    const drafts = this.#writer.write({ ...given, index: this.#index });
    for (const draft of drafts) this.#note(draft);
    await this.#flow.add(drafts);
    const isChanging = this.#message === undefined || !this.#writer.isOpen;
    if (this.#sinks.length > 0 || isChanging) await this.#flow.settled();
    if (isChanging) await this.#refresh();
    // What came too late was dropped, and so nobody hears of it.
    if (wasOpen) await this.#tell(readUpdate({ ...given, index: this.#index }));
  }

  async close(content?: ContentInput): Promise<TaskMessage> {
    if (this.#writer.isOpen)
      await this.write(content === undefined ? { type: 'done' } : { type: 'full', content });
    return this.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A turn that is over has closed it already.
    if (this.#desk.signal.aborted) return;
    await this.close();
  }

  async #tell(update: Update): Promise<void> {
    const told = { ...update, parent_task_message: this.message };
    for (const sink of this.#sinks) await sink(told);
  }

  #note({ delta }: DraftRecord): void {
    if (delta?.type === 'begin_part' || delta?.type === 'commit_part')
      this.#parts.add(delta.partId);
  }

  async #refresh(): Promise<void> {
    const found = await this.#desk.messages(this.#parts);
    this.#message = found.at(-1) ?? this.#message;
  }
}
