export { ClientError, type ClientErrorCode, type ClientErrorOptions } from './client-error.ts';
export type { Clock } from './clock.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type NewTask,
  type Page,
  type TaskFilter,
} from './create-client.ts';
export type { BackOff } from './http/back-off.ts';
export type { Connection } from './stream/connection.ts';
export type { WakeUp, WakeUps } from './stream/wake-ups.ts';
export type { LiveItem } from './task/live-item.ts';
export type {
  ApproveOptions,
  Cancelable,
  CommandOptions,
  DenyOptions,
  SendOptions,
  Sent,
  TaskHandle,
} from './task/task-handle.ts';
export type { TaskSnapshot } from './task/task-snapshot.ts';
export type { AgentInfo } from './wire/agent-info.ts';
export type { MessageContent } from './wire/content.ts';
export type { PastRequest } from './wire/past-request.ts';
export type { SpanInfo } from './wire/span-info.ts';
export type { Task, TaskStatus, TaskSummary } from './wire/task.ts';
export type { ModelUsage, TaskDigest } from './wire/task-digest.ts';
