export type { BusDiagnostic } from './bus-diagnostic.ts';
export type { BusLimits } from './bus-limits.ts';
export { type RedisBus, type RedisBusOptions, redisBus } from './redis-bus.ts';
export type { RedisConnection } from './redis-target.ts';
