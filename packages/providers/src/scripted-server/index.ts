export { type AnswerOptions, answerReply } from './answer-reply.ts';
export { cutText, type Pieces } from './answers/cut-text.ts';
export type {
  WireAnswer,
  WireFailure,
  WireStop,
  WireToolCall,
  WireUsage,
} from './answers/wire-answer.ts';
export { errorEvent, type WireEventsOptions, wireEvents } from './answers/wire-events.ts';
export type { Closer } from './connection.ts';
export {
  frameRecording,
  type Recording,
  recordingEvents,
  wireFraming,
} from './framing/frame-recording.ts';
export { joinBytes, splitAt, splitEvery } from './framing/split-bytes.ts';
export {
  frameSse,
  type LineEnding,
  type SseEvent,
  type SseOptions,
  sseFrames,
} from './framing/sse-frames.ts';
export { inLockstep, type Lockstep } from './lockstep.ts';
export { errorReply, jsonReply, recordingReply, sseReply, streamReply } from './replies.ts';
export type { EndStep, HaltStep, HttpReply, RawReply, Reply, Step } from './reply.ts';
export type { ReplyFunction, ScriptedReply } from './reply-queue.ts';
export { ScriptError, type ScriptErrorCode } from './script-error.ts';
export { newGate, type ScriptGate } from './script-gate.ts';
export type { ScriptedRequest } from './scripted-request.ts';
export { type Script, type ScriptedServer, startScriptedServer } from './scripted-server.ts';
export { type WireName, wireNames, wireOfPath } from './wire-name.ts';
