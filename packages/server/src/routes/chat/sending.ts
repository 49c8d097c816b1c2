import type { Content } from '../../wire/content.ts';
import type { ChatState } from './fold-chat.ts';

/** A message on its way to an agent. */
export interface Sending {
  readonly text: string;
  readonly content: Content;
  /** Undefined where it counts each time. */
  readonly key: string | undefined;
  /** The chat before it. */
  readonly before: ChatState;
}
