import type { Content } from '../../contract/content.ts';
import type { ChatState } from './fold-chat.ts';

/** A message on its way to an agent. */
export interface Sending {
  readonly content: Content;
  /** Undefined where it counts each time. */
  readonly key: string | undefined;
  /** It was sent with that key before. */
  readonly isKnown: boolean;
  /** The chat before it. */
  readonly before: ChatState;
}
