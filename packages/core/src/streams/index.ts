export { DeniedCalls } from './denied-calls.ts';
export {
  isParkedAfter,
  type JoinedRecord,
  joinParkedRuns,
  type ParkedState,
} from './parked-runs.ts';
export { finishChunks, messageId, recordChunks, restateMessage } from './record-chunks.ts';
export {
  encodeComment,
  encodeFrame,
  encodeFrames,
  encodeRetry,
  type Frame,
  sseHeaders,
} from './sse.ts';
export {
  approvalAnswerChunks,
  hideCalls,
  isStepItem,
  pendingApprovalChunks,
  restateStep,
  stepsFrom,
  waitsForClient,
} from './step-chunks.ts';
export { encodeChunk, type UiChunk, uiDone, uiHeaders } from './ui-chunk.ts';
export type { UiApproval, UiMessage, UiPart, UiToolPart } from './ui-message.ts';
export { regeneratedKey, UiMessages, uiMetadataKey } from './ui-messages.ts';
