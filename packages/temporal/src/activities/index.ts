export { currentIds, type TravellingIds, withIds } from '../ids/current-ids.ts';
export { type ActivitiesOptions, createActivities } from './create-activities.ts';
export type { OpenStream } from './hand-fed-provider.ts';
export { type LivingSignals, living } from './living.ts';
export { type StreamingContextOptions, streamingContext } from './streaming-context.ts';
