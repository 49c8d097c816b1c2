export { finishChunks, messageId, recordChunks, restateMessage } from './record-chunks.ts';
export { encodeComment, encodeFrame, type Frame, sseHeaders } from './sse.ts';
export {
  approvalAnswerChunks,
  isStepItem,
  pendingApprovalChunks,
  restateStep,
  stepsFrom,
  waitsForApproval,
} from './step-chunks.ts';
export { encodeChunk, type FinishReason, type UiChunk, uiDone, uiHeaders } from './ui-chunk.ts';
