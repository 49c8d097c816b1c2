export {
  ClientError,
  type ClientErrorCode,
  type ClientErrorOptions,
} from './contract/client-error.ts';
export type {
  AgentInfo,
  Attachment,
  MessageContent,
  ModelUsage,
  OutlineSegment,
  PastRequest,
  SpanInfo,
  Task,
  TaskDigest,
  TaskOutline,
  TaskStatus,
  TaskSummary,
} from './contract/server-types.ts';
export { modelsOf } from './contract/server-types.ts';
export type {
  ApproveOptions,
  AppToolCall,
  Cancelable,
  CommandOptions,
  Connection,
  DenyOptions,
  LiveItem,
  RecordsOptions,
  SendOptions,
  Sent,
  SentAppCall,
  TaskHandle,
  TaskSnapshot,
  ToolResultOptions,
  UploadOptions,
} from './contract/task-handle.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type NewTask,
  type Page,
  type TaskFilter,
} from './create-client.ts';
export type { BackOff, Clock } from './http/timing.ts';
export type { WakeUp, WakeUps } from './stream/wake-ups.ts';
