import { Folder, type LogRecord, type SessionId } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { uiView } from '../ui/ui-view.ts';

/** Stores the state of `useChat` without React. */
class TestChatState implements ChatState<UIMessage> {
  #status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get status(): ChatState<UIMessage>['status'] {
    return this.#status;
  }

  set status(status) {
    this.#status = status;
    this.#onChange();
  }

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, structuredClone(message)];
    this.#onChange();
  };

  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
    this.#onChange();
  };

  snapshot = <T>(value: T): T => structuredClone(value);
}

export interface BrowserOptions {
  /** The URL of the server, or of a proxy in front of it. */
  readonly url: string;
  readonly agent: string;
  readonly id: string;
  readonly init?: Partial<ChatInit<UIMessage>> | undefined;
}

/** The chat class of the AI SDK with its default transport, as a browser page uses it. */
export class BrowserChat extends AbstractChat<UIMessage> {
  readonly #waiting: Set<() => void>;

  constructor({ url, agent, id, init }: BrowserOptions) {
    const waiting = new Set<() => void>();
    const state = new TestChatState(() => {
      for (const wake of waiting) wake();
    });
    const transport = new DefaultChatTransport({ api: `${url}/agents/name/${agent}/chat` });
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
    super({ id, state, transport, sendAutomaticallyWhen, ...init });
    this.#waiting = waiting;
  }

  /** The text of the last message. Empty if the agent did not send the last message. */
  get text(): string {
    const parts = this.lastMessage?.role === 'assistant' ? this.lastMessage.parts : [];
    return parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('|');
  }

  /** Resolves when the condition is true. */
  async waitUntil(isSo: (chat: this) => boolean): Promise<void> {
    while (!isSo(this)) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }
}

/** Returns the frames of each record. */
export function uiFramesOf(session: SessionId, records: readonly LogRecord[]) {
  const folder = new Folder(session);
  const steps: { readonly offset: number; readonly frames: readonly Frame[] }[] = [];
  const through = records.at(-1)?.offset ?? 0;
  folder.addBatch({ after: 0, through, records }, (before, record, after) =>
    steps.push({ offset: record.offset, frames: uiView.frames(before, record, after) }),
  );
  return steps;
}

/** Encodes frames, and reads them with the transport of the AI SDK. */
export function readFrames(
  frames: readonly Frame[],
): Promise<ReadableStream<UIMessageChunk> | null> {
  const body = frames.map(
    ({ id, data }) => `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`,
  );
  const answer = async () => new Response(body.join(''), { status: 200 });
  const transport = new DefaultChatTransport({ api: 'http://localhost/chat', fetch: answer });
  return transport.reconnectToStream({ chatId: 'c' });
}

interface ShownMessage {
  readonly message: UIMessage | undefined;
  /** The errors that the stream reported. */
  readonly errors: readonly string[];
}

/** Returns the message that the AI SDK builds from the frames. The AI SDK must accept all frames. */
export async function shownByUi(frames: readonly Frame[]): Promise<ShownMessage> {
  const stream = await readFrames(frames);
  if (stream === null) return { message: undefined, errors: [] };
  const errors: string[] = [];
  let message: UIMessage | undefined;
  const onError = (error: unknown) => void errors.push(String(error));
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  return { message, errors };
}
