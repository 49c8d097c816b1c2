export { currentIds, withIds } from '../ids/current-ids.ts';
export type { PropagatedIds } from '../ids/id-header.ts';
export { type ActivitiesOptions, createActivities } from './create-activities.ts';
export { type HeartbeatSignals, withHeartbeat } from './heartbeat.ts';
export type { ManualStreamWriter } from './manual-provider.ts';
export { type StreamingContextOptions, streamingContext } from './streaming-context.ts';
