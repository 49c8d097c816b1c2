export { type Clock, systemClock } from '@millrace/providers';
export type { Compaction } from './context/compaction.ts';
export {
  type ContextFilter,
  type DropOptions,
  dropFailedResults,
  dropReasoning,
} from './context/drop-parts.ts';
export {
  type Agent,
  type AgentOptions,
  type AgentRunOptions,
  createAgent,
  type ForkedRunOptions,
} from './create-agent.ts';
export { AgentError, type AgentErrorCode } from './errors/agent-error.ts';
export type { Dropped } from './observers/channel-buffer.ts';
export {
  type ChannelEntry,
  type ChannelObserver,
  type ChannelOptions,
  channelObserver,
} from './observers/channel-observer.ts';
export { type JsonlOptions, jsonlObserver } from './observers/jsonl-observer.ts';
export type { ObservedRun, Observer } from './observers/observer.ts';
export {
  type OpenTelemetryObserver,
  type OpenTelemetryOptions,
  openTelemetryObserver,
} from './observers/otel-observer.ts';
export type { SpanTracer, TracedSpan } from './observers/otel-span.ts';
export type { FinishedSpan } from './observers/otlp/finished-span.ts';
export {
  type OtlpExporter,
  type OtlpOptions,
  otlpExporter,
  type SpanExporter,
} from './observers/otlp/otlp-exporter.ts';
export { RunSpanIds, type SpanName } from './observers/run-span-ids.ts';
export { type TerminalOptions, terminalObserver } from './observers/terminal-observer.ts';
export { type TranscriptObserver, transcriptObserver } from './observers/transcript-observer.ts';
export { type UsageObserver, type UsageTotals, usageObserver } from './observers/usage-observer.ts';
export type { Divergence } from './replay/divergence.ts';
export type { Replayed, ReplayOptions } from './replay/replay.ts';
export { type PastRequest, requestAt } from './run/request-at.ts';
export type { ApproveOptions, DenyOptions, Run, RunInput, RunResult } from './run/run.ts';
export type {
  Approval,
  ApprovalDecision,
  Instructions,
  Limits,
  PendingCall,
  RequestOptions,
  RetrySettings,
} from './run/settings.ts';
export {
  type CallEvent,
  type DefinedTool,
  defineTool,
  type ToolOptions,
} from './tool/define-tool.ts';
export { type HandOffOptions, handOff } from './tool/hand-off.ts';
export { type ReadOutputOptions, readOutputTool } from './tool/read-output.ts';
export { type SubAgentOptions, subAgent } from './tool/sub-agent.ts';
export type {
  Execution,
  HandOff,
  Tool,
  ToolContext,
  ToolOutput,
  ToolReturn,
  Validated,
} from './tool/tool.ts';
