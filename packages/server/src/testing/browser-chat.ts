import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';

/** What `useChat` keeps, without React. */
class PlainState implements ChatState<UIMessage> {
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
  /** Of the server, or of what is before it. */
  readonly url: string;
  readonly agent: string;
  readonly id: string;
  readonly init?: Partial<ChatInit<UIMessage>> | undefined;
}

/** The AI SDK's own chat with its own transport, as a page has it. */
export class BrowserChat extends AbstractChat<UIMessage> {
  readonly #waiting: Set<() => void>;

  constructor({ url, agent, id, init }: BrowserOptions) {
    const waiting = new Set<() => void>();
    const state = new PlainState(() => {
      for (const wake of waiting) wake();
    });
    const transport = new DefaultChatTransport({ api: `${url}/agents/name/${agent}/chat` });
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
    super({ id, state, transport, sendAutomaticallyWhen, ...init });
    this.#waiting = waiting;
  }

  /** What the agent said last, as text. */
  get text(): string {
    const parts = this.lastMessage?.role === 'assistant' ? this.lastMessage.parts : [];
    return parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('|');
  }

  /** Resolves when it is so. */
  async until(isSo: (chat: this) => boolean): Promise<void> {
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
