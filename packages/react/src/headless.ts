'use client';

export {
  type ItemActions,
  ItemActionsContext,
  useItemActions,
} from './chat/branch/branch-switch.tsx';
export {
  type ComposedMessage,
  type ComposerOptions,
  type ComposerState,
  type SendWhen,
  type UploadTarget,
  useComposer,
} from './chat/composer/use-composer.ts';
export {
  type ChatSource,
  type ItemHead,
  isUnfinished,
  useItemHead,
  usePart,
  useSourceValue,
} from './chat/state/chat-source.ts';
export type { CallFacts, ChatFacts, QueuedMessage } from './chat/state/fact-index.ts';
export type { Notice } from './chat/state/notice.ts';
export { useConnection, useHasEnded, useIsOffline, useTaskRow } from './chat/state/use-live.ts';
export type { CallStatus } from './chat/tool/call-status.tsx';
export type { OutgoingMessage, Session, SessionCommands } from './session/session.ts';
export {
  type OpenApproval,
  type ToolCallState,
  useActivity,
  useApprovals,
  useIsRunning,
  useItemIds,
  useToolCall,
  useUsage,
} from './session/session-hooks.ts';
export { type TaskSessionOptions, useTaskSession } from './session/task-session.ts';
