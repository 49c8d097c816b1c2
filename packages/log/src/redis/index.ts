export type { BusDiagnostic, BusLimits } from './bus-options.ts';
export type { RedisConnection } from './connection.ts';
export { type RedisBus, type RedisBusOptions, redisBus } from './redis-bus.ts';
