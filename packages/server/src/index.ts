export { type ToolAgentOptions, toolAgent, toolCallProvider } from './agents/tool-agent.ts';
export type { Content, ContentInput, ContentOf } from './contract/content.ts';
export type { IncomingRequest, RequestAccess } from './contract/http.ts';
export type { TaskMessage, Update, UpdateDelta, UpdateInput } from './contract/message.ts';
export {
  type ClaimOptions,
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  RowsError,
  type RowsErrorCode,
  type StoredRow,
  type Table,
} from './contract/rows.ts';
export type {
  AsyncAgent,
  ClientAbility,
  HandlerContext,
  HandlerEvents,
  HandlerFiles,
  HandlerMessages,
  HandlerState,
  LongTool,
  LoopAgent,
  OpenMessage,
  SentMessages,
  ServedAgent,
  Span,
  SpanOptions,
  Streaming,
  SyncAgent,
  Tracing,
  UpdateSink,
} from './contract/served-agent.ts';
export { ServerError, type ServerErrorCode } from './contract/server-error.ts';
export type {
  AgentInfo,
  SpanInfo,
  Task,
  TaskEvent,
  TaskState,
  TaskStatus,
} from './contract/task.ts';
export { createServer, type Server, type ServerOptions } from './create-server.ts';
export { isLoopback } from './http/access/host-and-origin.ts';
export { createToken } from './http/access/token-store.ts';
export { defaultHttpLimits, type HttpLimits } from './http/http-limits.ts';
export type { HandlerOptions, ListenOptions, NodeHandler } from './http/http-server.ts';
export type { RequestLogOptions } from './http/request-log.ts';
export type { A2aOptions } from './routes/a2a/contract.ts';
export type {
  McpOptions,
  McpPrompt,
  McpPromptArgument,
  McpQuestion,
  McpReader,
  McpResource,
} from './routes/mcp/mcp-options.ts';
export { memoryRows } from './rows/memory-rows.ts';
export { defaultStreamLimits, type StreamLimits } from './stream/stream-limits.ts';
export type { AdoptOptions, ServedSessions } from './tasks/served-sessions.ts';
