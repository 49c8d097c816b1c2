export { currentIds, withIds } from '../ids/current-ids.ts';
export type { TravellingIds } from '../ids/id-header.ts';
export { type ActivitiesOptions, createActivities } from './create-activities.ts';
export { type LivingSignals, living } from './heartbeat.ts';
export type { OpenStream } from './manual-provider.ts';
export { type StreamingContextOptions, streamingContext } from './streaming-context.ts';
