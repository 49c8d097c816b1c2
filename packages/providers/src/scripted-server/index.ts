export { splitText, type WirePieces } from './answers/answer-plan.ts';
export {
  type WireAnswer,
  type WireFailure,
  type WireName,
  type WireStop,
  type WireToolCall,
  type WireUsage,
  wireNames,
  wireOfPath,
} from './answers/wire-answer.ts';
export { errorEvent, type WireEventsOptions, wireEvents } from './answers/wire-events.ts';
export type { ClosedBy } from './connection.ts';
export {
  frameRecording,
  type Recording,
  recordingEvents,
  wireFraming,
} from './framing/frame-recording.ts';
export {
  frameSse,
  joinBytes,
  type LineEnding,
  type SseEvent,
  type SseOptions,
  splitAt,
  splitEvery,
  sseFrames,
} from './framing/sse-frames.ts';
export { inLockstep, type Lockstep } from './lockstep.ts';
export {
  type AnswerOptions,
  answerReply,
  errorReply,
  jsonReply,
  recordingReply,
  sseReply,
  streamReply,
} from './replies.ts';
export type { ReplyFunction, ScriptedReply } from './reply-queue.ts';
export {
  type EndStep,
  type HaltStep,
  type HttpReply,
  newGate,
  type RawReply,
  type Reply,
  ScriptedServerError,
  type ScriptedServerErrorCode,
  type ScriptGate,
  type Step,
} from './script.ts';
export type { ScriptedRequest } from './scripted-request.ts';
export {
  type Script,
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from './scripted-server.ts';
