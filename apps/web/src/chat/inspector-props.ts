import type { ChatSource } from './state/chat-source.ts';
import type { LiveSource } from './state/live-source.ts';

/** What the inspector gets, and how it tells what the chat has to show. */
export interface InspectorProps {
  readonly live: LiveSource;
  /** The record that is looked at; undefined is now. */
  readonly at: number | undefined;
  readonly onMoment: (at: number | undefined) => void;
  readonly onSource: (source: ChatSource | undefined) => void;
  readonly onClose: () => void;
}
