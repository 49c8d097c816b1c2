'use client';

export {
  ActivityLine,
  type ActivityLineProps,
  Announcer,
  UsageLine,
} from './chat/activity-line.tsx';
export type { ApprovalDockProps } from './chat/approval/approval-dock.tsx';
export { Approvals } from './chat/approval/approvals.tsx';
export { ArtifactPanel, type ShownArtifact } from './chat/artifact/artifact-panel.tsx';
export type { Artifact, ArtifactKind } from './chat/artifact/artifacts.ts';
export { type ArtifactsOfPage, useArtifacts } from './chat/artifact/use-artifacts.tsx';
export {
  BranchSwitch,
  type ItemActions,
  ItemActionsContext,
  useItemActions,
} from './chat/branch/branch-switch.tsx';
export { Attachments, attachmentsIn } from './chat/composer/attachments.tsx';
export { Composer, type ComposerProps } from './chat/composer/composer.tsx';
export { drafts } from './chat/composer/draft.ts';
export { QueueView, type QueueViewProps } from './chat/composer/queue-view.tsx';
export type { ComposerSuggestions, Suggestion } from './chat/composer/suggestions.tsx';
export type { ComposedMessage, UploadTarget } from './chat/composer/use-composer.ts';
export { ConnectionBanner, type ConnectionBannerProps } from './chat/connection-banner.tsx';
export { VisibleText } from './chat/content/visible-text.tsx';
export { QuestionCard, type QuestionCardProps } from './chat/question/question-card.tsx';
export { type ChatSource, isUnfinished, useSourceValue } from './chat/state/chat-source.ts';
export { errorText, isUnreachable } from './chat/state/error-text.ts';
export { FactIndex } from './chat/state/fact-index.ts';
export { LiveSource, LiveSources } from './chat/state/live-source.ts';
export {
  isClosed,
  useConnection,
  useHasEnded,
  useIsOffline,
  useTaskRow,
} from './chat/state/use-live.ts';
export { LaneFrame, LaneItems } from './chat/sub-agent/lane-view.tsx';
export { ToolCard, type ToolCardProps } from './chat/tool/tool-card.tsx';
export { ItemView, type ItemViewProps } from './chat/transcript/item-view.tsx';
export {
  PartView,
  type PartViewProps,
  ReasoningView,
  type ReasoningViewProps,
} from './chat/transcript/part-view.tsx';
export { TranscriptView, type TranscriptViewProps } from './chat/transcript/transcript-view.tsx';
export {
  MillraceContext,
  type MillraceContextValue,
  type SessionLinkProps,
  useMillrace,
} from './context.ts';
export { english } from './labels/en.ts';
export type { Labels } from './labels/labels.ts';
export { Filled, type FilledProps, LabelsContext, useLabels } from './labels/use-labels.ts';
export { ArtifactOpener } from './markdown/code-view.tsx';
export { MarkdownView } from './markdown/markdown-view.tsx';
export { MillraceRoot, type MillraceRootProps } from './root.tsx';
export {
  Chat,
  ChatFrame,
  type ChatFrameProps,
  type ChatProps,
  SessionActivity,
  SessionComposer,
  type SessionComposerProps,
} from './session/chat.tsx';
export type { AnswerTarget, OutgoingMessage, Session, SessionCommands } from './session/session.ts';
export {
  sourcesOf,
  type TaskSessionOptions,
  taskCommands,
  useTaskSession,
} from './session/task-session.ts';
export { Thread, type ThreadProps } from './session/thread.tsx';
