/** A part of a message of the AI SDK. Its other fields depend on its type. */
export interface ChatPart {
  readonly type: string;
}

/** A message of the AI SDK. The type `UIMessage` of `ai` 6 and 7 fits. */
export interface ChatMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly ChatPart[];
}

/** A file of a message to the AI SDK, as a data URL. */
export interface ChatFile {
  readonly type: 'file';
  readonly mediaType: string;
  readonly filename: string;
  readonly url: string;
}

/** The fields of the result of `useChat` that the components use. This package does not import the AI SDK. */
export interface ChatHelpers {
  readonly id: string;
  readonly messages: readonly ChatMessage[];
  readonly status: 'submitted' | 'streaming' | 'ready' | 'error';
  readonly error?: Error | undefined;
  /** Sends a message, or replaces the one with this id. */
  sendMessage(message: { text: string; files?: ChatFile[]; messageId?: string }): Promise<void>;
  /** Stops the answer. */
  stop(): Promise<void>;
  /** Asks for another answer. */
  regenerate?(options?: { messageId?: string }): Promise<void>;
  /** Answers the question whether a tool call may run. */
  addToolApprovalResponse?(answer: {
    id: string;
    approved: boolean;
    reason?: string;
  }): void | PromiseLike<void>;
}

/** Returns a field of a part if it is a text. */
export function textField(part: ChatPart, name: string): string | undefined {
  const value = (part as unknown as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns a field of a part. */
export function field(part: object, name: string): unknown {
  return Object.hasOwn(part, name) ? (part as Readonly<Record<string, unknown>>)[name] : undefined;
}
