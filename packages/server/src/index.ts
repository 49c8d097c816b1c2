export type {
  EventsOfTask,
  HandlerContext,
  Messages,
  OpenMessage,
  Sent,
  Sink,
  Span,
  SpanOptions,
  StateOfTask,
  Streaming,
  Tracing,
} from './agents/handler-context.ts';
export type { AsyncAgent, LoopAgent, ServedAgent, SyncAgent } from './agents/served-agent.ts';
export { createServer, type Server, type ServerOptions } from './create-server.ts';
export { defaultHttpLimits, type HttpLimits } from './http/http-limits.ts';
export type { ListenOptions } from './http/http-server.ts';
export type { RequestLogOptions } from './http/request-log.ts';
export { ServerError, type ServerErrorCode } from './http/server-error.ts';
export { memoryRows } from './rows/memory-rows.ts';
export type { PutOptions, Row, RowQuery, Rows, Table } from './rows/rows.ts';
export { RowsError, type RowsErrorCode } from './rows/rows-error.ts';
export { defaultStreamLimits, type StreamLimits } from './stream/stream-limits.ts';
export type { AgentInfo } from './wire/agent-info.ts';
export type { Content, ContentInput, ContentOf } from './wire/content.ts';
export type { SpanInfo } from './wire/span-info.ts';
export type { Task, TaskStatus } from './wire/task.ts';
export type { TaskEvent } from './wire/task-event.ts';
export type { TaskMessage } from './wire/task-message.ts';
export type { TaskState } from './wire/task-state.ts';
export type { Update, UpdateDelta, UpdateInput } from './wire/update.ts';
