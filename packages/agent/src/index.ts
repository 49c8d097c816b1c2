export type { UiApproval, UiMessage, UiPart, UiToolPart } from '@millrace/core/streams';
export { type Clock, systemClock } from '@millrace/providers';
export {
  type BranchRunOptions,
  branchSession,
  branchSessions,
} from './branch/branch-session.ts';
export type { SessionBranch } from './branch/session-branch.ts';
export { type DropOptions, dropFailedResults, dropReasoning } from './context/filters.ts';
export type {
  Agent,
  AgentRunOptions,
  ContextOption,
  ForkedRunOptions,
  RunArguments,
} from './contract/agent.ts';
export { AgentError, type AgentErrorCode } from './contract/agent-error.ts';
export type { SessionCommand } from './contract/command.ts';
export type {
  AskVerdict,
  ChangedValue,
  ChangeVerdict,
  CheckedInput,
  CheckedOutput,
  Guardrail,
  GuardrailStep,
  InputGuardrailOptions,
  OutputGuardrailOptions,
  PassVerdict,
  StopVerdict,
  ToolGuardrailOptions,
} from './contract/guardrail.ts';
export type { ObservedRun, Observer } from './contract/observer.ts';
export type { ChildAnswer, ChildQuestion, ParentCall } from './contract/parent-call.ts';
export type { Divergence, ReplayOptions, ReplayResult } from './contract/replay.ts';
export type {
  ApproveOptions,
  BlockedBy,
  BlockedResult,
  ClientToolResult,
  DenyOptions,
  FailedResult,
  FinishedResult,
  InputItem,
  InputOfCall,
  OutputOfCall,
  Run,
  RunInput,
  RunResult,
  UiStreamOptions,
  UnfinishedResult,
} from './contract/run.ts';
export { RunError, type RunErrorCode } from './contract/run-error.ts';
export type {
  Approval,
  ApprovalDecision,
  CacheOption,
  CacheSettings,
  CallerOptions,
  CallerRequest,
  CallerTool,
  Compaction,
  ContextFilter,
  Instructions,
  Limits,
  PreparedStep,
  RequestOptions,
  RetrySettings,
  StepTools,
  StepToPrepare,
  StopCheck,
  StopCondition,
} from './contract/settings.ts';
export type {
  CheckedToolCall,
  ClientSide,
  FileChangeRecord,
  FormAnswer,
  HandOff,
  StepInfo,
  Tool,
  ToolContext,
  ToolExecution,
  ToolNotice,
  ToolOutput,
  ToolReturn,
  ValidationResult,
} from './contract/tool.ts';
export type {
  AllTools,
  ContextOfTools,
  DeepPartial,
  ParsedToolInput,
  PendingApproval,
  PendingToolCall,
  RunEvent,
  ToolCall,
  ToolCallEvent,
  ToolInput,
  ToolResultEvent,
  ToolTypes,
  ToolValue,
  TypedTool,
} from './contract/typed-tools.ts';
export { type AgentOptions, createAgent } from './create-agent.ts';
export { causeText } from './diff/describe-difference.ts';
export { diffSessions } from './diff/diff-sessions.ts';
export { copiedRecords, findDivergence } from './diff/find-divergence.ts';
export type {
  DiffCause,
  DiffedSession,
  DifferenceSide,
  DifferingText,
  DiffOptions,
  DiffSource,
  SessionDiff,
  SessionDifference,
  TurnComparison,
  TurnTotals,
  ValueChange,
  WorkTotals,
} from './diff/session-diff.ts';
export { inputGuardrail, outputGuardrail, toolGuardrail } from './guardrails/define-guardrail.ts';
export { forkSession } from './history/fork-before.ts';
export { type ItemLabel, itemLabelOf, labelItem } from './history/item-labels.ts';
export { type PastRequest, type RequestAtOptions, requestAt } from './history/request-at.ts';
export {
  type SubmitOptions,
  type SubmittedCommand,
  submitCommand,
} from './input/submit-command.ts';
export type { DroppedEvents } from './observers/channel-buffer.ts';
export {
  type ChannelEntry,
  type ChannelObserver,
  type ChannelOptions,
  channelObserver,
} from './observers/channel-observer.ts';
export { type JsonlOptions, jsonlObserver } from './observers/jsonl-observer.ts';
export {
  type OpenTelemetryObserver,
  type OpenTelemetryOptions,
  openTelemetryObserver,
} from './observers/opentelemetry/otel-observer.ts';
export {
  type OtlpExporter,
  type OtlpOptions,
  otlpExporter,
  type SpanExporter,
} from './observers/opentelemetry/otlp-exporter.ts';
export type { FinishedSpan } from './observers/opentelemetry/otlp-span.ts';
export { RunSpanIds, type SpanIds } from './observers/opentelemetry/run-span-ids.ts';
export type { SpanTracer, TracedSpan } from './observers/opentelemetry/timed-span.ts';
export { type TerminalOptions, terminalObserver } from './observers/terminal/terminal-observer.ts';
export { type TranscriptObserver, transcriptObserver } from './observers/transcript-observer.ts';
export { type UsageObserver, type UsageTotals, usageObserver } from './observers/usage-observer.ts';
export { stepCount, toolCalled } from './stop-conditions.ts';
export {
  type HandOffOptions,
  handOff,
  type SubAgentOptions,
  subAgent,
} from './tool/agent-tools.ts';
export { type ClientToolOptions, clientTool } from './tool/client-tool.ts';
export {
  type DefinedTool,
  defineTool,
  type ToolOptions,
  type ValueOfReturn,
} from './tool/define-tool.ts';
export { mcpApprovalTool } from './tool/mcp-approval.ts';
export {
  type ReadOutputOptions,
  type RunningOutputRequest,
  type RunningOutputs,
  readOutputTool,
} from './tool/read-output.ts';
export { readUIMessages } from './views/read-ui-messages.ts';
